//! What a crowd asked of a deployment before the public document: each client asked about its entry until the turn.
//!
//! The interval was `clamp(0.3 * wait left, 2 s, two thirds of claim_seconds)`.

use super::load::CrowdLoad;

/// The share of the wait that is left, after which a client asked again.
const RETRY_SHARE: f64 = 0.3;
/// The shortest interval, in seconds.
const RETRY_MIN_SECONDS: f64 = 2.0;

impl CrowdLoad<'_> {
    /// Status requests of a visitor until the turn, on average.
    pub fn earlier_polls_per_visitor(&self, pace: f64) -> f64 {
        self.mean_over_waits(pace, |wait| polls(wait, self.longest_interval_seconds()))
    }

    /// Status requests per second, when the most visitors wait.
    pub fn earlier_polls_per_second(&self, pace: f64) -> f64 {
        pace * polls(self.longest_wait_seconds(pace), self.longest_interval_seconds())
    }

    fn longest_interval_seconds(&self) -> f64 {
        f64::from(self.settings.claim_seconds) * 2.0 / 3.0
    }
}

/// The polls in a wait of this length.
fn polls(wait_seconds: f64, interval_max_seconds: f64) -> f64 {
    let (near_wait, far_wait) = (
        RETRY_MIN_SECONDS / RETRY_SHARE,
        interval_max_seconds / RETRY_SHARE,
    );
    let far_polls = (wait_seconds - far_wait).max(0.0) / interval_max_seconds;
    // Between the bounds, each poll leaves 70 % of the wait.
    let between = (wait_seconds.min(far_wait) / near_wait).max(1.0).ln() / -(1.0 - RETRY_SHARE).ln();
    far_polls + between + wait_seconds.min(near_wait) / RETRY_MIN_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_hour_took_about_fifty_polls() {
        let counted = {
            let (mut left, mut polls) = (1_800.0_f64, 0.0);
            while left > 0.0 {
                left -= (RETRY_SHARE * left).clamp(RETRY_MIN_SECONDS, 40.0);
                polls += 1.0;
            }
            polls
        };
        assert!((polls(1_800.0, 40.0) - counted).abs() < 2.0, "{counted}");
        assert!((50.0..60.0).contains(&counted), "{counted}");
    }
}
