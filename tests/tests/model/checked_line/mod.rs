//! A queue whose state is checked after each operation.

mod dump;
mod invariants;
mod journal_slots;
mod known_visits;
mod rules;
mod run_operation;

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use vestibule_domain::{
    change::{Change, VisitEnd},
    id::QueueId,
    score::{Visit, WaitScore},
    settings::Settings,
};
use vestibule_line::{AdoptOrder, JournalLimits, Line};
use vestibule_tests::lines::{ManualClock, RawLink, configuration};

use self::invariants::{require_conservation, require_consistent_visits, require_counted_absent};
pub(crate) use self::known_visits::CHANGE_KINDS;
use self::rules::{Moment, PaceCheck, Step};
use crate::operations::Operation;

/// More records than a sequence can write.
pub(crate) const JOURNAL_RECORDS_MAX: usize = 1_000;
/// Low limits, so that some sequences reach them.
const LIMITS: JournalLimits = JournalLimits {
    new_entries: 14,
    all_changes: 16,
    dead_letters: 2,
};

pub(crate) struct CheckedLine {
    pub(crate) line: Line,
    /// A connection that reads the keys independently of the line under test.
    link: RawLink,
    pub(crate) clock: ManualClock,
    pub(crate) queue: QueueId,
    settings: Settings,
    /// The last known visit of each visitor.
    pub(crate) visits: BTreeMap<u64, Visit>,
    /// The queue after the last operation.
    last_moment: Option<Moment>,
    pace: PaceCheck,
    /// Whether another test runs the same operations and checks the invariants.
    pub(crate) is_checked_elsewhere: bool,
    /// The places that `enter` gave and that the backup may still refuse.
    pub(crate) provisional_places: BTreeMap<u64, WaitScore>,
}

/// The input of an operation. It is made before the operation runs.
pub(crate) struct OperationInput {
    /// The change to append to the journal.
    pub(crate) change: Option<Change>,
    /// The ends that the backup has.
    pub(crate) ends: Vec<VisitEnd>,
    /// The comparison with a record.
    pub(crate) adopt: Option<AdoptOrder>,
}

impl CheckedLine {
    pub(crate) async fn new(line: Line, link: RawLink, queue: QueueId) -> Self {
        let clock = ManualClock::new();
        let checked = Self {
            line: line
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
            last_moment: None,
            pace: PaceCheck::default(),
            is_checked_elsewhere: false,
            provisional_places: BTreeMap::new(),
        };
        let created = checked
            .line
            .configure(&checked.queue, &configuration(&checked.settings), true)
            .await;
        created.expect("configure");
        checked
    }

    /// Runs an operation. Returns which invariant the state breaks afterwards.
    pub(crate) async fn run_step(&mut self, op: &Operation) -> Result<(), String> {
        match op {
            Operation::AdvanceClockMicros(micros) => self.clock.advance(Duration::from_micros(*micros)),
            Operation::SetClockBackMicros(micros) => self.clock.set_back(Duration::from_micros(*micros)),
            Operation::SetServerOffsetMs(ms) => self.clock.set_server_error_ms(*ms),
            Operation::ChangeSetting(setting) => setting.apply(&mut self.settings, self.clock.now_ms()),
            _ => {}
        }
        self.record_known_visits().await;
        let input = OperationInput {
            change: self.build_change(op).await,
            ends: self.build_acknowledged_ends(op).await,
            adopt: self.build_adopt_order(op).await,
        };
        self.run_operation(op, &input).await;
        self.record_provisional_places(op).await;
        if self.is_checked_elsewhere {
            return Ok(());
        }
        let after = self.moment().await;
        require_consistent_visits(&after.dump)?;
        require_conservation(&after.dump)?;
        require_counted_absent(&after.dump)?;
        if let Some(before) = &self.last_moment {
            let journal = self.line.journal_records(&self.queue, JOURNAL_RECORDS_MAX).await;
            let step = Step {
                op,
                before,
                after: &after,
                journal: &journal.map_err(to_text)?,
            };
            step.check()?;
            self.pace.check(&step)?;
        }
        self.last_moment = Some(after);
        self.require_readable_journal().await?;
        self.require_consistent_slots().await
    }

    async fn moment(&self) -> Moment {
        let view = self.line.queue_view(&self.queue).await.expect("a view");
        Moment {
            dump: self.dump().await,
            view,
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err(to_text)`.
pub(crate) fn to_text(answer: impl Debug) -> String {
    format!("{answer:?}")
}
