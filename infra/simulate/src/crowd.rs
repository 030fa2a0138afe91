//! The visitors of one scenario.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vestibule_domain::id::EntryId;

use crate::scenario::{Arrivals, Scenario, Service};

/// How a visitor behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Keeps to what the server says, however long it takes.
    Keeps,
    /// Polls too often.
    Impatient,
    /// Leaves at this moment of the simulation, in milliseconds, if still in line.
    Leaves(u64),
    /// Is not there any more from this moment on, and says nothing.
    Vanishes(u64),
}

/// One visitor.
#[derive(Debug, Clone, Copy)]
pub struct Visitor {
    /// When they come, in milliseconds of the simulation.
    pub comes_at_ms: u64,
    /// How long they stay once they are let in; `None` for as long as the session.
    pub stays_ms: Option<u64>,
    /// How they behave.
    pub manner: Manner,
}

/// All of them, by the order in which they come.
#[derive(Debug)]
pub struct Crowd {
    /// The visitors.
    pub visitors: Vec<Visitor>,
    /// Their entries.
    pub ids: Vec<EntryId>,
    /// Whose entry is whose.
    pub numbers: HashMap<EntryId, u32>,
}

/// Somebody loses patience, or closes the page, within so many seconds.
const PATIENCE_SECONDS: f64 = 1_800.0;

impl Crowd {
    /// Draws it: the same one for the same scenario.
    ///
    /// # Panics
    /// Never: what is made is a UUID of version 8.
    pub fn of(scenario: &Scenario) -> Self {
        let mut rng = StdRng::seed_from_u64(scenario.seed);
        let mut visitors: Vec<_> = (0..scenario.visitors).map(|_| draw(&mut rng, scenario)).collect();
        visitors.sort_by_key(|visitor| visitor.comes_at_ms);
        let ids: Vec<EntryId> = (0..scenario.visitors).map(entry_id).collect();
        let numbers = ids.iter().copied().zip(0..).collect();
        Self {
            visitors,
            ids,
            numbers,
        }
    }
}

fn entry_id(number: u32) -> EntryId {
    // Spread over all ids, as those are that are derived from visitors.
    let mixed = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let text = format!(
        "{:08x}-{:04x}-8{:03x}-8000-{number:012x}",
        mixed >> 32,
        (mixed >> 16) & 0xffff,
        mixed & 0xfff
    );
    text.parse().expect("a UUID of version 8")
}

fn draw(rng: &mut StdRng, scenario: &Scenario) -> Visitor {
    let comes_at_ms = ms(comes_at_seconds(rng, scenario.arrivals));
    let manners = scenario.manners;
    let kind = rng.random::<f64>();
    let end_ms = comes_at_ms + ms(rng.random::<f64>() * PATIENCE_SECONDS);
    let manner = if kind < manners.silent {
        Manner::Vanishes(end_ms)
    } else if kind < manners.silent + manners.leavers {
        Manner::Leaves(end_ms)
    } else if kind < manners.silent + manners.leavers + manners.impatient {
        Manner::Impatient
    } else {
        Manner::Keeps
    };
    let stays = match scenario.service {
        Service::LogNormal { mean, sigma } => Some(mean * (sigma * normal(rng) - sigma * sigma / 2.0).exp()),
        Service::Exponential { mean } => Some(mean * exponential(rng)),
        Service::WholeSession => None,
    };
    Visitor {
        comes_at_ms,
        stays_ms: stays.map(ms),
        manner,
    }
}

fn comes_at_seconds(rng: &mut StdRng, arrivals: Arrivals) -> f64 {
    match arrivals {
        Arrivals::Flash { mean } => loop {
            let at = mean * exponential(rng);
            if at < 5.0 * mean {
                break at;
            }
        },
        Arrivals::Steady { over } => over * rng.random::<f64>(),
        // Drawn by rejection: twice the mean rate at the crest, a tenth of it in the trough.
        Arrivals::Wave { over, waves } => loop {
            let at = rng.random::<f64>();
            let rate = 0.55 - 0.45 * (at * waves * std::f64::consts::TAU).cos();
            if rng.random::<f64>() < rate {
                break at * over;
            }
        },
    }
}

fn exponential(rng: &mut StdRng) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// By Box and Muller.
fn normal(rng: &mut StdRng) -> f64 {
    (2.0 * exponential(rng)).sqrt() * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn ms(seconds: f64) -> u64 {
    (seconds * 1_000.0) as u64
}
