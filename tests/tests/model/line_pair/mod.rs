//! A queue in memory and the same queue in Redis, on the same clock.

mod compare;
mod invariants;
mod known_visits;
mod redis_dump;
mod run_operation;

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use vestibule_domain::{
    change::{Change, VisitEnd},
    id::QueueId,
    score::{Visit, WaitScore},
    settings::Settings,
};
use vestibule_line::{AdoptOrder, JournalLimits, Line};
use vestibule_line_memory::MemoryLine;
use vestibule_line_redis::RedisLine;
use vestibule_tests::lines::{ManualClock, RawLink, configuration};

use self::compare::require_equal;
pub(crate) use self::known_visits::CHANGE_KINDS;
use crate::operations::Operation;

/// More records than a sequence can write.
pub(crate) const JOURNAL_RECORDS_MAX: usize = 1_000;
/// Low limits, so that some sequences reach them.
const LIMITS: JournalLimits = JournalLimits {
    new_entries: 14,
    all_changes: 16,
    dead_letters: 2,
};

pub(crate) struct LinePair {
    pub(crate) memory: MemoryLine,
    redis: RedisLine,
    /// A connection that reads Redis independently of the line under test.
    link: RawLink,
    pub(crate) clock: ManualClock,
    pub(crate) queue: QueueId,
    settings: Settings,
    /// The last known visit of each visitor.
    pub(crate) visits: BTreeMap<u64, Visit>,
    /// Whether views and states are compared after each step, and not only answers.
    pub(crate) compares_states: bool,
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
    pub(crate) async fn new(redis: RedisLine, link: RawLink, queue: QueueId) -> Self {
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
            compares_states: true,
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
            Operation::ChangeSetting(setting) => setting.apply(&mut self.settings, self.clock.now_ms()),
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
            _ if !self.compares_states => Ok(()),
            // No line was called, so only the line time can differ.
            Operation::AdvanceClockMicros(_)
            | Operation::SetClockBackMicros(_)
            | Operation::SetServerOffsetMs(_) => self.compare_views().await,
            Operation::ChangeSetting(_)
            | Operation::Switch(_)
            | Operation::RecordLoad(_)
            | Operation::AdjustClock { .. } => {
                self.compare_views().await?;
                self.compare_states().await
            }
            _ => self.compare_states().await,
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err(to_text)`.
pub(crate) fn to_text(answer: impl Debug) -> String {
    format!("{answer:?}")
}
