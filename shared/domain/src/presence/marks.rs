//! Marks: which place a moving boundary had, and since when.

use std::{collections::VecDeque, fmt};

/// The places that a boundary had, with the presence times from which it had them, in milliseconds.
/// The oldest comes first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marks(VecDeque<(u64, u64)>);

impl Marks {
    /// Adds a mark if the place has changed, at most one per `every_ms`. Forgets marks that were
    /// replaced more than `kept_ms` ago.
    pub fn add(&mut self, clock_ms: u64, place: u64, every_ms: u64, kept_ms: u64) {
        let is_new = self
            .0
            .back()
            .is_none_or(|&(at_ms, last)| last != place && clock_ms >= at_ms + every_ms);
        if is_new {
            self.0.push_back((clock_ms, place));
        }
        while self
            .0
            .get(1)
            .is_some_and(|&(at_ms, _)| at_ms + kept_ms <= clock_ms)
        {
            self.0.pop_front();
        }
    }

    /// The lowest place that the boundary had since `since_ms`; `None` if the marks are younger.
    pub fn lowest_since(&self, since_ms: u64) -> Option<u64> {
        self.place_at(since_ms)?;
        let last_before = self.0.iter().rposition(|&(at_ms, _)| at_ms <= since_ms)?;
        self.0.range(last_before..).map(|&(_, place)| place).min()
    }

    /// The time of the oldest mark; `None` if there is none.
    pub fn first_ms(&self) -> Option<u64> {
        self.0.front().map(|&(at_ms, _)| at_ms)
    }

    /// The place that the boundary had at this time; `None` if the marks are younger.
    pub fn place_at(&self, at_ms: u64) -> Option<u64> {
        let before = self.0.iter().rev().find(|&&(since_ms, _)| since_ms <= at_ms);
        before.map(|&(_, place)| place)
    }
}

/// `ms place ms place …`, as Redis stores it.
impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (at_ms, place)) in self.0.iter().enumerate() {
            let space = if number > 0 { " " } else { "" };
            write!(f, "{space}{at_ms} {place}")?;
        }
        Ok(())
    }
}
