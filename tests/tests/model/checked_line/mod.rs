//! A queue whose state is checked after each operation.

mod dump;
mod invariants;
mod journal_slots;
mod known_visits;
mod promises;
mod recovery_rules;
mod report_rules;
mod rules;
mod run_operation;
mod stored_copy;

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use vestibule_domain::{
    change::{Change, VisitEnd},
    configuration::Configuration,
    id::QueueId,
    score::{Visit, WaitScore},
    settings::Settings,
    tally::Tally,
};
use vestibule_line::{AdoptOrder, JournalLimits, Line, Report, ReportOrder, ReportOutcome};
use vestibule_tests::lines::{ManualClock, RawLink, configuration};

use self::invariants::{require_conservation, require_consistent_visits, require_counted_absent};
use self::promises::PassPromises;
use self::report_rules::require_report;
use self::rules::{Moment, PaceCheck, Step};
pub(crate) use self::{
    known_visits::CHANGE_KINDS,
    recovery_rules::{Recovered, RestoredQueue},
    rules::{Check, require},
    stored_copy::StoredCopy,
};
use crate::{operations::Operation, queue_keys::begin_streams};

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
    pub(crate) link: RawLink,
    pub(crate) clock: ManualClock,
    pub(crate) queue: QueueId,
    settings: Settings,
    pub(crate) epoch: u32,
    pub(crate) generation: u32,
    pub(crate) min_epoch: u32,
    pub(crate) stored: StoredCopy,
    /// The tally with which the queue began.
    first_tally: Tally,
    /// How many entries no total counts, because the queue was restored with them.
    uncounted: usize,
    /// The last known visit of each visitor.
    pub(crate) visits: BTreeMap<u64, Visit>,
    /// The queue after the last operation.
    last_moment: Option<Moment>,
    pace: PaceCheck,
    passes: PassPromises,
    /// The report that the last operation took.
    report: Option<Report>,
    /// Whether another test runs the same operations and checks the invariants.
    is_checked_elsewhere: bool,
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
    pub(crate) async fn new(line: Line, link: RawLink, queue: QueueId, is_checked_elsewhere: bool) -> Self {
        let clock = ManualClock::new();
        let mut checked = Self {
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
            epoch: 1,
            generation: 1,
            min_epoch: 1,
            stored: StoredCopy::new(),
            first_tally: Tally::default(),
            uncounted: 0,
            visits: BTreeMap::new(),
            last_moment: None,
            pace: PaceCheck::default(),
            passes: PassPromises::default(),
            report: None,
            is_checked_elsewhere,
            provisional_places: BTreeMap::new(),
        };
        let created = checked
            .line
            .configure(&checked.queue, &checked.configuration(), true)
            .await;
        created.expect("configure");
        begin_streams(&mut checked.link, &checked.queue).await;
        checked
    }

    /// The configuration in the backup.
    pub(crate) fn configuration(&self) -> Configuration {
        Configuration {
            epoch: self.epoch,
            generation: self.generation,
            min_epoch: self.min_epoch,
            ..configuration(&self.settings)
        }
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
        self.report = None;
        let recovered = self.run(op).await?;
        if self.is_checked_elsewhere {
            return Ok(());
        }
        let after = self.moment().await;
        if let Some(uncounted) = recovered.uncounted() {
            (self.uncounted, self.first_tally) = (uncounted, self.stored.tally.clone());
            self.pace.begin(&after);
            self.passes.begin(&after);
        }
        require_consistent_visits(&after.dump)?;
        require_conservation(&after.dump, self.uncounted)?;
        require_counted_absent(&after.dump)?;
        self.require_tally(&after)?;
        if let Some(before) = &self.last_moment {
            if matches!(op, Operation::Recover(_)) {
                recovered.check(before, &after)?;
            } else {
                if let Some(report) = &self.report {
                    require_report(report, before, &after)?;
                }
                let journal = self.line.journal_records(&self.queue, JOURNAL_RECORDS_MAX).await;
                let step = Step {
                    op,
                    before,
                    after: &after,
                    journal: &journal.map_err(to_text)?,
                };
                step.check()?;
                self.pace.check(&step)?;
                self.passes.check(&step)?;
            }
        }
        self.last_moment = Some(after);
        self.require_readable_journal().await?;
        self.require_consistent_slots().await
    }

    /// Runs the operation, and lets the backup have what its caller would write there.
    async fn run(&mut self, op: &Operation) -> Result<Recovered, String> {
        match op {
            Operation::Recover(recovery) => return self.run_recovery(recovery).await,
            Operation::TakeReport { every_ms, idle_ms } => {
                let (every_ms, idle_ms) = (*every_ms, *idle_ms);
                let taken = self
                    .line
                    .take_report(&self.queue, ReportOrder { every_ms, idle_ms })
                    .await;
                if let ReportOutcome::Due(report) = taken.map_err(to_text)? {
                    self.report = Some(*report);
                }
                return Ok(Recovered::Unchanged);
            }
            Operation::TakeTally { .. } | Operation::RaiseWatermark { .. } => {
                self.run_stored_operation(op).await?;
                return Ok(Recovered::Unchanged);
            }
            _ => {}
        }
        let input = OperationInput {
            change: self.build_change(op).await,
            ends: self.build_acknowledged_ends(op).await,
            adopt: self.build_adopt_order(op).await,
        };
        if let Some(order) = &input.adopt {
            self.stored.replace_record(order.id, order.record.clone());
        }
        self.stored.is_exact &= !op.departs_from_backup();
        let written = self.run_operation(op, &input).await.map_err(to_text)?;
        for change in &written {
            self.stored.write(change);
        }
        self.record_provisional_places(op).await;
        Ok(Recovered::Unchanged)
    }

    /// The tally counts on from the one with which the queue began.
    fn require_tally(&self, after: &Moment) -> Check {
        let tally = &after.tally;
        let (first, totals) = (&self.first_tally, &after.view.totals);
        require(tally.totals == first.totals.plus(totals), || {
            format!(
                "{:?} is not the sum of {:?} and {totals:?}",
                tally.totals, first.totals
            )
        })?;
        let waits = first.waits.count() + totals.promoted;
        require(tally.waits.count() == waits, || {
            format!("{} waits are counted instead of {waits}", tally.waits.count())
        })
    }

    async fn moment(&self) -> Moment {
        let view = self.line.queue_view(&self.queue).await.expect("a view");
        let counted = self.line.read_tally(&self.queue).await.expect("a tally");
        Moment {
            dump: self.dump().await,
            tally: counted.tally,
            view,
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err(to_text)`.
pub(crate) fn to_text(answer: impl Debug) -> String {
    format!("{answer:?}")
}
