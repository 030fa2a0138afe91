//! The report of a rehearsal, and what it finds wrong.

use std::time::Duration;

use serde::Serialize;
use vestibule_crowd::{
    checks::{Faults, PaceFigures, admissions_ms, most_slots_at_once},
    ledger::ActFigures,
    record::VisitRecord,
    stop::StopReason,
};

use crate::{comparison::ComparisonRow, cost::CostFigures, crowd_totals::CrowdTotals, queue::QueueSettings};

/// A request that waited so long for a connection shows that this machine was the bottleneck, in milliseconds.
pub(crate) const QUEUEING_MS_MAX: f64 = 500.0;

/// A report of a rehearsal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Report {
    /// The queue.
    pub(crate) queue: String,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
    /// Why the visitors left before they were done. `None` if all were done.
    pub(crate) stopped: Option<&'static str>,
    /// What the visitors counted.
    pub(crate) crowd: CrowdTotals,
    /// Order, pace and capacity.
    pub(crate) guarantees: GuaranteeFigures,
    /// Latencies and errors.
    pub(crate) operations: Vec<ActFigures>,
    /// Requests per visitor, without those of the protected service.
    pub(crate) requests_per_visitor: f64,
    /// Reads of the public document among them.
    pub(crate) document_reads_per_visitor: f64,
    /// The longest time that a request waited for a free connection of this program, in milliseconds.
    pub(crate) longest_queueing_ms: f64,
    /// The cost so far.
    pub(crate) cost: CostFigures,
    /// The figures beside those of the server.
    pub(crate) comparison: Comparison,
    /// What was wrong. Empty if all is well.
    pub(crate) findings: Vec<String>,
}

/// The figures beside those of the server, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Comparison {
    /// Both reports, row by row.
    Rows {
        /// The rows.
        rows: Vec<ComparisonRow>,
        /// The most entries in line at a tick, as the server counted.
        server_peak_waiting: u64,
    },
    /// The rehearsal gave no command of operators.
    NotAsked,
    /// The server's report could not be read.
    Failed(String),
}

/// What the visitors saw of the guarantees.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct GuaranteeFigures {
    /// Visitors with a turn after a wait.
    turns: u64,
    /// How many of them were promoted later than one behind them.
    overtaken: u64,
    /// Answers with a higher position than before.
    answered_rises: u64,
    /// Positions that rose before the visitor's eyes.
    shown_rises: u64,
    /// The most slots at once.
    slots_max: u64,
    /// How many there are. `None` if the settings are not known.
    capacity: Option<u64>,
    /// The pace. `None` if the settings are not known.
    pace: Option<PaceFigures>,
}

impl GuaranteeFigures {
    /// Computes the figures of these visits.
    pub(crate) fn of_visits(visits: &[VisitRecord], settings: Option<QueueSettings>) -> Self {
        let faults = Faults::of(visits);
        Self {
            turns: visits.iter().filter(|visit| visit.is_promoted).count() as u64,
            overtaken: faults.overtaken,
            answered_rises: faults.position_rises,
            shown_rises: faults.shown_rises,
            slots_max: most_slots_at_once(visits),
            capacity: settings.map(|settings| settings.capacity),
            pace: settings.map(|settings| PaceFigures::of_admissions(admissions_ms(visits), settings.pace())),
        }
    }

    fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        if self.overtaken > 0 {
            findings.push(format!(
                "order: {} visitors were promoted later than one behind them",
                self.overtaken
            ));
        }
        if self.shown_rises > 0 {
            findings.push(format!("order: a shown position rose {} times", self.shown_rises));
        }
        if let Some(capacity) = self.capacity.filter(|capacity| self.slots_max > *capacity) {
            findings.push(format!(
                "capacity: {} slots were taken at once, of {capacity}",
                self.slots_max
            ));
        }
        if self.pace.as_ref().is_some_and(|pace| !pace.is_kept()) {
            findings.push("pace: more visitors were let in within a window than the pace allows".to_owned());
        }
        findings
    }

    /// The lines of the report.
    pub(crate) fn describe(&self) -> Vec<String> {
        let unknown = || "not known without the queue's settings".to_owned();
        let capacity = self
            .capacity
            .map_or_else(unknown, |capacity| format!("of {capacity}"));
        let mut lines = vec![
            format!("order      {} turns, {} overtaken", self.turns, self.overtaken),
            format!(
                "positions  {} shown positions rose; the client hid {} answers with a higher one",
                self.shown_rises, self.answered_rises
            ),
            format!("capacity   {} slots at once at most, {capacity}", self.slots_max),
        ];
        match &self.pace {
            None => lines.push(format!("pace       {}", unknown())),
            Some(pace) => {
                let mean = pace.mean_per_second.unwrap_or_default();
                lines.push(format!(
                    "pace       {mean:.1} admissions a second, set to {:.1}",
                    pace.set_per_second
                ));
                lines.push(format!(
                    "           {:.1} s without an admission at most",
                    pace.longest_gap_seconds
                ));
                lines.extend(pace.windows.iter().map(|window| {
                    format!(
                        "           at most {} in {} s, where {} are allowed",
                        window.most, window.seconds, window.allowed
                    )
                }));
            }
        }
        lines
    }
}

/// Why a rehearsal stopped, for the report.
pub(crate) fn stop_text(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Interrupted => "interrupted: the visitors who were not done left",
        StopReason::OutOfTime => "the time of --seconds-max was over: the visitors who were not done left",
    }
}

/// What went wrong in this program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnFaults<'a> {
    /// Visits that it could not follow.
    pub(crate) visits: u64,
    /// The longest time that a request waited for a free connection, in milliseconds.
    pub(crate) longest_queueing_ms: f64,
    /// Why it could not sign a request of the protected service.
    pub(crate) unsigned: Option<&'a str>,
}

/// What is wrong, by all figures.
pub(crate) fn find_faults(
    crowd: &CrowdTotals,
    guarantees: &GuaranteeFigures,
    comparison: &Comparison,
    own: OwnFaults,
) -> Vec<String> {
    let mut findings = guarantees.findings();
    for (code, count) in &crowd.lost {
        findings.push(format!(
            "visits: {count} visitors did as told and lost their visits by {code}"
        ));
    }
    if crowd.unknown > 0 {
        findings.push(format!(
            "visits: the ends of {} visits were not answered",
            crowd.unknown
        ));
    }
    if own.visits > 0 {
        findings.push(format!("visits: this program failed in {} visits", own.visits));
    }
    if let Some(reason) = own.unsigned {
        findings.push(format!("service: {reason}"));
    }
    match comparison {
        Comparison::Rows { rows, .. } => {
            let different = rows.iter().filter(|row| !row.agrees());
            findings.extend(different.map(|row| {
                format!(
                    "report: {} is {} here and {} on the server, and no race explains that",
                    row.name, row.crowd, row.server
                )
            }));
        }
        Comparison::NotAsked => {}
        Comparison::Failed(reason) => findings.push(format!("report: {reason}")),
    }
    let longest_queueing_ms = own.longest_queueing_ms;
    if longest_queueing_ms > QUEUEING_MS_MAX && !findings.is_empty() {
        findings.push(format!(
            "this program was late itself: a request waited {longest_queueing_ms:.0} ms for a connection. Repeat with more \
             --connections, or on more machines, before you believe the others"
        ));
    }
    findings
}

/// Numbers per visitor.
#[allow(clippy::cast_precision_loss)] // Some million requests.
pub(crate) fn per_visitor(visits: &[VisitRecord], number: fn(&VisitRecord) -> u64) -> f64 {
    visits.iter().map(number).sum::<u64>() as f64 / (visits.len() as f64).max(1.0)
}

/// A duration in milliseconds.
pub(crate) fn in_ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
