//! Writes the metrics of every queue. The promoter that asks first when a report is due writes it,
//! so that each event is counted once, however many promoters run.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_engine::{check::CheckSummary, tick::TickSummary};
use vestibule_line::{Line, LineError, QueueView, Report, ReportOrder, ReportOutcome};
use vestibule_telemetry::{
    emf::Metrics,
    metrics::{
        ABSENCES, ABSENT, ACTIVE, BACKUP_LAG, CALLED, CAPACITY, CHECK_AGE, CLOCKS_APART, COMPLETED,
        DEAD_LETTERED_RECORDS, ENTERED, ESTIMATE_ERROR, EXPECTED_END, EXPIRED, JOURNAL_LENGTH, LEFT,
        LOAD_REPORT_AGE, Metric, NO_SHOWS, PACE_PER_MINUTE, PRESENT, PROMOTED, READY, REPAIRED,
        SETTINGS_REFUSED, STAY_MEAN, TICK_AGE, WAIT_MAX, WAIT_MEAN, WAITING,
    },
};

use super::probes::EstimateProbes;

/// How often a queue is reported on. An idle queue still gets a report in every minute, because an
/// alarm may depend on missing reports.
const REPORT_INTERVALS: ReportOrder = ReportOrder {
    every_ms: 10_000,
    idle_ms: 50_000,
};

/// Writes one promoter's metrics and keeps what it needs between two reports.
pub(super) struct MetricsReporter {
    metrics: Metrics,
    queues: Mutex<HashMap<QueueId, QueueMetrics>>,
}

#[derive(Default)]
struct QueueMetrics {
    /// When to ask the line for the next report. `None` before the first.
    next_report_at: Option<Instant>,
    /// When this promoter got the last report.
    reported_at: Option<Instant>,
    probes: EstimateProbes,
    /// The last value that was written of each metric that is 0 or 1, and when it was written.
    written_flags: HashMap<&'static str, (bool, Instant)>,
}

