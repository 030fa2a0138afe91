//! A Redis that lost data: all of it, all since some time ago, or only the last writes, as a promoted replica
//! may have. The tests take the data out by hand. Every visitor keeps the place that the visitor was given.

mod consume;
mod data_loss;
mod edited_item;
mod ended_entry;
mod entry_recovered;
mod lost_queue;
mod lost_seconds;
mod missed_turn;
mod new_replica;
mod other_layout;
mod pass;
mod random_actions;
mod re_entry;
mod scene;
mod stale_primary;
mod unwritten_visit;

use vestibule_tests::lines::Backend;

/// Turns each case into one test for a server and one for a cluster.
macro_rules! on_each {
    ($($topic:ident { $($case:ident)* })*) => {
        mod redis {
            $($(#[tokio::test] async fn $case() { super::$topic::$case(super::Backend::Redis).await; })*)*
        }
        mod cluster {
            $($(#[tokio::test] async fn $case() { super::$topic::$case(super::Backend::Cluster).await; })*)*
        }
    };
}

on_each! {
    entry_recovered {
        a_forgotten_entry_keeps_its_place
        a_forgotten_entry_that_ended_is_not_restored
        a_forgotten_turn_can_be_claimed
        a_forgotten_session_keeps_its_end
        a_held_poll_of_a_forgotten_entry_returns_its_place
        an_end_that_the_backup_lacks_is_reported
        many_requests_restore_a_forgotten_entry_once
        an_earlier_visit_in_redis_does_not_end_the_current_one
    }
    re_entry {
        entering_again_returns_the_forgotten_place
        an_empty_line_lets_no_forgotten_visitor_in_early
        a_place_of_a_killed_process_yields_to_the_old_one
        two_processes_enter_a_forgotten_visitor_once
        entering_after_an_end_gives_a_new_place
        entering_after_an_expired_session_gives_a_new_place
        requeueing_still_moves_to_the_back
    }
    ended_entry {
        entering_after_a_forgotten_leave_is_at_the_back
        entering_after_a_forgotten_leave_works_on_a_slow_clock
        a_forgotten_completion_is_found_and_frees_the_slot
        a_ready_entry_that_left_is_removed_when_read
        a_ready_entry_that_completed_cannot_be_claimed
        a_promoted_entry_that_left_is_removed_by_the_flush
        a_completed_visit_stays_ended_while_the_table_refuses_writes
        a_forgotten_later_visit_can_be_left
    }
    unwritten_visit {
        an_ended_visit_does_not_end_an_unwritten_session
        an_ended_visit_does_not_end_an_unwritten_turn
    }
    lost_seconds {
        a_check_finds_lost_claims_and_completions
        lost_claims_and_completions_return_within_seconds
        evicted_entries_return_without_their_visitors
    }
    lost_queue {
        every_entry_returns_and_promotion_continues
        one_of_many_promoters_restores_the_queue
        a_restore_lease_of_a_dead_process_expires
        losing_only_the_state_restores_the_queue
        an_entry_written_after_the_restore_is_found
        a_restore_salvages_changes_that_the_backup_lacks
    }
    missed_turn {
        a_return_that_redis_forgot_is_restored
        a_turn_that_redis_still_has_does_not_end_the_return
        a_restored_queue_has_returned_and_returnable_visitors
        the_check_finishes_a_return_that_a_kill_cut_off
    }
    stale_primary {
        later_changes_survive_a_stale_primary
        a_stale_line_promotes_no_entry
        requests_never_tick_a_stale_line
        a_current_line_is_not_restored
    }
    edited_item {
        a_version_from_the_future_ends_no_session
    }
    other_layout {
        a_queue_of_an_earlier_build_is_served_after_a_reset
        a_queue_of_a_later_build_is_left_alone
        data_of_another_layout_in_redis_is_not_served
    }
    pass {
        a_lost_claim_is_valid_at_once_by_its_pass
        a_lost_completion_is_refused_by_its_pass
        a_pass_is_accepted_while_the_table_is_unreadable
        a_missed_turn_of_a_lost_claim_is_accepted_by_its_pass
    }
    consume {
        a_repeated_use_is_answered_from_the_record
        a_repeated_use_writes_what_a_killed_request_did_not
        a_repeated_use_is_known_before_the_backup_has_it
        a_repeated_use_succeeds_while_the_table_is_down
        a_use_is_repeated_after_the_pass_has_ended
    }
    new_replica {
        a_reset_starts_empty_and_voids_all_earlier_tokens
        the_promoter_finishes_a_reset_that_was_cut_off
        a_confirmed_restore_keeps_every_entry
        a_pass_from_before_a_restore_reactivates_the_entry
    }
}
