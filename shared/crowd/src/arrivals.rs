//! When the visitors of a crowd arrive.

use std::{f64::consts::TAU, time::Duration};

/// The waves of [`Curve::Wave`].
const WAVES: f64 = 2.0;
/// A flash is over after so many times its mean.
const FLASH_MEANS: f64 = 5.0;
/// The rate of swells, relative to their mean, is this much more at a crest, and less in a trough.
const SWELL: f64 = 0.45 / 0.55;
/// Halvings until an arrival is exact to a millionth of the time.
const HALVINGS: u32 = 20;

/// How the arrivals are spread over their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// The same number each second
    Flat,
    /// Most at the beginning: 71 % in the first half, as at an opening
    Front,
    /// Two waves with a lull between them, as after two announcements
    Wave,
    /// An exponential decay, which is cut off when hardly any come: after five times its mean
    Flash,
    /// Swells: at a crest about twice the mean, and a fifth of it in a trough
    Swells {
        /// How many halves of a swell: an odd number ends on a crest
        halves: u8,
    },
}

impl Curve {
    /// When visitor `number` of `count` arrives, if all arrive within `spread`. Visitors are numbered from 0 in the order of
    /// arrival.
    pub fn arrives_after(self, number: u32, count: u32, spread: Duration) -> Duration {
        let share = (f64::from(number) + 0.5) / f64::from(count.max(1));
        spread.mul_f64(self.time_of(share))
    }

    /// The share of the time after which this share of the visitors has arrived.
    pub fn time_of(self, share: f64) -> f64 {
        match self {
            Self::Flat => share,
            Self::Front => share * share,
            // The integral of 1 - cos: no visitor at the ends and between the waves.
            Self::Wave => invert(share, |time| time - (WAVES * TAU * time).sin() / (WAVES * TAU)),
            Self::Flash => -(1.0 - share * (1.0 - (-FLASH_MEANS).exp())).ln() / FLASH_MEANS,
            Self::Swells { halves } => {
                let angle = f64::from(halves) / 2.0 * TAU;
                invert(share, |time| time - SWELL * (angle * time).sin() / angle)
            }
        }
    }
}

/// The argument in 0 to 1 at which a rising function has this value.
fn invert(value: f64, function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if function(middle) < value {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
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
        for curve in [
            Curve::Flat,
            Curve::Front,
            Curve::Wave,
            Curve::Flash,
            Curve::Swells { halves: 5 },
        ] {
            let all: Vec<_> = (0..500).map(|n| curve.arrives_after(n, 500, SPREAD)).collect();
            assert!(all.is_sorted() && all[499] <= SPREAD, "{curve:?}");
        }
        assert_eq!(Curve::Flat.arrives_after(0, 1, Duration::ZERO), Duration::ZERO);
    }
}