impl MetricsReporter {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            metrics,
            queues: Mutex::default(),
        }
    }

    /// Drops the state of queues that the listing lacks.
    pub(super) fn retain_queues(&self, queues: &HashSet<QueueId>) {
        self.lock().retain(|queue, _| queues.contains(queue));
    }

    /// Writes whether the clocks are apart. Also compares earlier estimates of the wait with the
    /// places that this tick reached, and writes the differences.
    pub(super) fn report_tick(&self, queue: &QueueId, ticked: &TickSummary) {
        if !self.metrics.is_enabled() {
            return;
        }
        self.write_flag(queue, CLOCKS_APART, ticked.clocks.apart);
        let errors = self.lock().get_mut(queue).map(|memory| {
            memory
                .probes
                .take_estimate_errors(ticked.promoted_through, ticked.waiting, ticked.now_ms)
        });
        if let Some(errors) = errors.filter(|errors| !errors.is_empty()) {
            self.metrics.write(queue, [(ESTIMATE_ERROR, json!(errors))]);
        }
    }

    /// Whether it is time to ask the line for a report.
    pub(super) fn is_due(&self, queue: &QueueId) -> bool {
        self.metrics.is_enabled()
            && self
                .lock()
                .get(queue)
                .and_then(|memory| memory.next_report_at)
                .is_none_or(|next| Instant::now() >= next)
    }

    /// Has the promoter ask for the next report of a queue at once.
    pub(super) fn ask_soon(&self, queue: &QueueId) {
        if let Some(memory) = self.lock().get_mut(queue) {
            memory.next_report_at = None;
        }
    }

    /// Asks the line for a report and writes its metrics, if one is due. For a parked queue, the next
    /// one is due only after the time for idle queues.
    pub(super) async fn report(
        &self,
        line: &Line,
        queue: &QueueId,
        is_parked: bool,
    ) -> Result<(), LineError> {
        let reported = line.take_report(queue, REPORT_INTERVALS).await?;
        let due_in_ms = match reported {
            ReportOutcome::Due(_) => REPORT_INTERVALS.every_ms,
            ReportOutcome::NotDue { due_in_ms } => due_in_ms,
        };
        {
            let now = Instant::now();
            let mut queues = self.lock();
            let memory = queues.entry(queue.clone()).or_default();
            if matches!(reported, ReportOutcome::Due(_)) {
                memory.reported_at = Some(now);
            }
            let next = now + Duration::from_millis(due_in_ms);
            let next_if_idle = memory
                .reported_at
                .map(|at| at + Duration::from_millis(REPORT_INTERVALS.idle_ms))
                .filter(|_| is_parked);
            memory.next_report_at = Some(next_if_idle.map_or(next, |idle| idle.max(next)));
        }
        let ReportOutcome::Due(report) = reported else {
            return Ok(());
        };
        // The report has been taken, and no other promoter gets it: a failure after it must not lose it.
        let view = line.queue_view(queue).await;
        let mut measured = report_metrics(&report);
        if let Ok(view) = &view {
            measured.extend(control_metrics(view));
        }
        self.metrics.write(queue, measured);
        let view = view?;
        let told_ms = Some(report.waiting - report.absent)
            .filter(|waiting| *waiting > 0)
            .and_then(|position| estimated_wait_ms(&view, position));
        let mut queues = self.lock();
        let memory = queues.entry(queue.clone()).or_default();
        memory.probes.add(&report, told_ms);
        Ok(())
    }

    /// Writes how many differences a consistency check repaired.
    pub(super) fn report_check(&self, queue: &QueueId, checked: &CheckSummary) {
        if self.metrics.is_enabled() {
            self.metrics
                .write(queue, [(REPAIRED, json!(checked.repaired_count()))]);
        }
    }

    /// Writes whether the stored settings are refused.
    pub(super) fn report_settings_refused(&self, queue: &QueueId, refused: bool) {
        self.write_flag(queue, SETTINGS_REFUSED, refused);
    }

    /// Writes a metric that is 0 or 1. It writes a changed value at once. It repeats the value 1 as
    /// often as a busy queue is reported on, and the value 0 as often as an idle one.
    fn write_flag(&self, queue: &QueueId, what: Metric, is_so: bool) {
        if !self.metrics.is_enabled() {
            return;
        }
        let every_ms = if is_so {
            REPORT_INTERVALS.every_ms
        } else {
            REPORT_INTERVALS.idle_ms
        };
        let now = Instant::now();
        let mut queues = self.lock();
        let memory = queues.entry(queue.clone()).or_default();
        let is_said = memory.written_flags.get(what.name).is_some_and(|(before, at)| {
            *before == is_so && now.duration_since(*at) < Duration::from_millis(every_ms)
        });
        if !is_said {
            memory.written_flags.insert(what.name, (is_so, now));
            drop(queues);
            self.metrics.write(queue, [(what, json!(u8::from(is_so)))]);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueId, QueueMetrics>> {
        // Every change under the lock is complete before anything could panic, so the data of a
        // poisoned mutex is consistent.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts a report to metrics.
fn report_metrics(report: &Report) -> Vec<(Metric, Value)> {
    let happened = &report.events;
    let mut measured: Vec<_> = [
        (WAITING, report.waiting - report.absent),
        (CALLED, report.called),
        (PRESENT, report.present),
        (ABSENT, report.absent),
        (READY, report.ready),
        (ACTIVE, report.active),
        (JOURNAL_LENGTH, report.journal_len),
        (BACKUP_LAG, report.backup_lag_ms),
        (DEAD_LETTERED_RECORDS, report.dead_letters),
        (TICK_AGE, report.tick_age_ms),
        (CHECK_AGE, report.check_age_ms),
        (ENTERED, happened.entered),
        (PROMOTED, happened.promoted),
        (EXPIRED, happened.expired),
        (NO_SHOWS, happened.no_shows),
        (ABSENCES, happened.absences),
        (LEFT, happened.left),
        (COMPLETED, happened.completed),
    ]
    .map(|(metric, number)| (metric, json!(number)))
    .into();
    measured.extend(report.load_age_ms.map(|age_ms| (LOAD_REPORT_AGE, json!(age_ms))));
    if let Some((mean_ms, max_ms)) = mean_and_max_wait_ms(report) {
        measured.extend([(WAIT_MEAN, json!(mean_ms)), (WAIT_MAX, json!(max_ms))]);
    }
    let stay_mean_ms = report.stayed_ms.checked_div(report.stays);
    measured.extend(stay_mean_ms.map(|mean_ms| (STAY_MEAN, json!(mean_ms))));
    measured
}

/// What the operator decided, and when the line ends at this pace.
fn control_metrics(view: &QueueView) -> Vec<(Metric, Value)> {
    let settings = &view.configuration.settings;
    let mut measured = Vec::new();
    if !settings.is_passthrough() {
        let pace = view.pace_in_force().pace;
        let per_minute = (pace.batch * 60_000).checked_div(pace.interval_ms).unwrap_or(0);
        measured.extend([
            (CAPACITY, json!(settings.capacity)),
            (
                PACE_PER_MINUTE,
                json!(if view.is_moving() { per_minute } else { 0 }),
            ),
        ]);
    }
    let end_ms = match view.in_line() {
        0 => Some(0),
        last => view
            .estimate(&view.forecast(), last)
            .map(|estimate| estimate.high * 1_000),
    };
    measured.extend(end_ms.map(|end_ms| (EXPECTED_END, json!(end_ms))));
    measured
}

/// The estimated wait that a visitor at this position is shown, in milliseconds: the middle of the
/// range `low` to `high`, which are seconds, so (low + high) / 2 * 1000. `None` if there is no
/// estimate.
fn estimated_wait_ms(view: &QueueView, position: u64) -> Option<u64> {
    let estimate = view.estimate(&view.forecast(), position)?;
    Some((estimate.low + estimate.high) * 500)
}

/// The mean and the longest wait of a report, in milliseconds. `None` if no entry was promoted and
/// none waits.
fn mean_and_max_wait_ms(report: &Report) -> Option<(u64, u64)> {
    let head_ms = report
        .head
        .map(|head| report.now_ms.saturating_sub(head.joined_at_ms()));
    // If no entry was promoted, the wait of the head of the line stands in. Otherwise an alarm on
    // the wait would stay silent while the line does not move.
    let mean_ms = report.waited_ms.checked_div(report.events.promoted).or(head_ms)?;
    Some((mean_ms, report.waited_max_ms.max(head_ms.unwrap_or(0))))
}
