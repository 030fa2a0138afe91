//! The processes that share the requests of visitors.

/// The number of processes that share the requests.
pub(super) const PROCESSES: usize = 8;

/// A process that serves requests.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) held_polls: u64,
    /// When it last offered to run a fallback tick.
    pub(super) offered_at_ms: Option<u64>,
    /// When it offers again on behalf of its held polls: `u64::MAX` while it holds none.
    pub(super) offers_at_ms: u64,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            held_polls: 0,
            offered_at_ms: None,
            offers_at_ms: u64::MAX,
        }
    }
}

impl Process {
    /// Adds a held poll.
    pub(super) fn add_held_poll(&mut self) {
        self.held_polls += 1;
    }

    /// Removes a held poll.
    pub(super) fn remove_held_poll(&mut self) {
        self.held_polls -= 1;
        if self.held_polls == 0 {
            self.offers_at_ms = u64::MAX;
        }
    }
}

/// The index of the process that serves the requests of a visitor.
pub(super) fn process_of(visitor: u32) -> usize {
    visitor as usize % PROCESSES
}
