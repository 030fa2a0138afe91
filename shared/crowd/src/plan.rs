//! What each visitor of a crowd does, drawn from a seed.

use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    arrivals::Curve,
    crowd::PlannedVisit,
    door::Caller,
    temper::{Conduct, Stay, Temper},
};

/// A visitor who loses patience does so after at least this share of the longest patience.
const PATIENCE_SHARE_MIN: f64 = 0.2;

/// A crowd. Shares are in percent of all visitors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrowdPlan {
    /// How many visitors come.
    pub visitors: u32,
    /// The time in which they come.
    pub arrival: Duration,
    /// How they are spread over it.
    pub curve: Curve,
    /// The share of visitors who leave the line.
    pub leavers: u8,
    /// The share of visitors who stop without a word.
    pub vanishers: u8,
    /// The share of visitors whose phones sleep when they are called.
    pub sleepers: u8,
    /// The share of visitors who do not claim.
    pub no_shows: u8,
    /// The share of visitors who never poll.
    pub fakes: u8,
    /// The longest time that a leaver or a vanisher stays in line, and that a phone sleeps.
    pub patience: Duration,
    /// The stay of an active visitor. Its length is the mean: stays are between half of it and one and a half.
    pub stay: Stay,
    /// Makes the same crowd again.
    pub seed: u64,
}

impl CrowdPlan {
    /// The plans of all visitors, in the order of their arrivals.
    pub fn visits(self) -> impl Iterator<Item = PlannedVisit> {
        let mut rng = StdRng::seed_from_u64(self.seed);
        (0..self.visitors).map(move |number| {
            let percent = rng.random_range(0..100);
            let patience_ms =
                1_000.0 * self.patience.as_secs_f64() * rng.random_range(PATIENCE_SHARE_MIN..1.0);
            let stay = Stay {
                length_ms: self.stay.length_ms * rng.random_range(0.5..1.5),
                ..self.stay
            };
            let conduct = self.conduct_at(percent, patience_ms);
            PlannedVisit {
                arrives_after: self.curve.arrives_after(number, self.visitors, self.arrival),
                caller: Caller::anonymous(),
                temper: Temper {
                    conduct,
                    stay,
                    // One who slept through the turn wants the old place back.
                    returns: u32::from(conduct != Conduct::NoShow),
                    ..Temper::honest(0.0)
                },
                seed: rng.random(),
            }
        })
    }

    /// The conduct of the visitor at this percentage of the crowd.
    fn conduct_at(self, percent: u8, patience_ms: f64) -> Conduct {
        let shares = [
            (
                self.leavers,
                Conduct::Leaves {
                    after_ms: patience_ms,
                },
            ),
            (
                self.vanishers,
                Conduct::Vanishes {
                    after_ms: patience_ms,
                },
            ),
            (self.sleepers, Conduct::SleepsWhenCalled { for_ms: patience_ms }),
            (self.no_shows, Conduct::NoShow),
            (self.fakes, Conduct::Fake),
        ];
        let mut from = 0;
        for (share, conduct) in shares {
            from += share;
            if percent < from {
                return conduct;
            }
        }
        Conduct::Honest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temper::{ConductKind, StayEnd};

    fn plan(seed: u64) -> CrowdPlan {
        CrowdPlan {
            visitors: 10_000,
            arrival: Duration::from_mins(1),
            curve: Curve::Flat,
            leavers: 10,
            vanishers: 3,
            sleepers: 7,
            no_shows: 5,
            fakes: 20,
            patience: Duration::from_secs(30),
            stay: Stay {
                length_ms: 10_000.0,
                checks: 1,
                end: StayEnd::Completes,
                extends: true,
            },
            seed,
        }
    }

    #[test]
    fn shares_of_the_crowd_are_as_asked() {
        let visits: Vec<_> = plan(1).visits().collect();
        for (kind, percent) in [
            (ConductKind::Leaver, 10),
            (ConductKind::Vanisher, 3),
            (ConductKind::Sleeper, 7),
            (ConductKind::NoShow, 5),
            (ConductKind::Fake, 20),
            (ConductKind::Honest, 55),
        ] {
            let count = visits
                .iter()
                .filter(|visit| visit.temper.conduct.kind() == kind)
                .count();
            assert!(count.abs_diff(percent * 100) < 150, "{kind:?}: {count}");
        }
        let stays = visits
            .iter()
            .map(|visit| visit.temper.stay.length_ms)
            .sum::<f64>()
            / 10_000.0;
        assert!((9_800.0..10_200.0).contains(&stays), "{stays}");
    }

    #[test]
    fn a_seed_makes_the_same_crowd_again() {
        let crowd = |seed| -> Vec<_> {
            let visits = plan(seed).visits();
            visits
                .map(|visit| (visit.arrives_after, visit.temper, visit.seed))
                .collect()
        };
        assert_eq!(crowd(7), crowd(7));
        assert_ne!(crowd(7), crowd(8));
    }
}
