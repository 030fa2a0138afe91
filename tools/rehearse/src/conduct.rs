//! What each visitor of a rehearsal does.

use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde::Serialize;

use crate::arrivals::Curve;

/// A visitor who loses patience does so after at least this share of the longest patience.
const PATIENCE_SHARE_MIN: f64 = 0.2;

/// How a visitor behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Conduct {
    /// Waits as told, claims the turn, stays, and is completed.
    Honest,
    /// Leaves the line after a while, unless the turn comes before.
    Leaver,
    /// Waits as told, and does not claim the turn.
    NoShow,
    /// Enters, and sends nothing more.
    Fake,
}

impl Conduct {
    /// The name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Honest => "honest",
            Self::Leaver => "leavers",
            Self::NoShow => "no-shows",
            Self::Fake => "fakes",
        }
    }

    /// Whether the visitor polls as told until the turn, or until it leaves.
    pub(crate) fn is_honest_in_line(self) -> bool {
        self != Self::Fake
    }
}

/// The plan of one visitor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct VisitPlan {
    /// When the visitor arrives, from the start of the rehearsal.
    pub(crate) arrives_after: Duration,
    /// How the visitor behaves.
    pub(crate) conduct: Conduct,
    /// How long a leaver stays in line.
    pub(crate) patience: Duration,
    /// How long an active visitor stays.
    pub(crate) stay: Duration,
}

/// The crowd of a rehearsal. Shares are in percent of all visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CrowdPlan {
    /// How many visitors come.
    pub(crate) visitors: u32,
    /// The time in which they come.
    pub(crate) arrival: Duration,
    /// How they are spread over it.
    pub(crate) curve: Curve,
    /// The share of visitors who leave the line.
    pub(crate) leavers: u8,
    /// The share of visitors who do not claim.
    pub(crate) no_shows: u8,
    /// The share of visitors who never poll.
    pub(crate) fakes: u8,
    /// The longest time that a leaver stays in line.
    pub(crate) patience: Duration,
    /// The mean stay of an active visitor. Stays are between half of it and one and a half.
    pub(crate) session: Duration,
    /// Makes the same crowd again.
    pub(crate) seed: u64,
}

impl CrowdPlan {
    /// The plans of all visitors, in the order of their arrivals.
    pub(crate) fn visits(self) -> impl Iterator<Item = VisitPlan> {
        let mut rng = StdRng::seed_from_u64(self.seed);
        (0..self.visitors).map(move |number| VisitPlan {
            arrives_after: self.curve.arrives_after(number, self.visitors, self.arrival),
            conduct: self.conduct_at(rng.random_range(0..100)),
            patience: self.patience.mul_f64(rng.random_range(PATIENCE_SHARE_MIN..1.0)),
            stay: self.session.mul_f64(rng.random_range(0.5..1.5)),
        })
    }

    /// The conduct of the visitor at this percentage of the crowd.
    fn conduct_at(self, percent: u8) -> Conduct {
        let (leavers, no_shows) = (self.leavers, self.leavers + self.no_shows);
        match percent {
            percent if percent < leavers => Conduct::Leaver,
            percent if percent < no_shows => Conduct::NoShow,
            percent if percent < no_shows + self.fakes => Conduct::Fake,
            _ => Conduct::Honest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64) -> CrowdPlan {
        CrowdPlan {
            visitors: 10_000,
            arrival: Duration::from_mins(1),
            curve: Curve::Flat,
            leavers: 10,
            no_shows: 5,
            fakes: 20,
            patience: Duration::from_secs(30),
            session: Duration::from_secs(10),
            seed,
        }
    }

    #[test]
    fn shares_of_the_crowd_are_as_asked() {
        let visits: Vec<_> = plan(1).visits().collect();
        let count = |conduct| visits.iter().filter(|visit| visit.conduct == conduct).count();
        assert!((900..1_100).contains(&count(Conduct::Leaver)));
        assert!((400..600).contains(&count(Conduct::NoShow)));
        assert!((1_850..2_150).contains(&count(Conduct::Fake)));
        let stays = visits.iter().map(|visit| visit.stay.as_secs_f64()).sum::<f64>() / 10_000.0;
        assert!((9.8..10.2).contains(&stays), "{stays}");
    }

    #[test]
    fn a_seed_makes_the_same_crowd_again() {
        let crowd = |seed| plan(seed).visits().collect::<Vec<_>>();
        assert_eq!(crowd(7), crowd(7));
        assert_ne!(crowd(7), crowd(8));
    }
}
