//! The conformance suite of the line: what a visitor, the protected service or an operator would notice, asked of every
//! line that ships. Each case shows as a test of its own for each of them, such as `redis::enter_twice_is_one_place`.

mod changes;
mod check;
mod chunks;
mod clock;
mod configure;
mod crowd;
mod driver;
mod earlier;
mod gate;
mod holds;
mod journal;
mod limits;
mod load;
mod lost;
mod mend;
mod offset;
mod order;
mod pace;
mod report;
mod restore;
mod revive;
mod service;
mod settings;
mod stuck;
mod view;
mod visit;
mod wait;

/// Makes of each case one test for each line.
macro_rules! on_every_line {
    ($($cases:tt)*) => {
        on_one_line! { memory Memory $($cases)* }
        on_one_line! { redis Redis $($cases)* }
        on_one_line! { valkey Valkey $($cases)* }
        on_one_line! { cluster Cluster $($cases)* }
    };
}

macro_rules! on_one_line {
    ($name:ident $backend:ident $($topic:ident { $($case:ident)* })*) => {
        mod $name {
            use vestibule_tests::lines::{Backend, Subject};

            $($(
                #[tokio::test]
                async fn $case() {
                    super::$topic::$case(Subject::new(Backend::$backend).await).await;
                }
            )*)*
        }
    };
}

on_every_line! {
    order {
        first_come_is_first_served
        enter_twice_is_one_place
        entering_again_may_move_to_the_back
        entering_again_after_the_end_is_a_new_visit
        a_burst_of_one_millisecond_keeps_its_order
        order_survives_a_clock_that_goes_back
        line_time_survives_a_clock_that_goes_back
        a_pause_survives_a_clock_that_goes_back
    }
    clock {
        a_queue_whose_server_is_an_hour_off_holds_and_says_so
        order_stays_while_the_server_is_set_forward_and_back
        sessions_end_in_bounds_where_nobody_sets_an_offset
        a_caller_with_a_wrong_clock_changes_nothing_for_others
        a_few_seconds_are_borne
        a_pause_that_begins_while_the_clocks_are_apart_takes_no_turn
    }
    offset {
        with_an_offset_everything_goes_on
        a_second_caller_decides_where_the_line_does_not_know
        a_quiet_queue_knows_the_time_by_its_ticks
        an_offset_that_was_read_too_long_ago_is_not_set
        a_queue_put_back_by_a_server_that_is_off_calls_again
    }
    driver {
        one_of_all_who_ask_gets_a_tick
        nobody_gets_one_while_the_promoter_is_there
        ticks_that_others_take_hide_no_promoter_that_is_away
        a_clock_that_goes_back_keeps_nobody_from_driving
        a_caller_whose_clock_is_apart_gets_none
        a_promoter_rests_where_nobody_is_and_the_next_call_drives
        a_promoter_does_not_rest_while_anybody_is_there
    }
    pace {
        the_fast_track_spends_from_the_same_bucket
        a_promoter_that_was_away_releases_one_batch
        capacity_is_never_exceeded
        a_new_pace_keeps_the_tokens
    }
    chunks {
        a_long_line_is_promoted_in_chunks
        what_timed_out_counts_towards_the_chunk
        no_more_are_promoted_than_asked
    }
    wait {
        what_moves_is_counted_by_the_minute
        nobody_is_told_what_nobody_saw
        a_turn_waits_for_the_sessions_that_go_on
    }
    gate {
        a_draining_queue_refuses_newcomers_and_serves_the_others
        a_closed_queue_refuses_newcomers_and_keeps_places
        nothing_moves_while_paused_but_the_entrance
        a_no_show_frees_the_slot
        lower_claim_seconds_wait_for_the_old_ones
        the_end_of_a_session_frees_the_slot
    }
    visit {
        claiming
        departures_by_state
        naming_another_visit_changes_nothing
    }
    service {
        validating_by_state
        validating_may_claim_and_consume
        extending_is_bounded_and_never_shortens
    }
    holds {
        never_more_polls_are_held_than_may_be
        a_released_poll_makes_room_for_one
        a_poll_that_nobody_releases_is_forgotten_when_its_lease_is_over
        one_poll_of_an_entry_is_held_at_a_time
        deployments_are_counted_apart
        no_lease_outlives_a_clock_that_is_set_back_by_much
    }
    changes {
        a_tick_is_heard_by_all_who_listen_to_its_queue
        many_are_looked_at_as_each_is_alone
    }
    load {
        a_load_report_is_kept_for_a_minute
        the_last_load_report_counts_and_nothing_of_those_before
    }
    journal {
        the_journal_has_promotions_and_expiries_in_order
        a_change_that_the_backup_did_not_take_is_recorded
        an_end_is_remembered_until_it_is_settled
        a_late_settlement_leaves_the_next_end_remembered
    }
    configure {
        configuring
        configuring_in_order
    }
    view {
        an_unknown_queue_is_unknown_to_every_method
        the_view_counts
    }
    limits {
        at_the_limit_nobody_gets_a_new_place
        at_the_limit_a_session_that_ran_out_is_no_way_in
        at_the_limit_whoever_asks_to_may_still_move_back
        at_the_limit_nobody_is_promoted_or_dropped
        what_was_promised_has_a_reserve
    }
    report {
        a_report_counts_what_happened_since_the_last_one
        each_event_is_in_one_report_however_many_ask
        a_queue_where_nothing_happens_is_reported_on_less_often
        a_report_tells_how_long_people_wait
        a_report_tells_of_a_promoter_that_was_away
        a_report_tells_how_far_the_backup_is_behind
    }
    stuck {
        what_was_refused_is_due_again_later
        what_is_due_later_is_in_the_whole_journal
        a_read_goes_on_past_what_is_not_due
        the_rest_of_a_tick_is_as_it_was
        what_is_set_aside_is_kept_until_the_backup_has_it
    }
    check {
        every_entry_is_on_a_page
        a_check_is_due_every_few_minutes_for_one_of_all_who_ask
    }
    mend {
        what_the_backup_lacks_is_said_once_more
        a_visit_goes_on_from_where_the_backup_has_it
        what_the_backup_knows_to_be_over_leaves_the_line
        a_visit_begun_since_is_never_touched
        a_turn_is_known_by_the_deadline_that_callers_see
        a_record_of_another_line_mends_nothing
    }
    restore {
        a_restore_brings_everybody_back
        a_restore_leaves_a_queue_of_its_epoch_or_a_later_one_alone
        a_line_that_came_back_old_is_known_by_its_mark
        a_pass_of_before_lets_in_again_until_its_end
        an_end_of_an_epoch_before_settles_no_later_one
    }
    lost {
        a_queue_that_was_dropped_is_unknown_until_it_is_put_back
        what_is_not_in_the_backup_outlives_the_queue
        nothing_of_a_generation_outlives_it
    }
    revive {
        a_lost_place_is_as_it_was
        whoever_comes_later_is_behind_even_where_the_clock_is_behind
        ready_and_active_ones_come_back_and_nobody_else_gets_in_until_there_is_room
        what_ended_stays_gone
        a_session_that_is_over_expires
        two_who_bring_back_the_same_come_to_the_same
        a_record_of_another_line_changes_nothing
        the_old_place_replaces_a_new_one
        an_end_of_an_epoch_before_keeps_nobody_from_coming_back
    }
}
