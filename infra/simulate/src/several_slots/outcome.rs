//! The result of one run.

/// What one run showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartsOutcome {
    /// Visitors who had a turn.
    pub turns: u64,
    /// Visitors of living parts who were overtaken, and by how much at most, in microseconds between the arrivals.
    pub overtaken: u64,
    /// See [`PartsOutcome::overtaken`].
    pub overtaken_us_max: u64,
    /// The same of visitors whose part was dead for a time.
    pub overtaken_of_dead: u64,
    /// See [`PartsOutcome::overtaken_of_dead`].
    pub overtaken_of_dead_us_max: u64,
    /// Visitors above the capacity, at most.
    pub over_capacity: u64,
    /// Turns of the busiest second.
    pub turns_per_second_max: u64,
    /// By how many a told position differed from the true one: the sum over all samples, and the most.
    pub position_error_sum: u64,
    /// See [`PartsOutcome::position_error_sum`].
    pub position_error_max: u64,
    /// Positions that were compared.
    pub positions: u64,
    /// The longest line.
    pub waiting_max: u64,
    /// The age of the oldest digest that the coordinator used, in milliseconds.
    pub digest_age_ms_max: u64,
    /// The mean share of the capacity that was taken while the line was long.
    pub taken_share: f64,
    /// When the line was empty, in milliseconds of the run.
    pub ended_at_ms: u64,
}
