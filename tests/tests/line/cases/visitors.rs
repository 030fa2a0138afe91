//! The cases about the place of a visitor: what entering, waiting, a turn, a session and its end are like.

macro_rules! visitor_cases {
    ($backend:ident) => {
        tests_of_cases! { $backend
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
            lane_order {
                earlier_lanes_are_served_first
                a_position_is_that_in_the_lane
                a_visitor_in_line_keeps_the_lane
                a_flood_of_vips_leaves_the_share_of_the_others
                the_share_is_exact_in_small_ticks
                the_share_is_exact_over_full_chunks
                lower_lanes_have_their_turns_by_age
                a_lane_behind_its_wall_gives_its_turns_away
            }
            lane_estimates {
                a_late_lane_is_told_the_wait_behind_earlier_ones
                arrivals_in_an_earlier_lane_do_not_outlast_the_estimate
            }
            lane_moves {
                a_moved_entry_keeps_the_order_of_joining
                moves_change_no_estimate
                promotions_out_of_turn_are_no_departures
                a_move_changes_the_positions_of_both_lanes
                a_move_is_repeated_and_can_be_taken_back
                only_a_waiting_entry_is_moved
                a_moved_visitor_who_is_present_is_promoted_next
                an_absent_entry_can_be_moved
            }
            lane_moves_after_loss {
                a_moved_entry_stays_moved_after_a_loss
            }
            entry_promotion {
                one_entry_is_promoted_within_the_pace
                no_entry_is_promoted_while_the_queue_stands
                a_held_poll_wakes_for_a_move_and_a_promotion
                one_entry_waits_for_a_service_that_is_down
            }
            presence {
                a_visitor_who_polls_is_promoted_in_turn
                silence_at_the_head_holds_the_line_for_the_call_time_only
                entering_is_no_check_in
                visitors_who_never_poll_get_no_slot
                a_gap_of_ticks_passes_no_newcomer_by
                a_late_first_poll_keeps_the_place
                a_lookup_by_a_stranger_is_no_check_in
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
                a_restored_slot_counts_more_than_an_earlier_end
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
                held_polls_stop_no_claim_clock
                a_pause_makes_no_visitor_absent
            }
            previous_visits {
                a_new_visit_names_the_visit_that_is_over
                behind_others_a_new_visit_names_none
                requeueing_after_a_missed_turn_names_no_visit
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
            held_polls {
                held_polls_never_exceed_the_limit
                a_released_poll_makes_room_for_one_more
                an_unreleased_poll_ends_with_its_lease
                one_poll_of_an_entry_is_held_at_a_time
                polls_in_lines_of_unknown_speed_have_a_limit_of_their_own
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
        }
    };
}
