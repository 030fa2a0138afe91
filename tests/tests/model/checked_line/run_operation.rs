//! Runs an operation on the line.

use vestibule_domain::call_limit::CallLimit;
use vestibule_line::{
    EvictOrder, HoldOrder, LineHistory, PromoteEntryOrder, PromoteOrder, ReportOrder, SessionExtension,
    TickMark, Validation,
};
use vestibule_tests::lines::{configuration, visitor};

use super::{CheckedLine, OperationInput, to_text};
use crate::{
    journal_operations,
    operations::{Operation, VISITORS, use_id},
    settings_operations::{settle_switches, switch_line},
};

/// Few calls, so that sequences reach the limit. Redis forgets them by its own clock, so the period is longer than a run.
fn call_limit() -> CallLimit {
    CallLimit::new(3, 600).expect("within the ranges")
}

impl CheckedLine {
    /// Takes or releases held polls, with the queue's name as the deployment.
    async fn run_hold_operation(&self, op: &Operation) -> String {
        let (line, deployment) = (&self.line, self.queue.as_str());
        match op {
            Operation::TakeHold {
                visitor: number,
                below,
                lease_ms,
            } => {
                let order = HoldOrder {
                    deployment,
                    id: visitor(*number),
                    below: *below,
                    lease_ms: *lease_ms,
                };
                to_text(line.take_hold(&order).await)
            }
            Operation::ReleaseHolds(numbers) => {
                let ids: Vec<_> = numbers.iter().copied().map(visitor).collect();
                to_text(line.release_holds(deployment, &ids).await)
            }
            _ => unreachable!("{op:?} is no operation of held polls"),
        }
    }

    /// Runs the operation and returns the whole answer as text.
    #[allow(clippy::too_many_lines)] // A list of all operations.
    pub(super) async fn run_operation(&self, op: &Operation, input: &OperationInput) -> String {
        let (line, queue) = (&self.line, &self.queue);
        match op {
            Operation::Enter(number, arrival, lane) => {
                to_text(line.enter_lane(queue, visitor(*number), *arrival, *lane).await)
            }
            Operation::MoveToLane(number, lane) => {
                to_text(line.move_to_lane(queue, visitor(*number), *lane).await)
            }
            Operation::PromoteEntry(number, over_pace) => {
                let order = PromoteEntryOrder {
                    id: visitor(*number),
                    over_pace: *over_pace,
                };
                to_text(line.promote_entry(queue, order).await)
            }
            Operation::Status(number) => to_text(line.status(queue, visitor(*number)).await),
            Operation::CheckIn(number) => to_text(line.check_in(queue, visitor(*number)).await),
            Operation::Promote {
                max_entries,
                is_promoter,
                seen_tick,
                has_changed_server,
            } => {
                let last_tick = line.queue_view(queue).await.expect("a view").last_tick;
                let order = PromoteOrder {
                    max_entries: *max_entries,
                    is_promoter: *is_promoter,
                    min_watermark: None,
                    history: LineHistory {
                        last_tick: seen_tick.map(|(ticks, ms)| TickMark {
                            ticks: last_tick.ticks.saturating_add_signed(ticks),
                            at_ms: last_tick.at_ms.saturating_add_signed(ms),
                            ..last_tick
                        }),
                        has_changed_server: *has_changed_server,
                    },
                };
                to_text(line.promote(queue, order).await)
            }
            Operation::TakeFallbackTick(order) => to_text(line.take_fallback_tick(queue, *order).await),
            Operation::ParkPromoter => to_text(line.park_idle_promoter(queue).await),
            Operation::Claim(number) => to_text(line.claim(queue, visitor(*number)).await),
            Operation::MarkClosing(number, selector) => {
                let visit = self.select_visit(*number, *selector);
                to_text(line.mark_closing(queue, visitor(*number), visit).await)
            }
            Operation::RemoveClosingMark(number) => {
                to_text(line.remove_closing_mark(queue, visitor(*number)).await)
            }
            Operation::Leave(number, selector, reason) => {
                let visit = self.select_visit(*number, *selector);
                to_text(line.leave(queue, visitor(*number), visit, *reason).await)
            }
            Operation::Evict {
                visits,
                spares_checked_in,
            } => {
                let ids: Vec<_> = (1..=VISITORS).map(visitor).collect();
                let presence = line.presence_many(queue, &ids).await;
                let visits = visits.iter().filter_map(|(number, selector)| {
                    let selected = self.select_visit(*number, *selector)?;
                    Some((visitor(*number), selected))
                });
                let order = EvictOrder {
                    visits: visits.collect(),
                    spares_checked_in: *spares_checked_in,
                };
                to_text((presence, line.evict_waiting(queue, &order).await))
            }
            Operation::Validate {
                visitor: number,
                visit,
                claims,
                consumes,
                use_number,
                pass_ms_from_now,
            } => {
                let validation = Validation {
                    visit: self.select_visit(*number, *visit),
                    claims: *claims,
                    consumes: *consumes,
                    use_id: use_number.map(use_id),
                    reactivate_until_ms: pass_ms_from_now
                        .map(|ms| self.clock.now_ms().saturating_add_signed(ms)),
                };
                to_text(line.validate(queue, visitor(*number), validation).await)
            }
            Operation::Extend {
                visitor: number,
                visit,
                seconds,
                latest_end_ms_from_now,
            } => {
                let extension = SessionExtension {
                    visit: self.select_visit(*number, *visit),
                    seconds: *seconds,
                    latest_end_ms: self.clock.now_ms().saturating_add_signed(*latest_end_ms_from_now),
                };
                to_text(line.extend(queue, visitor(*number), extension).await)
            }
            Operation::Adopt(_) => to_text(
                line.adopt(queue, input.adopt.as_ref().expect("the operation has a record"))
                    .await,
            ),
            Operation::Acknowledge { .. }
            | Operation::AppendToJournal(..)
            | Operation::Requeue { .. }
            | Operation::DeadLetter(_)
            | Operation::AcknowledgeDeadLetters(_) => {
                journal_operations::run_operation(line, queue, op, input).await
            }
            Operation::ReadPages | Operation::TakeCheck(_) | Operation::RecordCheckProgress(_) => {
                self.run_check_operation(op).await
            }
            Operation::TakeHold { .. } | Operation::ReleaseHolds(_) => self.run_hold_operation(op).await,
            Operation::TakeCall(number) => {
                to_text(line.take_call(queue, visitor(*number), call_limit()).await)
            }
            Operation::RecordLoad(report) => to_text(line.record_load(queue, report).await),
            Operation::AdvanceClockMicros(_)
            | Operation::SetClockBackMicros(_)
            | Operation::SetServerOffsetMs(_) => String::new(),
            Operation::AdjustClock { error_ms } => {
                let clocks = line.queue_view(queue).await.expect("a view").clocks;
                to_text(
                    line.adjust_clock(queue, clocks.wanted_offset_ms() + error_ms)
                        .await,
                )
            }
            Operation::TakeReport { every_ms, idle_ms } => {
                let order = ReportOrder {
                    every_ms: *every_ms,
                    idle_ms: *idle_ms,
                };
                to_text(line.take_report(queue, order).await)
            }
            Operation::Switch(setting) => switch_line(line, queue, setting, self.clock.now_ms()).await,
            Operation::SettleSwitches => settle_switches(line, queue).await,
            Operation::ChangeSetting(_) => {
                to_text(line.configure(queue, &configuration(&self.settings), false).await)
            }
        }
    }
}
