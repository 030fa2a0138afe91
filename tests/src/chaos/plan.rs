//! What is going to happen in a run, drawn from a seed: the same seed, the same plan.
//!
//! The generator is named, so that a seed means the same on every machine. What real processes make of a plan differs from
//! run to run: they are scheduled as the machine pleases.

use std::fmt;

use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use serde_json::{Value, json};

/// Faults strike within this.
const FAULTS_MS: u64 = 9_000;
/// Visitors begin to come within this.
const ARRIVALS_MS: u64 = 8_000;
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
    /// Nothing: a no-show.
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
    /// Draws the plan of a seed.
    pub fn of(seed: u64) -> Self {
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed);
        let visitors = draw.random_range(50..=90);
        let mut plan = Self {
            seed,
            capacity: draw.random_range(12..=24),
            batch: draw.random_range(8..=16),
            session_seconds: draw.random_range(3..=4),
            promoters: draw.random_range(1..=2),
            visitors: (0..visitors).map(|_| visitor(&mut draw)).collect(),
            strikes: Vec::new(),
        };
        plan.visitors.sort_by_key(|visitor| visitor.arrives_ms);
        for of in [redis_fault, table_fault] {
            let mut at_ms = draw.random_range(500..4_000);
            while at_ms < FAULTS_MS {
                let (fault, takes_ms) = of(&mut draw);
                plan.strikes.push(Strike { at_ms, fault });
                at_ms += takes_ms + draw.random_range(1_000..5_000);
            }
        }
        for _ in 0..draw.random_range(3..=8) {
            plan.strikes.push(Strike {
                at_ms: draw.random_range(500..FAULTS_MS),
                fault: kill(&mut draw),
            });
        }
        plan.strikes.sort_by_key(|strike| strike.at_ms);
        plan
    }

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

fn visitor(draw: &mut impl Rng) -> Visitor {
    let rarely = |draw: &mut dyn Rng, percent: u32, ms: std::ops::Range<u64>| {
        let drawn = draw.random_range(ms);
        draw.random_ratio(percent, 100).then_some(drawn)
    };
    Visitor {
        arrives_ms: draw.random_range(0..ARRIVALS_MS),
        polls_every_ms: draw.random_range(250..900),
        wait_seconds: if draw.random_ratio(1, 4) { 2 } else { 0 },
        hangs_up_ms: rarely(draw, 25, 30..600),
        leaves_ms: rarely(draw, 15, 300..5_000),
        turn: turn(draw),
        again_ms: rarely(draw, 20, 100..1_500),
    }
}

fn turn(draw: &mut impl Rng) -> Turn {
    if draw.random_ratio(1, 50) {
        return Turn::Missed;
    }
    Turn::Taken {
        by: if draw.random_ratio(1, 3) {
            Door::Validate
        } else {
            Door::Claim
        },
        stay_ms: draw.random_range(50..1_000),
        end: match draw.random_range(0..10) {
            0 => End::Session,
            1..=3 => End::Leave,
            _ => End::Complete,
        },
    }
}

/// A fault of Redis, and how long it takes.
fn redis_fault(draw: &mut impl Rng) -> (Fault, u64) {
    let (for_ms, behind_ms) = (draw.random_range(200..2_500), draw.random_range(100..1_500));
    match draw.random_range(0..10) {
        0..=2 => (Fault::RedisKilled { down_ms: for_ms }, for_ms),
        3 => {
            let down_ms = for_ms;
            (Fault::RedisOld { behind_ms, down_ms }, behind_ms + down_ms)
        }
        4 | 5 => (Fault::RedisFailedOver { behind_ms }, behind_ms),
        6 => (Fault::RedisPaused { for_ms }, for_ms),
        7 => (Fault::RedisCut { for_ms }, for_ms),
        8 => (Fault::RedisStalled { for_ms }, for_ms),
        _ => {
            let late_ms = draw.random_range(5..80);
            (Fault::RedisSlow { for_ms, late_ms }, for_ms)
        }
    }
}

/// A fault of the table, and how long it takes.
fn table_fault(draw: &mut impl Rng) -> (Fault, u64) {
    let for_ms = draw.random_range(300..3_500);
    let fault = match draw.random_range(0..4) {
        0 => Fault::TableStalled { for_ms },
        1 => Fault::TableCut { for_ms },
        2 => {
            let percent = draw.random_range(20..=100);
            Fault::TableThrottled { for_ms, percent }
        }
        _ => {
            let late_ms = draw.random_range(20..400);
            Fault::TableSlow { for_ms, late_ms }
        }
    };
    (fault, for_ms)
}

fn kill(draw: &mut impl Rng) -> Fault {
    let function = ["enter", "enter", "promoter", "promoter", "validate", "status"][draw.random_range(0..6)];
    let written = draw.random();
    if function == "status" || draw.random() {
        Fault::Killed { function }
    } else {
        Fault::KilledAtWrite { function, written }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_plan() {
        assert_eq!(Plan::of(7), Plan::of(7));
        assert_ne!(Plan::of(7), Plan::of(8));
    }

    #[test]
    fn fifty_seeds_have_every_fault() {
        let strikes: Vec<_> = (1..=50).flat_map(|seed| Plan::of(seed).strikes).collect();
        for name in [
            "RedisKilled",
            "RedisOld",
            "RedisFailedOver",
            "RedisPaused",
            "RedisCut",
            "RedisStalled",
            "RedisSlow",
            "TableStalled",
            "TableCut",
            "TableThrottled",
            "TableSlow",
            "Killed {",
            "KilledAtWrite { function: \"enter\", written: true",
            "KilledAtWrite { function: \"enter\", written: false",
            "KilledAtWrite { function: \"promoter\"",
        ] {
            let is_it = |strike: &&Strike| format!("{:?}", strike.fault).starts_with(name);
            assert!(strikes.iter().filter(is_it).count() >= 3, "{name}");
        }
    }
}
