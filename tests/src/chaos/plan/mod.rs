//! What is going to happen in a run, drawn from a seed: the same seed, the same plan.
//! What real processes make of a plan differs from run to run: they are scheduled as the machine pleases.

mod draw;

use std::fmt;

use serde_json::{Value, json};

/// How long a visitor has to claim: the least there is.
pub const CLAIM_SECONDS: u64 = 10;

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Where it was drawn from.
    pub seed: u64,
    /// The most ready and active at once.
    pub capacity: u64,
    /// How many are promoted each second.
    pub batch: u64,
    /// How long a visitor who was let in may stay.
    pub session_seconds: u64,
    /// How many promoters tick at once.
    pub promoters: usize,
    /// Who comes, in the order of their arrivals.
    pub visitors: Vec<Visitor>,
    /// What goes wrong, in the order of its beginning.
    pub strikes: Vec<Strike>,
}

/// Somebody who comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// When, from the beginning of the run.
    pub arrives_ms: u64,
    /// Between two looks.
    pub polls_every_ms: u64,
    /// How long they offer to be held, in seconds.
    pub wait_seconds: u64,
    /// They hang up after so long, and ask again: an answer on its way then is lost.
    pub hangs_up_ms: Option<u64>,
    /// They leave the line so long after they came, where it is not their turn by then.
    pub leaves_ms: Option<u64>,
    /// What they do when it is their turn.
    pub turn: Turn,
    /// They come once more so long after they are done.
    pub again_ms: Option<u64>,
}

/// What a visitor does when it is their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Nothing: a no-show, who comes back as soon as the turn is over.
    Missed,
    /// They go in.
    Taken {
        /// By whom they are let in.
        by: Door,
        /// How long they stay.
        stay_ms: u64,
        /// How it ends.
        end: End,
    },
}

impl Turn {
    /// Of who missed the one before.
    pub const BACK: Self = Self::Taken {
        by: Door::Claim,
        stay_ms: 100,
        end: End::Complete,
    };
}

/// By whom a visitor is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// They claim it.
    Claim,
    /// The protected service validates them.
    Validate,
}

/// How a stay ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The protected service says that they are done.
    Complete,
    /// They leave.
    Leave,
    /// They forget to: the session ends.
    Session,
}

/// Something that goes wrong at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Strike {
    /// From the beginning of the run.
    pub at_ms: u64,
    /// What.
    pub fault: Fault,
}

/// What goes wrong. The table is stopped and cut at a proxy and keeps what it has: the emulator would lose it.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Redis is killed with -9 and comes back empty.
    RedisKilled {
        /// After so long.
        down_ms: u64,
    },
    /// Redis is killed with -9 and comes back with what it held a while before.
    RedisOld {
        /// How old that is.
        behind_ms: u64,
        /// After so long.
        down_ms: u64,
    },
    /// Redis is killed with -9, and a replica that has missed the last changes takes its place.
    RedisFailedOver {
        /// For how long the replica heard nothing.
        behind_ms: u64,
    },
    /// Redis stands still (SIGSTOP) and then goes on.
    RedisPaused {
        /// For so long.
        for_ms: u64,
    },
    /// Connections to Redis are reset.
    RedisCut {
        /// For so long.
        for_ms: u64,
    },
    /// Everything on its way to and from Redis stands still.
    RedisStalled {
        /// For so long.
        for_ms: u64,
    },
    /// Every packet to and from Redis is late.
    RedisSlow {
        /// For so long.
        for_ms: u64,
        /// By so much.
        late_ms: u64,
    },
    /// The table takes requests and does not answer.
    TableStalled {
        /// For so long.
        for_ms: u64,
    },
    /// Connections to the table are reset.
    TableCut {
        /// For so long.
        for_ms: u64,
    },
    /// The table throttles.
    TableThrottled {
        /// For so long.
        for_ms: u64,
        /// So many requests of a hundred.
        percent: u32,
    },
    /// The table is slow.
    TableSlow {
        /// For so long.
        for_ms: u64,
        /// Every packet by so much.
        late_ms: u64,
    },
    /// Every process of a function that is at work is killed with -9.
    Killed {
        /// Which.
        function: &'static str,
    },
    /// The next write of a function to the table has its processes killed with -9.
    KilledAtWrite {
        /// Which.
        function: &'static str,
        /// Whether the table has the write by then.
        written: bool,
    },
}

impl Fault {
    /// Whether Redis may have lost something by it that it had acknowledged.
    pub fn loses(&self) -> bool {
        matches!(
            self,
            Self::RedisKilled { .. } | Self::RedisOld { .. } | Self::RedisFailedOver { .. }
        )
    }

    /// For how long what Redis lost had been written before it went, where it came back with the rest.
    pub fn behind_ms(&self) -> Option<u64> {
        match self {
            Self::RedisOld { behind_ms, .. } | Self::RedisFailedOver { behind_ms } => Some(*behind_ms),
            _ => None,
        }
    }

    /// Whether it is about the table.
    pub fn is_of_table(&self) -> bool {
        matches!(
            self,
            Self::TableStalled { .. }
                | Self::TableCut { .. }
                | Self::TableThrottled { .. }
                | Self::TableSlow { .. }
        )
    }
}

impl Plan {
    /// The settings of its queue.
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
        for strike in &self.strikes {
            writeln!(f, "  at {:>5} ms  {:?}", strike.at_ms, strike.fault)?;
        }
        for (n, visitor) in self.visitors.iter().enumerate() {
            writeln!(f, "  visitor {n:>3}  {visitor:?}")?;
        }
        Ok(())
    }
}
