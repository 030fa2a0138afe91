//! A handle of a line under test.

use std::sync::Arc;

use vestibule_clock::Clock;
use vestibule_line::{JournalLimits, Line};
use vestibule_line_memory::MemoryLine;
use vestibule_line_redis::RedisLine;

use super::{Backend, ManualClock};

/// A line under test, of which several callers can have a handle with a clock of their own.
#[derive(Clone)]
pub(super) enum LineHandle {
    Memory(MemoryLine),
    Redis(RedisLine),
}

impl LineHandle {
    pub(super) async fn new(backend: Backend, clock: &ManualClock) -> Self {
        if backend == Backend::Memory {
            return Self::Memory(MemoryLine::with_clock(clock.as_server_clock()))
                .with_witness(clock.as_clock());
        }
        let line = backend.connect_to_server().await;
        Self::Redis(line.with_given_time(clock.as_server_clock())).with_witness(clock.as_clock())
    }

    pub(super) fn with_witness(self, witness: Clock) -> Self {
        match self {
            Self::Memory(line) => Self::Memory(line.with_witness(witness)),
            Self::Redis(line) => Self::Redis(line.with_witness(witness)),
        }
    }

    pub(super) fn with_journal_limits(self, limits: JournalLimits) -> Self {
        match self {
            Self::Memory(line) => Self::Memory(line.with_journal_limits(limits)),
            Self::Redis(line) => Self::Redis(line.with_journal_limits(limits)),
        }
    }

    pub(super) fn line(&self) -> Arc<dyn Line> {
        match self {
            Self::Memory(line) => Arc::new(line.clone()),
            Self::Redis(line) => Arc::new(line.clone()),
        }
    }
}
