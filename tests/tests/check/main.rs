//! Tests of the consistency check, which compares the line with the backup. They create each kind of difference as a
//! killed function or a failover does. The repair keeps the place that the visitor was told.

mod concurrency;
mod ends;
mod places;
mod scene;

/// Makes one test for each case and each line.
macro_rules! on_every_line {
    ($($cases:tt)*) => {
        on_one_line! { embedded Embedded $($cases)* }
        on_one_line! { redis Redis $($cases)* }
    };
}

macro_rules! on_one_line {
    ($name:ident $backend:ident $($topic:ident { $($case:ident)* })*) => {
        mod $name {
            use crate::scene::Scene;
            use vestibule_tests::lines::Backend;

            $($(
                #[tokio::test]
                async fn $case() {
                    super::$topic::$case(Scene::open(Backend::$backend).await).await;
                }
            )*)*
        }
    };
}

on_every_line! {
    places {
        consistent_queue_is_not_changed
        unwritten_place_is_written
        unwritten_change_is_written
        journaled_change_is_no_difference
        refused_change_in_backoff_is_written
        lost_entry_is_restored_at_its_place
        lost_promotion_or_claim_is_adopted
        stored_place_replaces_a_new_unwritten_one
        record_of_a_later_epoch_is_skipped
    }
    ends {
        unwritten_end_is_written
        unwritten_end_is_settled_by_the_next_visit
        entry_that_ended_in_the_backup_is_removed
        place_taken_after_a_written_end_stays
        session_past_its_end_is_ended
    }
    concurrency {
        concurrent_checks_repair_each_difference
        check_in_parts_continues_where_it_stopped
        write_in_progress_is_no_difference
        reset_queue_is_refused
        visitors_are_not_affected_by_checks
    }
}
