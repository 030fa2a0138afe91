//! What each client of a crowd does. The plans are the same in each run.

use std::{ops::Range, time::Duration};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::size::Size;

/// All clients arrive within this time, most of them at the start.
const ARRIVAL_SPREAD: Duration = Duration::from_secs(30);
/// The mean stay of an active visitor.
const STAY_MEAN: Duration = Duration::from_secs(5);
/// Within this time in line, clients give up.
const PATIENCE_MAX: Duration = Duration::from_mins(2);
/// How long a phone sleeps: from much less to much more than the time that it is called ahead of its turn.
const SLEEP: Range<Duration> = Duration::from_secs(20)..Duration::from_mins(3);
/// Of a hundred clients, this many stop polling without leaving, this many leave, and this many sleep and come back.
const VANISHERS: u64 = 10;
const LEAVERS: u64 = 5;
const SLEEPERS: u64 = 5;

/// Which visitors a crowd has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrowdKind {
    /// Some visitors vanish without a word, and the others follow the protocol. The line ahead of a visitor only shrinks
    /// at its head.
    WithoutReturns,
    /// In addition some leave the line, and some sleep through their call and come back to their places.
    WithReturns,
}

/// What a client does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VisitPlan {
    pub(crate) arrives_after: Duration,
    pub(crate) conduct: Conduct,
    pub(crate) stays: Duration,
}

/// Whether a client follows the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conduct {
    FollowsProtocol,
    /// The client stops polling after this time in line, without leaving.
    Vanishes(Duration),
    /// The visitor leaves after this time in line.
    Leaves(Duration),
    /// When it is called, the client sends nothing for this time.
    Sleeps(Duration),
}

/// The plan of a client.
pub(crate) fn draw_plan(kind: CrowdKind, number: u64, size: Size) -> VisitPlan {
    let mut rng = StdRng::seed_from_u64(number);
    let early: f64 = rng.random();
    let gives_up_after = size.time(PATIENCE_MAX.mul_f64(rng.random()));
    let sleeps_for = size.time(rng.random_range(SLEEP));
    let conduct = match (number % 100, kind) {
        (n, _) if n < VANISHERS => Conduct::Vanishes(gives_up_after),
        (n, CrowdKind::WithReturns) if n < VANISHERS + LEAVERS => Conduct::Leaves(gives_up_after),
        (n, CrowdKind::WithReturns) if n < VANISHERS + LEAVERS + SLEEPERS => Conduct::Sleeps(sleeps_for),
        _ => Conduct::FollowsProtocol,
    };
    VisitPlan {
        // Three quarters of the clients arrive in the first half of the time.
        arrives_after: size.time(ARRIVAL_SPREAD.mul_f64(early * early)),
        conduct,
        stays: size.time(STAY_MEAN.mul_f64(2.0 * rng.random::<f64>())),
    }
}
