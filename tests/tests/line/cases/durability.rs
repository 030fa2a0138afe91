//! The cases about changes that the line reports to the backup, and about a line that lost some.

macro_rules! durability_cases {
    ($backend:ident) => {
        tests_of_cases! { $backend
            loss {
                a_lost_tick_sets_a_check_due_at_once
                a_loss_during_a_check_sets_another_due
                leaving_a_server_sets_a_check_due
                an_idle_queue_shows_no_loss
            }
            journal {
                the_journal_lists_promotions_and_ends_in_order
                acknowledged_records_leave_the_journal
                appended_changes_of_every_kind_read_back_unchanged
                the_line_keeps_an_end_until_it_is_acknowledged
                a_settled_end_is_kept_for_ten_seconds
                a_late_acknowledgement_keeps_the_next_end
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
                a_later_visit_whose_slot_is_held_is_the_last_one
                a_repeated_fast_track_stays_provisional_until_claimed
                a_later_live_visit_replaces_the_new_place
                a_place_that_is_confirmed_meanwhile_stays
                a_returned_visitor_gets_a_second_turn
                the_longest_wait_ends_no_second_turn
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
                a_restore_honours_what_longer_settings_have_given_out
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
                a_visit_after_a_restore_is_later_by_any_clock
            }
        }
    };
}
