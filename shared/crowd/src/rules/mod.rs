//! The rules of the shipped client for one visitor: `web/client/src/follower.ts` and its modules, in Rust. The cases in
//! `web/client/tests/cases.json`, which both run, hold the two together: where they differ, the client is right.
//!
//! [`Follower`] decides which request comes next and when. It sends nothing. Left out is what a program has not: other tabs, texts,
//! and the attention of a person. Its visitor attends to a page that it sees, so a turn is claimed at once, and a hidden page
//! claims none.

mod bounds;
mod document;
mod document_reader;
mod entry;
mod follower;
mod refusal;
mod request;
mod resync;
mod screen;
mod shown_position;
#[cfg(test)]
mod tests;

use rand::{RngExt, SeedableRng, rngs::SmallRng};

use self::bounds::PAUSE_MS_MAX;
pub use self::{
    follower::{Follower, FollowerOptions},
    refusal::Refusal,
    request::{NextRequest, RequestKind},
    screen::{Connection, Phase, Screen},
    shown_position::LowestPosition,
};

/// The first bound of the random part of the backoff, in milliseconds. It doubles with each failure.
const BACKOFF_MS: f64 = 1_000.0;

/// Where a follower's random numbers come from.
#[derive(Debug, Clone)]
pub enum Chance {
    /// Each is drawn.
    Drawn(SmallRng),
    /// Each is this one, from 0 to 1.
    Fixed(f64),
}

impl Chance {
    /// Draws that a seed repeats.
    pub fn of_seed(seed: u64) -> Self {
        Self::Drawn(SmallRng::seed_from_u64(seed))
    }

    /// A number from 0 to 1.
    pub fn draw(&mut self) -> f64 {
        match self {
            Self::Drawn(rng) => rng.random(),
            Self::Fixed(number) => *number,
        }
    }
}

/// Milliseconds until the retry after a failure that `failures` others preceded: `Retry-After`, plus a random time under a
/// doubling bound. Both are at most [`PAUSE_MS_MAX`], whatever a proxy answers.
fn backoff_ms(retry_after_ms: f64, failures: u32, bound_ms: f64, chance: &mut Chance) -> f64 {
    let doubled_ms = BACKOFF_MS * f64::from(failures.min(30)).exp2();
    retry_after_ms.min(PAUSE_MS_MAX - bound_ms) + chance.draw() * bound_ms.min(doubled_ms)
}
