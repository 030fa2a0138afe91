//! Runs an operation on the line.

use vestibule_domain::{call_limit::CallLimit, change::Change};
use vestibule_line::{
    AdoptOutcome, ClaimOutcome, EnterOutcome, EntryPromotionOutcome, EvictOrder, ExtendOutcome, HoldOrder,
    LaneMoveOutcome, LeaveOutcome, LineError, LineHistory, PromoteEntryOrder, PromoteOrder, SessionExtension,
    TickMark, ValidateOutcome, Validation,
};
use vestibule_tests::lines::visitor;

use super::{CheckedLine, OperationInput};
use crate::{
    journal_operations,
    operations::{Operation, VISITORS, use_id},
    queue_keys,
    settings_operations::{settle_switches, switch_line},
};

/// Few calls, so that sequences reach the limit. Redis forgets them by its own clock, so the period is longer than a run.
fn call_limit() -> CallLimit {
    CallLimit::new(3, 600).expect("within the ranges")
}

impl CheckedLine {
    /// Takes or releases held polls, of a deployment for this queue alone.
    async fn run_hold_operation(&self, op: &Operation) -> Result<(), LineError> {
        let (line, deployment) = (&self.line, &queue_keys::deployment(&self.queue));
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
                    unknown_speed_below: None,
                    lease_ms: *lease_ms,
                };
                line.take_hold(&order).await.map(drop)
            }
            Operation::ReleaseHolds(numbers) => {
                let ids: Vec<_> = numbers.iter().copied().map(visitor).collect();
                line.release_holds(deployment, &ids).await.map(drop)
            }
            _ => unreachable!("{op:?} is no operation of held polls"),
        }
    }

    /// Runs the operation. Returns the changes that its caller writes to the backup.
    #[allow(clippy::too_many_lines)] // A list of all operations.
    pub(super) async fn run_operation(
        &self,
        op: &Operation,
        input: &OperationInput,
    ) -> Result<Vec<Change>, LineError> {
        let (line, queue) = (&self.line, &self.queue);
        let change = match op {
            Operation::Enter(number, arrival, drawn_order, lane) => {
                let entered = line.enter_lane(queue, visitor(*number), *arrival, *drawn_order, *lane);
                match entered.await? {
                    EnterOutcome::Joined { change, .. } => change,
                    EnterOutcome::Refused(_) => None,
                }
            }
            Operation::MoveToLane(number, lane) => {
                match line.move_to_lane(queue, visitor(*number), *lane).await? {
                    LaneMoveOutcome::Moved { change, .. } => Some(change),
                    _ => None,
                }
            }
            Operation::PromoteEntry(number, over_pace) => {
                let order = PromoteEntryOrder {
                    id: visitor(*number),
                    over_pace: *over_pace,
                };
                match line.promote_entry(queue, order).await? {
                    EntryPromotionOutcome::Promoted { change, .. } => Some(change),
                    _ => None,
                }
            }
            Operation::Status(number) => {
                line.status(queue, visitor(*number)).await?;
                None
            }
            Operation::StatusMany(numbers) => {
                let ids: Vec<_> = numbers.iter().copied().map(visitor).collect();
                line.status_many(queue, &ids).await?;
                None
            }
            Operation::CheckIn(number) => {
                line.check_in(queue, visitor(*number)).await?;
                None
            }
            Operation::Promote {
                max_entries,
                is_promoter,
                seen_tick,
                has_changed_server,
            } => {
                let last_tick = line.queue_view(queue).await?.last_tick;
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
                line.promote(queue, order).await?;
                None
            }
            Operation::TakeFallbackTick(order) => {
                line.take_fallback_tick(queue, *order).await?;
                None
            }
            Operation::ParkPromoter => {
                line.park_idle_promoter(queue).await?;
                None
            }
            Operation::Claim(number) => match line.claim(queue, visitor(*number)).await? {
                ClaimOutcome::Active { change, .. } => Some(change),
                _ => None,
            },
            Operation::MarkClosing(number, selector) => {
                let visit = self.select_visit(*number, *selector);
                line.mark_closing(queue, visitor(*number), visit).await?;
                None
            }
            Operation::RemoveClosingMark(number) => {
                line.remove_closing_mark(queue, visitor(*number)).await?;
                None
            }
            Operation::Leave(number, selector, reason) => {
                let visit = self.select_visit(*number, *selector);
                match line.leave(queue, visitor(*number), visit, *reason).await? {
                    LeaveOutcome::Ended(change) => Some(change),
                    _ => None,
                }
            }
            Operation::Evict {
                visits,
                spares_checked_in,
            } => {
                let ids: Vec<_> = (1..=VISITORS).map(visitor).collect();
                line.presence_many(queue, &ids).await?;
                let visits = visits.iter().filter_map(|(number, selector)| {
                    let selected = self.select_visit(*number, *selector)?;
                    Some((visitor(*number), selected))
                });
                let order = EvictOrder {
                    visits: visits.collect(),
                    spares_checked_in: *spares_checked_in,
                };
                line.evict_waiting(queue, &order).await?;
                None
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
                match line.validate(queue, visitor(*number), validation).await? {
                    ValidateOutcome::Active { change, .. } => change,
                    _ => None,
                }
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
                match line.extend(queue, visitor(*number), extension).await? {
                    ExtendOutcome::Active { change, .. } => Some(change),
                    _ => None,
                }
            }
            Operation::Adopt(_) => {
                let order = input.adopt.as_ref().expect("the operation has a record");
                match line.adopt(queue, order).await? {
                    AdoptOutcome::Live { change, .. } | AdoptOutcome::Ended { change, .. } => change,
                    _ => None,
                }
            }
            Operation::Acknowledge { .. }
            | Operation::AppendToJournal(..)
            | Operation::Requeue { .. }
            | Operation::DeadLetter(_)
            | Operation::AcknowledgeDeadLetters(_) => {
                return journal_operations::run_operation(line, queue, op, input).await;
            }
            Operation::ReadPages | Operation::TakeCheck(_) | Operation::RecordCheckProgress(_) => {
                self.run_check_operation(op).await?;
                None
            }
            Operation::TakeHold { .. } | Operation::ReleaseHolds(_) => {
                self.run_hold_operation(op).await?;
                None
            }
            Operation::TakeCall(number) => {
                line.take_call(queue, visitor(*number), call_limit()).await?;
                None
            }
            Operation::RecordLoad(report) => {
                line.record_load(queue, report).await?;
                None
            }
            Operation::ReadTally => {
                line.read_tally(queue).await?;
                None
            }
            Operation::AskServer => {
                line.ask_server().await?;
                None
            }
            Operation::AdvanceClockMicros(_)
            | Operation::SetClockBackMicros(_)
            | Operation::SetServerOffsetMs(_) => None,
            Operation::AdjustClock { error_ms } => {
                let clocks = line.queue_view(queue).await?.clocks;
                line.adjust_clock(queue, clocks.wanted_offset_ms() + error_ms)
                    .await?;
                None
            }
            Operation::Switch(setting) => {
                switch_line(line, queue, setting, self.clock.now_ms()).await?;
                None
            }
            Operation::SettleSwitches => {
                settle_switches(line, queue).await?;
                None
            }
            Operation::ChangeSetting(_) => {
                line.configure(queue, &self.configuration(), false).await?;
                None
            }
            Operation::TakeReport { .. }
            | Operation::TakeTally { .. }
            | Operation::RaiseWatermark { .. }
            | Operation::Recover(_) => unreachable!("{op:?} has a check of its own"),
        };
        Ok(change.into_iter().collect())
    }
}
