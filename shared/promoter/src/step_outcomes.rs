//! How the promoter's steps for one queue went.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::Instant;
use vestibule_domain::queue_event::QueueHealth;
use vestibule_engine::{check::CheckError, flush::FlushError, tally::StoreTallyError};
use vestibule_line::LineError;

/// A step that has failed for this long is a trouble that an event tells of.
pub(super) const TROUBLE_AFTER: Duration = Duration::from_secs(30);
/// A queue without a failed step is sound after ticks over this time.
const SOUND_AFTER: Duration = Duration::from_secs(3);

/// Why a step for a queue failed.
#[derive(Debug)]
pub(super) enum StepError {
    /// The line lacks the queue, because it was deleted or because the line lost it. The sync finds out which.
    QueueMissing,
    Failed(String),
}

impl From<LineError> for StepError {
    fn from(error: LineError) -> Self {
        match error {
            LineError::QueueNotFound => Self::QueueMissing,
            error => Self::Failed(error.to_string()),
        }
    }
}

macro_rules! step_error_from {
    ($($error:ident)*) => {
        $(impl From<$error> for StepError {
            fn from(error: $error) -> Self {
                match error {
                    $error::Line(error) => error.into(),
                    error => Self::Failed(error.to_string()),
                }
            }
        })*
    };
}

step_error_from! { CheckError FlushError StoreTallyError }

/// How the steps for one queue went in this run.
#[derive(Debug, Default)]
pub(super) struct StepOutcomes {
    /// The current problem of each step, so that the log reports it once instead of every second.
    problems: BTreeMap<&'static str, StepProblem>,
    /// Whether the last tick of this run succeeded. It proves that the line is as recent as the fence.
    pub(super) has_ticked: bool,
    /// Since when ticks succeed and no step has a problem.
    sound_since: Option<Instant>,
}

#[derive(Debug)]
struct StepProblem {
    text: String,
    since: Instant,
}

impl StepOutcomes {
    /// Forgets how long the problems have lasted, because the function may have been frozen.
    pub(super) fn begin_run(&mut self) {
        let now = Instant::now();
        (self.has_ticked, self.sound_since) = (false, None);
        for problem in self.problems.values_mut() {
            problem.since = now;
        }
    }

    /// Returns whether the step had a problem.
    pub(super) fn record_success(&mut self, step: &'static str) -> bool {
        let is_solved = self.problems.remove(step).is_some();
        if step == "tick" {
            self.has_ticked = true;
            if self.problems.is_empty() {
                self.sound_since.get_or_insert_with(Instant::now);
            }
        }
        is_solved
    }

    /// The tick did not happen, and why is not known yet.
    pub(super) fn record_missing_queue(&mut self, step: &'static str) {
        self.sound_since = None;
        self.has_ticked &= step != "tick";
    }

    /// Returns whether the problem is new or has changed.
    pub(super) fn record_problem(&mut self, step: &'static str, text: String) -> bool {
        self.record_missing_queue(step);
        let since = Instant::now();
        let problem = self.problems.entry(step).or_insert_with(|| StepProblem {
            text: String::new(),
            since,
        });
        let is_new = problem.text != text;
        problem.text = text;
        is_new
    }

    /// How the steps go. Once one problem has lasted, all are troubles, so that an outage in which one step fails after the
    /// other is told once. A parked queue has no further ticks to wait for, so one of them shows that it is sound.
    pub(super) fn health(&self, is_parked: bool) -> QueueHealth {
        let mut problems = self.problems.values();
        if problems.any(|problem| problem.since.elapsed() >= TROUBLE_AFTER) {
            let troubles: BTreeSet<_> = self.problems.keys().map(|step| (*step).to_owned()).collect();
            return QueueHealth::Troubled(troubles);
        }
        let has_ticked_since = |since: Instant| is_parked || since.elapsed() >= SOUND_AFTER;
        if self.sound_since.is_some_and(has_ticked_since) {
            QueueHealth::Sound
        } else {
            QueueHealth::Unknown
        }
    }
}
