//! How long the wait will be: from the rate at which the line moved, or before anybody saw it move, from its pace.

use serde::Serialize;

use super::pace::Pace;

/// The length of the window over which promotions are counted.
pub const WINDOW_MS: u64 = 60_000;

/// How many were promoted lately: a count for this window and one for the window before it, which together stand for a
/// window that slides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateWindow {
    /// When this window began; a multiple of [`WINDOW_MS`].
    pub start_ms: u64,
    /// Promoted in this window.
    pub count: u64,
    /// Promoted in the window before.
    pub before: u64,
}

impl RateWindow {
    /// The windows at a later moment, with so many more promoted.
    #[must_use]
    pub fn counted(self, now_ms: u64, promoted: u64) -> Self {
        let start_ms = now_ms - now_ms % WINDOW_MS;
        if start_ms <= self.start_ms {
            return Self {
                count: self.count + promoted,
                ..self
            };
        }
        let before = if start_ms - self.start_ms == WINDOW_MS {
            self.count
        } else {
            0
        };
        Self {
            start_ms,
            count: promoted,
            before,
        }
    }

    /// Entries promoted a second; `None` until a whole window was seen to move.
    // Counts are far below 2^52, so a double holds them.
    #[allow(clippy::cast_precision_loss)]
    pub fn per_second(self, now_ms: u64) -> Option<f64> {
        let window = self.counted(now_ms, 0);
        if window.before == 0 {
            return None;
        }
        let (passed, count, before) = (
            now_ms.saturating_sub(window.start_ms).min(WINDOW_MS) as f64 / WINDOW_MS as f64,
            window.count as f64,
            window.before as f64,
        );
        let per_window = before * (1.0 - passed) + count;
        (per_window > 0.0).then_some(per_window / (WINDOW_MS / 1_000) as f64)
    }
}

/// An expected wait, as a range: people forgive a range that holds, and nobody believes a second-exact number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// At the best, in seconds.
    pub low: u64,
    /// At the worst, in seconds.
    pub high: u64,
}

/// The expected wait of one position, in milliseconds: `position / observed rate`; before there is a rate,
/// `ceil(position / batch)` intervals.
pub fn eta_ms(position: u64, observed_per_second: Option<f64>, pace: Pace) -> u64 {
    match observed_per_second {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        Some(rate) => (position as f64 / rate * 1_000.0).ceil() as u64,
        None => position.div_ceil(pace.batch).saturating_mul(pace.interval_ms),
    }
}

impl Estimate {
    /// A quarter to each side of the expected wait, and never less than a second wide.
    pub fn around(eta_ms: u64) -> Self {
        let low = eta_ms / 4 * 3 / 1_000;
        Self {
            low,
            high: (eta_ms.saturating_add(eta_ms / 4)).div_ceil(1_000).max(low + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACE: Pace = Pace {
        batch: 20,
        interval_ms: 10_000,
    };

    proptest! {
        #[test]
        fn further_back_is_never_sooner(a in 1u64..1_000_000, b in 1u64..1_000_000, rate in prop::option::of(0.01f64..10_000.0)) {
            let (front, back) = (a.min(b), a.max(b));
            prop_assert!(eta_ms(front, rate, PACE) <= eta_ms(back, rate, PACE));
        }

        #[test]
        fn a_range_holds_its_middle(eta in 0u64..100_000_000) {
            let range = Estimate::around(eta);
            prop_assert!(range.low * 1_000 <= eta && eta <= range.high * 1_000 && range.low < range.high);
        }
    }

    #[test]
    fn before_a_rate_is_seen_the_pace_stands_in() {
        assert_eq!(eta_ms(1, None, PACE), 10_000);
        assert_eq!(eta_ms(20, None, PACE), 10_000);
        assert_eq!(eta_ms(21, None, PACE), 20_000);
    }

    #[test]
    fn a_steady_line_shows_its_rate() {
        let mut window = RateWindow::default();
        for second in 0..300 {
            window = window.counted(second * 1_000, 5);
            if second >= 60 {
                let rate = window.per_second(second * 1_000).expect("a whole window moved");
                assert!((4.8..=5.2).contains(&rate), "{rate} at {second} s");
            } else {
                assert_eq!(window.per_second(second * 1_000), None, "no whole window yet");
            }
        }
    }

    #[test]
    fn a_line_that_stood_still_has_no_rate() {
        let window = RateWindow::default().counted(10_000, 5);
        assert_eq!(window.per_second(10_000 + 3 * WINDOW_MS), None);
    }
}
