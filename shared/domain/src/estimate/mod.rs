//! The estimated wait: the counts that the line keeps for it, the forecast from these counts, and
//! the range that visitors see. `docs/adr/0012-wait-estimate.md` has the formula and measures its
//! accuracy.

mod assumed_course;
mod curve;
mod due_slots;
mod expected_rates;
mod forecast;
mod observed_line;
mod passed_over;
mod rates;
mod step_grid;
mod windows;

use serde::{Deserialize, Serialize};

pub use self::{
    forecast::Forecast,
    observed_line::ObservedLine,
    windows::{
        CountWindow, CurrentCounts, LONG_WINDOW_MS, LineCounts, MovingAverages, SHORT_WINDOW_MS,
        TICK_GAP_MAX_MS,
    },
};

/// An expected wait, as a range: people accept one that turns out to be true, and believe no number that is exact to the
/// second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schemas",
    derive(schemars::JsonSchema),
    schemars(rename = "WaitEstimate")
)]
pub struct Estimate {
    /// The lower end, in seconds.
    pub low: u64,
    /// The upper end, in seconds.
    pub high: u64,
}

impl Estimate {
    /// Rounds both ends outwards to whole seconds. The range is at least one second wide.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn between(low_seconds: f64, high_seconds: f64) -> Self {
        let low = low_seconds.floor() as u64;
        Self {
            low,
            high: (high_seconds.ceil() as u64).max(low + 1),
        }
    }
}
