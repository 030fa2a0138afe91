//! The conformance suite of the line: behaviour that a visitor, the protected service or an operator would
//! notice. It runs each case on every implementation of the line. Each pair is a test of its own, such as
//! `redis::entering_twice_keeps_one_place`.

mod absences;
mod absent_limit;
mod adopt;
mod bypass;
mod calls;
mod check;
mod claim_and_leave;
mod clock;
mod clock_offset;
mod command_arguments;
mod concurrent_promoters;
mod configure;
mod dead_letters;
mod dropped_queue;
mod earlier_release;
mod epochs;
mod estimates;
mod evictions;
mod fallback_ticks;
mod front_door;
mod held_polls;
mod held_slots;
mod journal;
mod journal_limits;
mod journal_slots;
mod lanes;
mod limits;
mod load_reports;
mod loss;
mod missing;
mod order;
mod pace;
mod presence;
mod previous_visits;
mod promote_chunks;
mod queue_view;
mod recent_view;
mod reports;
mod restore;
mod server_time;
mod settings;
mod status_many;
mod subscription;
mod switches;
mod validate_and_extend;

/// Turns each case into one test for each implementation of the line.
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
        entries_are_promoted_in_the_order_of_entering
        entering_twice_keeps_one_place
        requeue_setting_moves_a_waiting_entry_to_the_back
        entering_after_the_end_starts_a_new_visit
        more_than_256_entries_in_a_millisecond_keep_their_order
        order_and_line_time_survive_a_clock_set_back
        a_pause_survives_a_clock_that_is_set_back
    }
    lanes {
        only_visitors_near_the_head_are_called
        a_fast_line_calls_visitors_earlier
        an_entry_that_comes_back_counts_for_those_behind
    }
    presence {
        a_visitor_who_polls_is_promoted_in_turn
        silence_at_the_head_holds_the_line_for_the_call_time_only
        entering_counts_as_present_for_the_call_time
        a_full_queue_passes_no_entry_over
        silent_crowds_make_the_window_grow
        presence_can_be_switched_off_and_on
        a_restored_line_calls_its_visitors_first
        one_poll_checks_in_far_visitors_not_at_all
    }
    absences {
        a_silent_visitor_is_passed_over_and_first_again_after_a_poll
        a_newcomer_behind_absent_visitors_is_admitted_at_once
        positions_count_no_absent_entry
        an_absence_ends_after_its_time
        an_absence_ends_later_for_a_visitor_who_was_back
    }
    bypass {
        a_bypass_admits_past_the_line_while_a_slot_is_free
        a_bypass_counts_held_and_ready_slots
        a_bypass_ignores_every_switch
        a_bypass_ignores_a_full_journal
        no_bypass_while_the_clocks_are_apart
        a_waiting_visitor_passes_the_line_in_the_same_visit
        an_absent_visitor_passes_the_line
        concurrent_bypasses_never_exceed_the_capacity
    }
    evictions {
        only_a_poll_shows_that_a_visitor_was_ever_present
        evicting_a_group_spares_visitors_who_polled
        evicting_absent_entries_keeps_the_counts_of_the_lane
        an_eviction_names_the_visit
        a_thousand_entries_are_evicted_at_once
        a_full_journal_refuses_an_eviction
    }
    held_slots {
        a_slot_is_held_until_the_session_would_have_ended
        a_slot_is_held_until_the_last_pass_has_ended
        a_shorter_pass_does_not_free_slots_of_earlier_passes
        a_visitor_takes_back_the_own_slot
        a_slot_that_is_free_is_not_taken_back
        the_service_frees_a_held_slot
        with_online_passes_a_slot_is_free_at_once
        a_restore_holds_the_slots
        a_record_with_a_held_slot_is_taken_over
    }
    limits {
        a_script_fills_the_queue_to_its_limit_and_not_beyond
        a_full_queue_refuses_only_visitors_without_a_place
        the_queue_limit_changes_while_the_queue_runs
        a_restore_above_the_queue_limit_keeps_all
        sleeping_fakes_keep_no_queue_full
    }
    absent_limit {
        the_longest_absences_end_beyond_the_absent_limit
        a_tick_ends_a_bounded_number_of_absences
    }
    front_door {
        an_outage_of_the_front_door_makes_no_visitor_absent
        a_look_from_far_shows_that_the_front_door_is_up
        an_outage_of_the_front_door_ends_no_turn
        claims_show_that_the_front_door_is_up
        a_pause_makes_no_visitor_absent
    }
    previous_visits {
        a_new_visit_names_the_visit_that_is_over
        behind_others_a_new_visit_names_none
        requeueing_after_a_missed_turn_names_no_visit
    }
    clock {
        a_server_clock_an_hour_wrong_stops_promotion
        order_holds_while_the_server_clock_jumps
        sessions_end_within_bounds_without_an_offset
        a_caller_with_a_wrong_clock_does_not_affect_others
        a_clock_difference_of_a_few_seconds_is_tolerated
        a_pause_during_a_clock_error_keeps_the_claim_time
    }
    clock_offset {
        a_line_ahead_of_both_clocks_waits_for_them
        with_an_offset_promotion_and_deadlines_continue
        a_second_caller_confirms_an_offset_the_line_cannot
        ticks_alone_keep_the_time_of_a_quiet_queue
        an_outdated_offset_is_not_applied
        a_restore_on_a_wrong_server_clock_renews_claim_times
    }
    fallback_ticks {
        one_of_many_callers_gets_the_fallback_tick
        no_fallback_tick_is_given_while_the_promoter_runs
        fallback_ticks_do_not_hide_a_promoter_that_is_down
        a_clock_set_back_does_not_block_fallback_ticks
        a_caller_with_a_wrong_clock_gets_no_fallback_tick
        an_empty_queue_parks_the_promoter_until_the_next_call
        a_promoter_is_not_parked_while_an_entry_is_in_the_line
    }
    pace {
        the_fast_track_spends_tokens_of_the_same_bucket
        a_promoter_that_was_down_promotes_one_batch
        capacity_is_never_exceeded
        a_changed_pace_keeps_the_tokens
    }
    promote_chunks {
        a_long_line_is_promoted_in_chunks
        dropped_entries_count_towards_the_chunk
        no_more_entries_are_promoted_than_requested
    }
    estimates {
        the_averages_count_by_the_minute
        without_departures_the_session_bounds_the_estimate
        an_estimate_includes_the_running_sessions
    }
    switches {
        a_draining_queue_refuses_new_visitors_and_serves_the_line
        a_closed_queue_refuses_new_visitors_and_keeps_places
        a_pause_stops_promotion_and_claim_deadlines
        a_no_show_frees_the_slot
        lower_claim_seconds_apply_after_the_old_deadlines
        the_end_of_a_session_frees_the_slot
    }
    claim_and_leave {
        a_claim_activates_a_ready_entry_and_is_idempotent
        leaving_ends_the_visit_as_its_state_requires
        a_call_that_names_another_visit_changes_nothing
    }
    validate_and_extend {
        validating_accepts_active_entries_only
        validating_may_claim_and_consume
        an_extension_is_bounded_and_never_shortens
    }
    loss {
        a_lost_tick_sets_a_check_due_at_once
        a_loss_during_a_check_sets_another_due
        leaving_a_server_sets_a_check_due
        an_idle_queue_shows_no_loss
    }
    held_polls {
        held_polls_never_exceed_the_limit
        a_released_poll_makes_room_for_one_more
        an_unreleased_poll_ends_with_its_lease
        one_poll_of_an_entry_is_held_at_a_time
        deployments_have_separate_limits
        a_clock_set_far_back_does_not_prolong_leases
    }
    calls {
        a_burst_of_calls_is_counted_once_by_all_callers
        calls_come_back_one_by_one
        each_entry_of_each_queue_has_its_own_calls
        a_clock_set_back_does_not_prolong_a_refusal
        a_lowered_limit_applies_to_the_next_call
    }
    subscription {
        every_subscriber_of_a_queue_receives_its_ticks
    }
    status_many {
        status_many_agrees_with_status
    }
    load_reports {
        a_load_report_expires_after_a_minute
        a_new_load_report_replaces_the_last_one
    }
    journal {
        the_journal_lists_promotions_and_ends_in_order
        acknowledged_records_leave_the_journal
        appended_changes_of_every_kind_read_back_unchanged
        the_line_keeps_an_end_until_it_is_acknowledged
        a_settled_end_is_kept_for_ten_seconds
        a_late_acknowledgement_keeps_the_next_end
    }
    configure {
        configure_creates_changes_and_repeats_settings
        configure_ignores_superseded_settings
    }
    queue_view {
        every_method_reports_an_unknown_queue
        the_view_counts_entries_and_events
    }
    recent_view {
        a_shared_view_is_less_than_a_second_old
        a_shared_view_has_the_configuration_in_force
        a_lost_queue_has_no_shared_view
    }
    journal_limits {
        a_full_journal_refuses_new_entries
        a_full_journal_refuses_entering_after_an_expired_session
        a_full_journal_still_allows_requeueing
        at_the_limit_for_newcomers_promotion_goes_on
        a_full_journal_stops_promotion_and_expiry
        changes_of_existing_entries_have_a_journal_reserve
    }
    journal_slots {
        repeated_places_and_ends_keep_two_records
        the_time_of_the_first_claim_stays
        a_lower_fact_replaces_only_a_dropped_visit
        a_repeated_place_keeps_the_visit_that_is_over
        a_refused_change_that_is_replaced_stays_in_backoff
        many_deferred_records_hide_no_due_one
        deferred_records_outlive_the_dropped_queue
        changes_of_a_tick_stay_beside_single_ones
    }
    reports {
        a_report_counts_events_since_the_last_report
        each_event_is_in_exactly_one_report
        an_idle_queue_is_reported_less_often
        a_report_shows_how_long_entries_waited
        a_report_shows_the_longest_gap_between_ticks
        a_report_shows_the_lag_of_the_backup
    }
    dead_letters {
        a_refused_change_is_due_again_after_its_backoff
        a_change_in_backoff_is_part_of_the_whole_journal
        a_read_skips_records_that_are_not_due
        untried_changes_of_a_tick_stay_one_record
        a_dead_letter_is_kept_until_it_is_acknowledged
    }
    adopt {
        a_record_that_agrees_changes_nothing
        what_the_backup_lacks_is_reported_again
        an_older_record_gets_what_the_line_knows
        a_later_state_of_the_record_is_taken_over
        a_later_visit_of_the_record_is_taken_over
        a_later_state_replaces_an_end_in_the_line
        an_end_in_the_line_stands_against_an_older_record
        a_timed_out_entry_counts_as_ended
        a_record_of_another_epoch_or_generation_is_rejected
        an_end_in_the_record_removes_the_entry
        a_session_that_ran_out_meanwhile_expires
        a_lost_entry_gets_its_old_place
        new_entries_stay_behind_an_adopted_one
        adopted_slots_block_promotion_until_there_is_room
        old_knowledge_of_an_entry_is_rejected
        an_ended_visit_does_not_come_back
        an_entry_without_a_live_record_stays_unknown
        an_entry_that_entered_meanwhile_is_compared
        an_earlier_live_visit_replaces_the_new_place
        an_earlier_turn_replaces_the_new_place
        a_missed_turn_within_the_grace_is_forgiven
        the_old_place_is_the_one_of_the_record
        without_a_visit_that_goes_on_the_place_stands
        an_end_that_the_backup_lacks_counts_as_well
        a_later_visit_that_ended_needs_a_new_place
        a_repeated_fast_track_stays_provisional_until_claimed
        a_later_live_visit_replaces_the_new_place
        a_place_that_is_confirmed_meanwhile_stays
        a_returned_visitor_gets_a_second_turn
        a_returned_visitor_may_claim_or_leave
        requeueing_gives_up_the_second_turn
        a_restore_keeps_the_second_turn
    }
    check {
        the_pages_contain_every_entry
        a_page_shows_what_the_line_knows_of_each_entry
        a_check_is_assigned_to_one_caller_every_few_minutes
    }
    restore {
        a_restore_brings_back_every_live_entry
        the_watermark_reveals_a_stale_line
        a_pass_from_before_a_restore_reactivates_until_its_end
    }
    epochs {
        a_restore_does_not_replace_the_same_or_a_later_epoch
        an_end_of_an_earlier_epoch_settles_by_its_fact
        a_record_from_the_future_is_not_restored
    }
    dropped_queue {
        a_dropped_queue_is_unknown_until_it_is_restored
        unflushed_changes_outlive_the_dropped_queue
        a_reset_keeps_nothing_of_the_old_generation
    }
}
