//! The same queue twice: in memory and in Redis, by the same clock.

mod compare;
mod seen;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Debug,
    time::Duration,
};

use redis::aio::MultiplexedConnection;
use vestibule_domain::{
    change::{Change, Version},
    id::QueueId,
    score::{Visit, WaitScore},
    settings::Settings,
};
use vestibule_line::{
    HoldOrder, JournalLimits, Line, PromoteOrder, RepairOrder, ReplacedEntry, ReportOrder, RestoreEntryOrder,
    RestoreEntryOutcome, SessionExtension, Validation,
};
use vestibule_line_memory::MemoryLine;
use vestibule_line_redis::RedisLine;
use vestibule_tests::lines::{ManualClock, configuration, visitor};

use self::compare::same;
use crate::{
    journal,
    ops::{Named, Op},
};

/// More than a sequence can write.
pub(crate) const WHOLE_JOURNAL: usize = 1_000;
/// Low enough to be met now and then.
const LIMITS: JournalLimits = JournalLimits {
    new_entries: 14,
    all_changes: 16,
    dead_letters: 2,
};

pub(crate) struct Pair {
    pub(crate) memory: MemoryLine,
    redis: RedisLine,
    /// Looks into Redis past the line under test.
    link: MultiplexedConnection,
    pub(crate) clock: ManualClock,
    pub(crate) queue: QueueId,
    settings: Settings,
    /// The visit that each visitor was last seen in.
    visits: BTreeMap<u64, Visit>,
    /// The place that each visitor was given, but the last one where they had two, with the version of that.
    places: BTreeMap<u64, VecDeque<(WaitScore, Version)>>,
}

/// What an operation is given, made of what stands before either line is asked.
pub(crate) struct Made {
    pub(crate) record: Option<Change>,
    pub(crate) mending: Option<RepairOrder>,
}

impl Pair {
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
                ..Settings::default()
            },
            visits: BTreeMap::new(),
            places: BTreeMap::new(),
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

    /// Takes a step on both lines; says where answers or states differ after it.
    pub(crate) async fn step(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::PassMicros(micros) => self.clock.advance(Duration::from_micros(*micros)),
            Op::GoBackMicros(micros) => self.clock.set_back(Duration::from_micros(*micros)),
            Op::ServerOffMillis(ms) => self.clock.set_server_error_ms(*ms),
            Op::Set(setting) => setting.apply(&mut self.settings),
            _ => {}
        }
        self.note_visits().await;
        let [memory, redis] = self.lines();
        let made = Made {
            record: self.change_to_record(op).await,
            mending: self.mending(op).await,
        };
        let (in_memory, in_redis) = (
            self.act(memory, op, &made).await,
            self.act(redis, op, &made).await,
        );
        same("answers", &in_memory, &in_redis)?;
        match op {
            // Nobody was called: there is nothing to compare but line time.
            Op::PassMicros(_) | Op::GoBackMicros(_) | Op::ServerOffMillis(_) => self.compare_views().await,
            Op::Set(_) | Op::Load(_) | Op::Adjust { .. } => {
                self.compare_views().await?;
                self.compare_states().await
            }
            _ => self.compare_states().await,
        }
    }

    /// Polls are counted in and out, as of a deployment of the queue's name.
    async fn count_holds(&self, line: &dyn Line, op: &Op) -> String {
        let deployment = self.queue.as_str();
        match op {
            Op::Hold {
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
                text(line.take_hold(&order).await)
            }
            Op::Release(numbers) => {
                let ids: Vec<_> = numbers.iter().copied().map(visitor).collect();
                text(line.release_holds(deployment, &ids).await)
            }
            _ => unreachable!("{op:?} is about no poll"),
        }
    }

    /// Does it, and gives the answer as text: it says all that the answer holds.
    async fn act(&self, line: &dyn Line, op: &Op, made: &Made) -> String {
        let queue = &self.queue;
        match op {
            Op::Enter(number) => text(line.enter(queue, visitor(*number)).await),
            Op::Status(number) => text(line.status(queue, visitor(*number)).await),
            Op::Promote { asked, heartbeat } => {
                let order = PromoteOrder {
                    max_entries: *asked,
                    is_promoter: *heartbeat,
                    min_watermark: None,
                };
                text(line.promote(queue, order).await)
            }
            Op::TakeTick(order) => text(line.take_fallback_tick(queue, *order).await),
            Op::Rest => text(line.park_idle_promoter(queue).await),
            Op::Claim(number) => text(line.claim(queue, visitor(*number)).await),
            Op::Leave(number, named, departure) => {
                let visit = self.visit(*number, *named);
                text(line.leave(queue, visitor(*number), visit, *departure).await)
            }
            Op::Validate {
                visitor: number,
                visit,
                claims,
                consumes,
            } => {
                let check = Validation {
                    visit: self.visit(*number, *visit),
                    claims: *claims,
                    consumes: *consumes,
                    reactivate_until_ms: None,
                };
                text(line.validate(queue, visitor(*number), check).await)
            }
            Op::Extend {
                visitor: number,
                visit,
                seconds,
                latest_end_ms_from_now,
            } => {
                let extension = SessionExtension {
                    visit: self.visit(*number, *visit),
                    seconds: *seconds,
                    latest_end_ms: self.clock.now_ms().saturating_add_signed(*latest_end_ms_from_now),
                };
                text(line.extend(queue, visitor(*number), extension).await)
            }
            Op::Revive {
                visitor: number,
                state,
                sought,
                instead,
            } => {
                let Some(record) = self.old_record(*number, *state) else {
                    return String::new();
                };
                let mut revival = RestoreEntryOrder {
                    record,
                    generation: 1,
                    replaced: if *instead {
                        ReplacedEntry::NewVisit(self.visit(*number, Named::Right).expect("named"))
                    } else {
                        ReplacedEntry::Nothing
                    },
                };
                let first = line.restore_entry(queue, &revival).await;
                let mark = match &first {
                    Ok(RestoreEntryOutcome::TicketIssued(mark)) if *sought => *mark,
                    _ => return text(first),
                };
                revival.replaced = ReplacedEntry::Ticket(mark);
                text((mark, line.restore_entry(queue, &revival).await))
            }
            Op::Settle { .. } | Op::Record(..) | Op::Defer { .. } | Op::SetAside(_) | Op::SettleAside(_) => {
                journal::act(line, queue, op, made.record.as_ref()).await
            }
            Op::Pages | Op::Mend { .. } | Op::TakeCheck(_) | Op::NoteCheck(_) => {
                self.check(line, op, made).await
            }
            Op::Hold { .. } | Op::Release(_) => self.count_holds(line, op).await,
            Op::Load(report) => text(line.record_load(queue, report).await),
            Op::PassMicros(_) | Op::GoBackMicros(_) | Op::ServerOffMillis(_) => String::new(),
            Op::Adjust { beside_ms } => {
                let clocks = line.queue_view(queue).await.expect("a view").clocks;
                text(
                    line.adjust_clock(queue, clocks.wanted_offset_ms() + beside_ms)
                        .await,
                )
            }
            Op::Report { every_ms, idle_ms } => {
                let order = ReportOrder {
                    every_ms: *every_ms,
                    idle_ms: *idle_ms,
                };
                text(line.take_report(queue, order).await)
            }
            Op::Set(_) => text(line.configure(queue, &configuration(&self.settings), false).await),
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err(text)`.
pub(crate) fn text(answer: impl Debug) -> String {
    format!("{answer:?}")
}
