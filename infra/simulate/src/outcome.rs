//! What came of a run.

use crate::told::Told;

/// How one visitor fared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fate {
    /// How often they asked how it stands.
    pub polls: u32,
    /// How long they were held, in milliseconds.
    pub held_ms: u32,
    /// How long they waited for their turn, in milliseconds; `None` where it never came, or at once.
    pub waited_ms: Option<u64>,
}

/// The course of things, each ten seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    /// Milliseconds of the simulation.
    pub at_ms: u64,
    /// In line.
    pub waiting: u64,
    /// Promoted and not yet claimed.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// Let through since the sample before.
    pub served: u64,
    /// Polls since the sample before.
    pub polls: u64,
    /// Held at this moment.
    pub held: u64,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// How everybody fared.
    pub fates: Vec<Fate>,
    /// Who keeps to what they are told.
    pub keepers: Vec<bool>,
    /// Turns lost by these.
    pub lost_turns: u64,
    /// Turns that nobody claimed.
    pub no_shows: u64,
    /// Who left the line.
    pub left: u64,
    /// Let in at once, or called.
    pub served: u64,
    /// Admissions above pace and capacity.
    pub overshoot: u64,
    /// The most polls that were held at once.
    pub held_max: u64,
    /// What people were told.
    pub told: Told,
    /// The course of things.
    pub samples: Vec<Sample>,
}
