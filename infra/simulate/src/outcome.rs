//! The result of a run.

use crate::estimate_accuracy::EstimateAccuracy;

/// The result for one visitor.
#[derive(Debug, Clone, Copy, Default)]
pub struct VisitorOutcome {
    /// The number of status requests.
    pub polls: u32,
    /// How long the polls of the visitor were held, in milliseconds.
    pub held_ms: u32,
    /// The wait for the turn, in milliseconds. `None` if the turn never came, or if the visitor became active
    /// at once.
    pub waited_ms: Option<u64>,
}

/// The state of the queue at one time, every ten seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    /// Milliseconds of the simulation.
    pub at_ms: u64,
    /// Waiting entries.
    pub waiting: u64,
    /// Ready entries.
    pub ready: u64,
    /// Active entries.
    pub active: u64,
    /// Entries that were promoted or fast-tracked since the previous sample.
    pub served: u64,
    /// Polls since the previous sample.
    pub polls: u64,
    /// Polls that are held at this time.
    pub held: u64,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The result for each visitor.
    pub visitors: Vec<VisitorOutcome>,
    /// Whether each visitor is punctual.
    pub is_punctual: Vec<bool>,
    /// Turns that punctual visitors lost.
    pub lost_turns: u64,
    /// Turns that were not claimed in time.
    pub no_shows: u64,
    /// Visitors who left the line.
    pub left: u64,
    /// Entries that were promoted or fast-tracked.
    pub served: u64,
    /// Admissions above pace or capacity.
    pub overshoot: u64,
    /// Admissions of a visitor after a visitor who entered later.
    pub out_of_order: u64,
    /// Changes of the settings by the operator.
    pub settings_changes: u64,
    /// The most polls that were held at the same time.
    pub held_max: u64,
    /// The longest time that a waiting visitor was told to wait before the next poll, in milliseconds.
    pub retry_after_ms_max: u64,
    /// The polls in each second, of clients that follow `retry_after_ms`.
    pub polls_per_second: Vec<u32>,
    /// Visitors whose requests were refused in the outage and who were served again.
    pub refused_visitors: u64,
    /// The longest time from the end of the outage until such a visitor was served, in milliseconds.
    pub return_ms_max: u64,
    /// The accuracy of the wait estimates.
    pub estimates: EstimateAccuracy,
    /// The state of the queue over time.
    pub samples: Vec<Sample>,
}
