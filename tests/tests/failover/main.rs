//! A Redis that lost something: all of it, or all since some time ago, or the last writes alone, as a replica that was
//! promoted may have. What is lost is taken out of it by hand. Everybody keeps the place that they were given.

mod anew;
mod came_back_old;
mod ended;
mod entered_again;
mod found_again;
mod losses;
mod lost;
mod missed;
mod scene;

use vestibule_tests::lines::Backend;

/// Makes of each case one test for a server and one for a cluster.
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
    found_again {
        a_forgotten_place_is_where_it_was
        a_forgotten_one_may_leave_and_nobody_brings_them_back
        a_forgotten_turn_can_be_claimed
        whoever_was_let_in_and_forgotten_may_act_until_the_same_end
        a_held_poll_ends_with_the_place_it_began_with
        one_that_ended_is_gone_though_the_backup_does_not_know_yet
        many_ask_at_once_for_a_forgotten_one
        a_process_killed_while_it_puts_one_back_leaves_nothing_behind
        a_visit_of_before_that_the_redis_remembers_ends_nobodys_place
    }
    entered_again {
        the_old_place_and_not_a_new_one_at_the_end
        nobody_slips_in_because_everybody_was_forgotten
        killed_before_the_new_place_was_written
        two_enter_at_once
        after_an_end_it_is_a_new_place_whoever_knows_of_the_end
        after_a_session_that_ran_out_it_is_a_new_place
        moving_to_the_back_still_does
        an_end_that_the_redis_forgot_is_no_way_back_in
    }
    ended {
        who_left_and_enters_again_is_at_the_back
        who_left_and_enters_by_a_clock_that_is_behind_is_at_the_back
        who_was_done_is_gone_and_the_slot_is_free
        who_was_called_and_is_gone_is_not_called_any_more
        who_was_called_and_came_and_was_done_does_not_come_twice
        who_left_and_is_called_all_the_same_makes_way_at_the_next_drain
        a_new_session_of_the_number_of_one_that_is_over_goes_on
        a_new_turn_of_the_number_of_one_that_is_over_may_be_claimed
    }
    lost {
        everybody_is_where_they_were_and_the_line_moves_on
        of_many_who_put_it_back_one_does
        a_restorer_that_died_is_waited_for_and_no_longer
        what_was_written_too_late_to_be_read_is_found
        what_the_backup_did_not_have_yet_is_salvaged
    }
    missed {
        a_redis_that_forgot_who_came_back_hears_of_it
        a_redis_that_still_has_the_turn_ends_nothing
        a_redis_that_was_lost_has_those_who_came_back_and_those_who_may
        a_come_back_that_a_killed_process_began_is_finished_by_the_check
    }
    came_back_old {
        what_happened_since_then_is_not_undone
        nobody_is_promoted_by_an_order_that_is_old
        nor_do_calls_drive_it
        a_line_that_was_not_lost_is_not_put_back
    }
    anew {
        a_reset_begins_anew_and_nothing_of_before_counts
        a_reset_that_is_cut_short_is_finished_by_the_promoter
        a_restore_by_hand_keeps_everybody_and_wants_to_be_confirmed
        a_pass_of_before_a_restore_lets_in_who_had_been_let_in
    }
}
