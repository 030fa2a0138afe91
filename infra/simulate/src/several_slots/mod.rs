//! A line over several hash slots: the design of `docs/several-slots.md`, which no deployment has. Each part of the line is a
//! real line in memory with a clock of its own. Parts send digests to one coordinator, which merges them and sends grants back.
//! Messages are late. The clock is virtual.
//!
//! - [`part`]: a part of the line: real entering, promotion, claim and end, within what the coordinator granted
//! - [`coordinator`]: the boundary up to which entries are promoted, and how many by each part
//! - [`run`]: one run, in steps of 50 ms; [`outcome`]: its result
//! - [`order_check`]: who was overtaken, and by how much
//! - [`figures`]: what the runs show

pub mod coordinator;
pub mod figures;
pub mod order_check;
pub mod outcome;
pub mod part;
pub mod run;

use std::ops::Range;

/// What is simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct PartsScenario {
    /// The number of parts.
    pub parts: u32,
    /// How many visitors come, within [`ARRIVAL_MS`].
    pub visitors: u32,
    /// The seed of everything random.
    pub seed: u64,
    /// Each part's clock differs from the true time by at most this, in milliseconds.
    pub skew_ms: u64,
    /// A message takes at most this long, in milliseconds.
    pub delay_ms_max: u64,
    /// The share of the messages that are lost, in percent.
    pub lost_percent: u32,
    /// When the last part answers nothing, in milliseconds of the run. It keeps its entries.
    pub dead_ms: Option<Range<u64>>,
}

/// The time in which the visitors come, in milliseconds.
pub const ARRIVAL_MS: u64 = 500_000;
/// A part of which nothing was heard for this long counts as dead, in milliseconds.
pub const DEAD_AFTER_MS: u64 = 5_000;
/// Parts send digests, and the coordinator sends grants, at this interval, in milliseconds.
pub const TICK_MS: u64 = 1_000;
/// The mean length of a session, in milliseconds.
pub const SESSION_MS_MEAN: u64 = 60_000;
/// One visitor in so many leaves while waiting.
pub const LEAVES_ONE_IN: u32 = 20;

impl PartsScenario {
    /// Visitors whom the pace lets in per tick: half of those who arrive.
    pub fn batch(&self) -> u64 {
        (u64::from(self.visitors) * TICK_MS / ARRIVAL_MS / 2).max(1)
    }

    /// Visitors inside at once. A little less than the pace would fill, so that both count.
    pub fn capacity(&self) -> u64 {
        self.batch() * SESSION_MS_MEAN / TICK_MS * 9 / 10
    }

    /// The parts that are simulated one beside the other: 1 to 16, with late messages; with lost ones; and with a dead part.
    pub fn all(visitors: u32, seed: u64) -> Vec<Self> {
        let scenario = |parts| Self {
            parts,
            visitors,
            seed,
            skew_ms: 50,
            delay_ms_max: 200,
            lost_percent: 0,
            dead_ms: None,
        };
        let usual = [1, 2, 4, 8, 16].map(scenario);
        let lossy = Self {
            lost_percent: 10,
            ..scenario(8)
        };
        let dead = [2, 4, 8, 16].map(|parts| Self {
            dead_ms: Some(300_000..360_000),
            ..scenario(parts)
        });
        usual.into_iter().chain([lossy]).chain(dead).collect()
    }
}
