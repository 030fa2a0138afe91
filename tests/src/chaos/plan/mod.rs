//! The plan of a run, drawn from a seed. The same seed gives the same plan. What the processes make of a plan
//! differs from run to run, because the machine schedules them.

mod draw;

use std::fmt;

use serde_json::{Value, json};
use vestibule_crowd::temper::Temper;

/// The time to claim, in seconds: the shortest that a queue may have.
pub const CLAIM_SECONDS: u64 = 10;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The seed of the draws.
    pub seed: u64,
    /// The capacity of the queue.
    pub capacity: u64,
    /// The number of entries that are promoted each second.
    pub batch: u64,
    /// The length of a session, in seconds.
    pub session_seconds: u64,
    /// The number of promoters that tick at the same time.
    pub promoters: usize,
    /// The visitors, by their arrival.
    pub visitors: Vec<Visitor>,
    /// The faults, by their start.
    pub faults: Vec<ScheduledFault>,
}

/// A visitor.
#[derive(Debug, Clone, PartialEq)]
pub struct Visitor {
    /// The arrival after the start of the run, in milliseconds.
    pub arrives_ms: u64,
    /// The visitor closes the connection after this time, in milliseconds, with every other request. An answer on its way is
    /// lost.
    pub closes_after_ms: Option<u64>,
    /// How the visitor behaves.
    pub client: ClientKind,
    /// The seed of the visitor's random numbers.
    pub seed: u64,
}

/// How a visitor behaves.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientKind {
    /// Follows the rules of the client, and visits the queue again as long as it ends its visits itself.
    Follows(Vec<PlannedVisit>),
    /// Sends random requests.
    Rude {
        /// How often it sends some.
        rounds: u32,
    },
}

/// A visit by the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedVisit {
    /// The time since the visit before, in milliseconds.
    pub after_ms: u64,
    /// How the visitor behaves.
    pub temper: Temper,
}

impl Visitor {
    /// The temper of the first visit. `None` of a rude visitor.
    pub fn temper(&self) -> Option<&Temper> {
        match &self.client {
            ClientKind::Follows(visits) => visits.first().map(|visit| &visit.temper),
            ClientKind::Rude { .. } => None,
        }
    }
}

/// A fault at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledFault {
    /// The time after the start of the run, in milliseconds.
    pub at_ms: u64,
    /// The fault.
    pub fault: Fault,
}

/// A fault. The table is stalled and cut at a proxy and keeps its data. The emulator would lose it.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Redis is killed with -9 and restarts without data.
    RedisKilled {
        /// The time until the restart, in milliseconds.
        down_ms: u64,
    },
    /// Redis is killed with -9 and restarts with stale data.
    RedisStale {
        /// The age of the data, in milliseconds.
        stale_ms: u64,
        /// The time until the restart, in milliseconds.
        down_ms: u64,
    },
    /// Redis is killed with -9, and a replica without the last changes is promoted.
    RedisFailedOver {
        /// How long the replica received no changes, in milliseconds.
        stale_ms: u64,
    },
    /// Redis is stopped (SIGSTOP) and continues later.
    RedisPaused {
        /// The duration, in milliseconds.
        duration_ms: u64,
    },
    /// Connections to Redis are reset.
    RedisCut {
        /// The duration, in milliseconds.
        duration_ms: u64,
    },
    /// No data passes to or from Redis.
    RedisStalled {
        /// The duration, in milliseconds.
        duration_ms: u64,
    },
    /// All data to and from Redis is late.
    RedisSlow {
        /// The duration, in milliseconds.
        duration_ms: u64,
        /// The delay, in milliseconds.
        delay_ms: u64,
    },
    /// The table accepts requests and does not answer.
    TableStalled {
        /// The duration, in milliseconds.
        duration_ms: u64,
    },
    /// Connections to the table are reset.
    TableCut {
        /// The duration, in milliseconds.
        duration_ms: u64,
    },
    /// The table throttles requests.
    TableThrottled {
        /// The duration, in milliseconds.
        duration_ms: u64,
        /// The percentage of requests that are throttled.
        percent: u32,
    },
    /// The table answers requests with status 500.
    TableFailing {
        /// The duration, in milliseconds.
        duration_ms: u64,
        /// The percentage of requests that fail.
        percent: u32,
    },
    /// All data to and from the table is late.
    TableSlow {
        /// The duration, in milliseconds.
        duration_ms: u64,
        /// The delay, in milliseconds.
        delay_ms: u64,
    },
    /// All running processes of a function are killed with -9.
    FunctionKilled {
        /// The function.
        function: &'static str,
    },
    /// All running processes of a function are stopped (SIGSTOP) and continue later with what they knew.
    FunctionFrozen {
        /// The function.
        function: &'static str,
        /// The duration, in milliseconds.
        duration_ms: u64,
    },
    /// All processes of a function are killed with -9 at the next write to the table.
    FunctionKilledAtWrite {
        /// The function.
        function: &'static str,
        /// Whether the write has reached the table by then.
        written: bool,
    },
}

impl Fault {
    /// Whether the fault may lose changes that Redis has acknowledged.
    pub fn may_lose_changes(&self) -> bool {
        matches!(
            self,
            Self::RedisKilled { .. } | Self::RedisStale { .. } | Self::RedisFailedOver { .. }
        )
    }

    /// The age of the data with which Redis comes back, in milliseconds. `None` for other faults.
    pub fn stale_ms(&self) -> Option<u64> {
        match self {
            Self::RedisStale { stale_ms, .. } | Self::RedisFailedOver { stale_ms } => Some(*stale_ms),
            _ => None,
        }
    }

    /// Whether the fault affects the table.
    pub fn affects_table(&self) -> bool {
        matches!(
            self,
            Self::TableStalled { .. }
                | Self::TableCut { .. }
                | Self::TableThrottled { .. }
                | Self::TableFailing { .. }
                | Self::TableSlow { .. }
        )
    }
}

impl Plan {
    /// The settings of the queue.
    pub fn settings(&self) -> Value {
        json!({
            "capacity": self.capacity,
            "batch": self.batch,
            "interval_seconds": 1,
            "claim_seconds": CLAIM_SECONDS,
            "session_seconds": self.session_seconds,
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}: capacity {}, batch {} each second, claim {CLAIM_SECONDS} s, session {} s, promoters {}",
            self.seed, self.capacity, self.batch, self.session_seconds, self.promoters
        )?;
        for fault in &self.faults {
            writeln!(f, "  at {:>5} ms  {:?}", fault.at_ms, fault.fault)?;
        }
        for (n, visitor) in self.visitors.iter().enumerate() {
            writeln!(f, "  visitor {n:>3}  {visitor:?}")?;
        }
        Ok(())
    }
}
