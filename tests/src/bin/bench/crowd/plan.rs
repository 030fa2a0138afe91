//! What each client of a crowd does. The plans are the same in each run.

use std::{ops::Range, time::Duration};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vestibule_crowd::{
    crowd::PlannedVisit,
    door::Caller,
    temper::{Conduct, Temper},
};

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

/// The plan of a client.
pub(crate) fn draw_plan(kind: CrowdKind, number: u64, size: Size) -> PlannedVisit {
    let mut rng = StdRng::seed_from_u64(number);
    let early: f64 = rng.random();
    let in_ms = |time: Duration| size.time(time).as_secs_f64() * 1_000.0;
    let after_ms = in_ms(PATIENCE_MAX.mul_f64(rng.random()));
    let for_ms = in_ms(rng.random_range(SLEEP));
    let conduct = match (number % 100, kind) {
        (n, _) if n < VANISHERS => Conduct::Vanishes { after_ms },
        (n, CrowdKind::WithReturns) if n < VANISHERS + LEAVERS => Conduct::Leaves { after_ms },
        (n, CrowdKind::WithReturns) if n < VANISHERS + LEAVERS + SLEEPERS => {
            Conduct::SleepsWhenCalled { for_ms }
        }
        _ => Conduct::Honest,
    };
    PlannedVisit {
        // Three quarters of the clients arrive in the first half of the time.
        arrives_after: size.time(ARRIVAL_SPREAD.mul_f64(early * early)),
        caller: Caller::anonymous(),
        temper: Temper {
            conduct,
            // A sleeper who missed the turn enters again, once, and gets the old place.
            returns: 1,
            ..Temper::honest(in_ms(STAY_MEAN.mul_f64(2.0 * rng.random::<f64>())))
        },
        seed: number,
    }
}
