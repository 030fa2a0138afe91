//! The cases about a whole queue: its clock, its pace, its settings and what it reports.

macro_rules! queue_cases {
    ($backend:ident) => {
        tests_of_cases! { $backend
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
            unsaved_switches {
                a_switch_acts_and_stays_until_it_is_settled
                a_later_switch_is_not_settled_by_an_earlier_save
                an_outdated_switch_changes_nothing
                a_restored_queue_has_no_unsaved_switch
            }
            modes {
                without_the_fast_track_every_visitor_waits_for_a_tick
                passthrough_lets_every_visitor_in_at_once
                passthrough_promotes_a_line_in_chunks
                passthrough_obeys_the_switches
                passthrough_calls_a_long_line_and_skips_the_silent
            }
            adaptive_pace {
                the_pace_follows_the_load
                a_lower_load_gives_no_tokens_for_the_time_before
                a_service_that_is_down_gets_no_visitor
                the_latency_may_move_the_pace
                a_fixed_pace_ignores_the_load
                switching_to_an_adaptive_pace_makes_no_tokens
            }
            overlong_waits {
                a_wait_ends_when_it_is_too_old
                the_oldest_waits_end_first_and_in_chunks
                a_pause_starts_the_longest_wait_anew
                an_absent_entry_ends_when_its_wait_is_too_old
                an_overlong_wait_passes_no_visitor_who_goes_on
                a_restored_wait_has_the_whole_time_again
                no_wait_is_too_old_while_the_clocks_disagree
            }
            closed_pages {
                a_visitor_leaves_15_s_after_closing_the_page
                a_request_after_the_closing_keeps_the_place
                only_waiting_entries_of_such_a_queue_are_marked
                a_closing_ends_no_later_visit_and_no_turn
                visitors_of_closed_pages_leave_in_chunks
                no_visitor_leaves_whom_the_line_may_not_have_heard
                no_visitor_leaves_while_the_front_door_is_down
                an_absent_visitor_may_leave_by_closing_the_page
                a_visitor_may_leave_before_a_draw
                a_restored_queue_has_forgotten_who_closed_the_page
            }
            endings {
                from_closes_at_no_new_visitor_enters
                a_finished_queue_dismisses_its_line_and_serves_the_rest
                from_ends_at_a_queue_is_finished
                a_paused_queue_ends_at_its_time
                a_long_line_is_dismissed_in_chunks
                a_restored_line_still_ends_at_its_time
                no_wait_ends_while_the_clocks_disagree
            }
            opening {
                before_the_opening_visitors_line_up_and_none_is_promoted
                an_opening_cannot_be_undone
                a_queue_with_visits_cannot_be_scheduled
            }
            draw {
                a_draw_orders_those_who_came_before_the_opening
                a_restored_draw_keeps_its_order
                a_draw_orders_each_arrival
                without_a_draw_each_arrival_is_in_the_order_of_coming
            }
            load_reports {
                a_load_report_expires_after_a_minute
                a_new_load_report_replaces_the_last_one
            }
            deletion {
                nothing_is_left_of_a_deleted_queue_but_its_tombstone
                an_older_process_cannot_bring_a_deleted_queue_back
                a_queue_created_again_has_nothing_of_the_old_one
                a_queue_lost_after_its_new_creation_is_restored
            }
            configure {
                configure_creates_changes_and_repeats_settings
                configure_ignores_superseded_settings
            }
            queue_view {
                every_method_reports_an_unknown_queue
                the_view_counts_entries_and_events
            }
            change_mark {
                ticks_of_an_empty_queue_keep_its_mark
                each_change_of_a_queue_changes_its_mark
                a_lost_queue_has_no_mark
            }
            recent_view {
                a_shared_view_is_less_than_a_second_old
                a_shared_view_has_the_configuration_in_force
                a_lost_queue_has_no_shared_view
            }
            reports {
                a_report_counts_events_since_the_last_report
                each_event_is_in_exactly_one_report
                an_idle_queue_is_reported_less_often
                a_report_shows_how_long_entries_waited
                a_report_knows_a_lane_that_is_new_since_the_last_tick
                a_report_shows_the_longest_gap_between_ticks
                a_report_shows_the_lag_of_the_backup
            }
            tally {
                a_tally_counts_totals_waits_and_the_peak
                a_session_is_counted_when_it_ends_in_whatever_way
                a_session_is_counted_from_its_beginning_after_a_loss
                waits_of_any_length_are_in_the_right_bucket
                a_tally_is_taken_until_it_is_acknowledged
                a_restored_queue_goes_on_with_its_tally
                a_restore_without_a_stored_tally_begins_at_zero
            }
        }
    };
}
