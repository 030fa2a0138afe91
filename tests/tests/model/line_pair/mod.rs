//! A queue in memory and the same queue in Redis, on the same clock.

mod compare;
mod invariants;
mod known_visits;

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use redis::aio::MultiplexedConnection;
use vestibule_domain::{
    call_limit::CallLimit,
    change::{Change, VisitEnd},
    id::QueueId,
    score::{Visit, WaitScore},
    settings::Settings,
};
use vestibule_line::{
    AdoptOrder, EvictOrder, HoldOrder, JournalLimits, Line, LineHistory, PromoteOrder, ReportOrder,
    SessionExtension, TickMark, Validation,
};
use vestibule_line_memory::MemoryLine;
use vestibule_line_redis::RedisLine;
use vestibule_tests::lines::{ManualClock, configuration, visitor};

use self::compare::require_equal;
pub(crate) use self::known_visits::CHANGE_KINDS;
use crate::{
    journal_operations,
    operations::{Operation, VISITORS, use_id},
};

/// More records than a sequence can write.
pub(crate) const JOURNAL_RECORDS_MAX: usize = 1_000;
/// Low limits, so that some sequences reach them.
const LIMITS: JournalLimits = JournalLimits {
    new_entries: 14,
    all_changes: 16,
    dead_letters: 2,
};

/// Few calls, so that sequences reach the limit. Redis forgets them by its own clock, so the period is longer than a run.
fn call_limit() -> CallLimit {
    CallLimit::new(3, 600).expect("within the ranges")
}

pub(crate) struct LinePair {
    pub(crate) memory: MemoryLine,
    redis: RedisLine,
    /// A connection that reads Redis independently of the line under test.
    link: MultiplexedConnection,
    pub(crate) clock: ManualClock,
    pub(crate) queue: QueueId,
    settings: Settings,
    /// The last known visit of each visitor.
    pub(crate) visits: BTreeMap<u64, Visit>,
    /// The places that `enter` gave and that the backup may still refuse.
    pub(crate) provisional_places: BTreeMap<u64, WaitScore>,
}

/// The input of an operation. It is computed once, before the operation runs on either line.
pub(crate) struct OperationInput {
    /// The change to append to the journal.
    pub(crate) change: Option<Change>,
    /// The ends that the backup has.
    pub(crate) ends: Vec<VisitEnd>,
    /// The comparison with a record.
    pub(crate) adopt: Option<AdoptOrder>,
}

impl LinePair {
    pub(crate) async fn new(redis: RedisLine, link: MultiplexedConnection, queue: QueueId) -> Self {
        let clock = ManualClock::new();
        let pair = Self {
            memory: MemoryLine::with_clock(clock.as_server_clock())
                .with_witness(clock.as_clock())
                .with_journal_limits(LIMITS),
            redis: redis
                .with_given_time(clock.as_server_clock())
                .with_witness(clock.as_clock())
                .with_journal_limits(LIMITS),
            link,
            clock,
            queue,
            settings: Settings {
                capacity: 3,
                batch: 2,
                interval_seconds: 5,
                claim_seconds: 20,
                session_seconds: 40,
                presence_seconds: 30,
                call_seconds: 10,
                absent_seconds: 60,
                ..Settings::default()
            },
            visits: BTreeMap::new(),
            provisional_places: BTreeMap::new(),
        };
        for line in pair.lines() {
            let created = line
                .configure(&pair.queue, &configuration(&pair.settings), true)
                .await;
            created.expect("configure");
        }
        pair
    }

    fn lines(&self) -> [&dyn Line; 2] {
        [&self.memory, &self.redis]
    }

    /// Runs an operation on both lines. Returns how their answers or states differ.
    pub(crate) async fn run_step(&mut self, op: &Operation) -> Result<(), String> {
        match op {
            Operation::AdvanceClockMicros(micros) => self.clock.advance(Duration::from_micros(*micros)),
            Operation::SetClockBackMicros(micros) => self.clock.set_back(Duration::from_micros(*micros)),
            Operation::SetServerOffsetMs(ms) => self.clock.set_server_error_ms(*ms),
            Operation::ChangeSetting(setting) => setting.apply(&mut self.settings),
            _ => {}
        }
        self.record_known_visits().await;
        let [memory, redis] = self.lines();
        let input = OperationInput {
            change: self.build_change(op).await,
            ends: self.build_acknowledged_ends(op).await,
            adopt: self.build_adopt_order(op).await,
        };
        let (in_memory, in_redis) = (
            self.run_operation(memory, op, &input).await,
            self.run_operation(redis, op, &input).await,
        );
        require_equal("answers", &in_memory, &in_redis)?;
        self.record_provisional_places(op).await;
        match op {
            // No line was called, so only the line time can differ.
            Operation::AdvanceClockMicros(_)
            | Operation::SetClockBackMicros(_)
            | Operation::SetServerOffsetMs(_) => self.compare_views().await,
            Operation::ChangeSetting(_) | Operation::RecordLoad(_) | Operation::AdjustClock { .. } => {
                self.compare_views().await?;
                self.compare_states().await
            }
            _ => self.compare_states().await,
        }
    }

    /// Takes or releases held polls, with the queue's name as the deployment.
    async fn run_hold_operation(&self, line: &dyn Line, op: &Operation) -> String {
        let deployment = self.queue.as_str();
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
    async fn run_operation(&self, line: &dyn Line, op: &Operation, input: &OperationInput) -> String {
        let queue = &self.queue;
        match op {
            Operation::Enter(number, arrival) => to_text(line.enter(queue, visitor(*number), *arrival).await),
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
                self.run_check_operation(line, op).await
            }
            Operation::TakeHold { .. } | Operation::ReleaseHolds(_) => {
                self.run_hold_operation(line, op).await
            }
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
            Operation::ChangeSetting(_) => {
                to_text(line.configure(queue, &configuration(&self.settings), false).await)
            }
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err(to_text)`.
pub(crate) fn to_text(answer: impl Debug) -> String {
    format!("{answer:?}")
}
