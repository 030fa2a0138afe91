//! How long the wait will be: what the line counts for it, what follows from that, and the range that people are shown.
//! See `docs/decisions/estimate.md` for the formula and for how well it holds.

mod curve;
mod forecast;
mod rates;
mod windows;

use serde::Serialize;

pub use self::{
    forecast::{Forecast, Observed},
    windows::{Averages, Counted, LONG_MS, SHORT_MS, SILENT_MS, Ticked, Window},
};

/// An expected wait, as a range: people forgive a range that holds, and nobody believes a second-exact number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// At the best, in seconds.
    pub low: u64,
    /// At the worst, in seconds.
    pub high: u64,
}

impl Estimate {
    /// Whole seconds around both ends, and never less than a second wide.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn between(low_seconds: f64, high_seconds: f64) -> Self {
        let low = low_seconds.floor() as u64;
        Self {
            low,
            high: (high_seconds.ceil() as u64).max(low + 1),
        }
    }
}
