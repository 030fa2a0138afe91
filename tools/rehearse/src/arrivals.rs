//! When the visitors of a rehearsal arrive.

use std::{f64::consts::TAU, time::Duration};

use clap::ValueEnum;

/// The waves of [`Curve::Wave`].
const WAVES: f64 = 2.0;
/// Halvings until an arrival is exact to a millionth of the time.
const HALVINGS: u32 = 20;

/// How the arrivals are spread over their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Curve {
    /// The same number each second
    Flat,
    /// Most at the beginning: 71 % in the first half, as at an opening
    Front,
    /// Two waves with a lull between them, as after two announcements
    Wave,
}

impl Curve {
    /// When visitor `number` of `count` arrives, if all arrive within `spread`. Visitors are numbered from 0 in the order of
    /// arrival.
    pub(crate) fn arrives_after(self, number: u32, count: u32, spread: Duration) -> Duration {
        let share = (f64::from(number) + 0.5) / f64::from(count.max(1));
        spread.mul_f64(self.time_of(share))
    }

    /// The share of the time after which this share of the visitors has arrived.
    fn time_of(self, share: f64) -> f64 {
        match self {
            Self::Flat => share,
            Self::Front => share * share,
            Self::Wave => {
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..HALVINGS {
                    let middle = f64::midpoint(low, high);
                    // The integral of 1 - cos: no visitor at the ends and between the waves.
                    let arrived = middle - (WAVES * TAU * middle).sin() / (WAVES * TAU);
                    if arrived < share {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                f64::midpoint(low, high)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: Duration = Duration::from_secs(100);

    /// How many of a thousand visitors arrive in each tenth of the time.
    fn arrivals_by_tenth(curve: Curve) -> [u32; 10] {
        let mut tenths = [0; 10];
        for number in 0..1_000 {
            let after = curve.arrives_after(number, 1_000, SPREAD);
            tenths[usize::try_from(after.as_secs() / 10).expect("a small number")] += 1;
        }
        tenths
    }

    #[test]
    fn a_flat_curve_has_the_same_number_in_each_tenth() {
        assert_eq!(arrivals_by_tenth(Curve::Flat), [100; 10]);
    }

    #[test]
    fn a_front_has_its_most_arrivals_first() {
        let tenths = arrivals_by_tenth(Curve::Front);
        assert!(tenths.is_sorted_by(|before, after| before >= after), "{tenths:?}");
        let first_half: u32 = tenths[..5].iter().sum();
        assert!((700..=715).contains(&first_half), "{tenths:?}");
    }

    #[test]
    fn waves_have_a_lull_between_them() {
        let tenths = arrivals_by_tenth(Curve::Wave);
        assert!(tenths[2] > 150 && tenths[7] > 150, "{tenths:?}");
        assert!(tenths[0] < 40 && tenths[4] + tenths[5] < 80, "{tenths:?}");
    }

    #[test]
    fn arrivals_come_in_order_within_their_time() {
        for curve in [Curve::Flat, Curve::Front, Curve::Wave] {
            let all: Vec<_> = (0..500).map(|n| curve.arrives_after(n, 500, SPREAD)).collect();
            assert!(all.is_sorted() && all[499] <= SPREAD, "{curve:?}");
        }
        assert_eq!(Curve::Flat.arrives_after(0, 1, Duration::ZERO), Duration::ZERO);
    }
}
