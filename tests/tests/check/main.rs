//! The check that compares the line with the backup: each kind of difference, made as a killed function or a failover makes
//! it, is mended so that the place that counts is the one that somebody was told of.

mod beside;
mod ends;
mod places;
mod scene;

/// Makes of each case one test for each line.
macro_rules! on_every_line {
    ($($cases:tt)*) => {
        on_one_line! { memory Memory $($cases)* }
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
        a_queue_that_agrees_is_left_alone
        a_place_that_nobody_wrote_is_written
        what_changed_and_was_not_written_is_written_anew
        what_is_in_the_journal_is_no_difference
        what_is_to_be_tried_later_is_no_difference
        a_lost_place_goes_back_where_it_was
        a_lost_promotion_or_claim_is_taken_over
        the_place_that_somebody_was_told_of_replaces_a_new_one
        a_record_of_a_later_epoch_is_left_alone
    }
    ends {
        an_end_that_nobody_wrote_is_written
        an_end_that_nobody_wrote_comes_before_the_next_visit
        a_place_whose_end_was_acknowledged_is_dropped
        a_place_taken_after_an_end_stays
        a_new_visit_of_the_number_of_one_that_is_over_stays
        a_session_that_is_over_ends
    }
    beside {
        two_checks_at_once_come_to_the_same
        a_check_in_parts_goes_on_where_it_stopped
        a_write_that_is_under_way_is_no_difference
        a_reset_queue_is_not_compared
        nobody_who_goes_through_the_queue_notices_checks
    }
}
