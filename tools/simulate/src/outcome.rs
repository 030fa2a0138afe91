//! The result of a run.

use crate::{
    estimate_accuracy::EstimateAccuracy, population::Behavior, traffic::Traffic, turn_order::TurnOrderResult,
};

/// The result for one visitor.
#[derive(Debug, Clone, Copy, Default)]
pub struct VisitorOutcome {
    /// The number of status requests.
    pub polls: u32,
    /// All requests that the visitor sent, and also those that were refused. Reads of the public document are not among
    /// them.
    pub calls: u32,
    /// The number of reads of the public document.
    pub document_reads: u32,
    /// How long the polls of the visitor were held, in milliseconds.
    pub held_ms: u32,
    /// The wait for the turn, in milliseconds. `None` if the turn never came, or if the visitor became active
    /// at once.
    pub waited_ms: Option<u64>,
    /// The time from the turn until the visitor claimed it, in milliseconds. `None` if the visitor did not.
    pub claimed_after_ms: Option<u32>,
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
    /// Whether each visitor is a fake, which sends nothing after entering.
    pub is_fake: Vec<bool>,
    /// Turns that punctual visitors lost: they did not come when they were due, or they were over before the visitor
    /// could claim.
    pub lost_turns: u64,
    /// Places that ended before their visitors could claim, of punctual visitors.
    pub lost_places: u64,
    /// Visitors whose phones fell asleep in line and who missed their turns for good.
    pub overslept: u64,
    /// Turns that were not claimed in time.
    pub no_shows: u64,
    /// Visitors who left the line.
    pub left: u64,
    /// Entries that were promoted or fast-tracked.
    pub served: u64,
    /// Admissions above pace or capacity.
    pub overshoot: u64,
    /// Admissions of a visitor after a visitor who entered later. With presence, visitors who were passed over do not
    /// count.
    pub out_of_order: u64,
    /// The order of turns.
    pub turn_order: TurnOrderResult,
    /// The requests that reached the deployment. `None` if it has no ceilings.
    pub traffic: Option<Traffic>,
    /// Visitors who never had a turn, although they neither left nor vanished.
    pub unserved: u64,
    /// When the first and the last entry were admitted, in milliseconds of the simulation.
    pub served_from_ms: u64,
    /// See [`Outcome::served_from_ms`].
    pub served_until_ms: u64,
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
    /// The accuracy of those that visitors far from the head took from the public document.
    pub document_estimates: EstimateAccuracy,
    /// The state of the queue over time.
    pub samples: Vec<Sample>,
}

impl Outcome {
    /// The empty result of a run with these visitors.
    pub(crate) fn new(behaviors: impl ExactSizeIterator<Item = Behavior> + Clone) -> Self {
        let visitors = u32::try_from(behaviors.len()).unwrap_or(u32::MAX);
        Self {
            visitors: Vec::new(),
            is_punctual: behaviors
                .clone()
                .map(|behavior| behavior == Behavior::Punctual)
                .collect(),
            is_fake: behaviors.map(|behavior| behavior == Behavior::Fake).collect(),
            lost_turns: 0,
            lost_places: 0,
            overslept: 0,
            no_shows: 0,
            left: 0,
            served: 0,
            overshoot: 0,
            out_of_order: 0,
            turn_order: TurnOrderResult::default(),
            traffic: None,
            unserved: 0,
            served_from_ms: u64::MAX,
            served_until_ms: 0,
            settings_changes: 0,
            held_max: 0,
            retry_after_ms_max: 0,
            polls_per_second: Vec::new(),
            refused_visitors: 0,
            return_ms_max: 0,
            estimates: EstimateAccuracy::new(visitors),
            document_estimates: EstimateAccuracy::new(visitors),
            samples: Vec::new(),
        }
    }
}
