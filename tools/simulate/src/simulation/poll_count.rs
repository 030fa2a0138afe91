//! Counts polls as they arrive.

use super::state::Simulation;

impl Simulation {
    /// Counts a poll that has just arrived.
    pub(super) fn count_poll(&mut self, visitor: u32) {
        self.visitors[visitor as usize].outcome.polls += 1;
        self.sample.polls += 1;
        let second = usize::try_from(self.now_ms / 1_000).unwrap_or(usize::MAX);
        let polls = &mut self.outcome.polls_per_second;
        if polls.len() <= second {
            polls.resize(second + 1, 0);
        }
        polls[second] += 1;
    }
}
