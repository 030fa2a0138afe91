//! The rates at which a line is expected to move.

use super::{
    rates::{RATE_DRIFT_SHARE, WindowRates},
    step_grid::NEAR_SECONDS,
};

/// The rates that are expected to apply: those of the short window for the first minute, those of
/// the long window after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedRates {
    pub(super) near: WindowRates,
    pub(super) far: WindowRates,
    pub(super) ends: SessionEndSpread,
}

/// Where, between two known session ends, the sessions in between run out. Only some ends are
/// known, by rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionEndSpread {
    /// Spread evenly over the interval.
    Even,
    /// In the first half of the interval.
    Sooner,
    /// In the second half of the interval.
    Later,
}

impl SessionEndSpread {
    /// The factor by which a session is longer than its setting says.
    pub(super) fn session_factor(self) -> f64 {
        match self {
            Self::Even => 1.0,
            Self::Sooner => 1.0 / (1.0 + RATE_DRIFT_SHARE),
            Self::Later => 1.0 + RATE_DRIFT_SHARE,
        }
    }
}

impl ExpectedRates {
    pub(super) fn map_rates(self, ends: SessionEndSpread, with: impl Fn(WindowRates) -> WindowRates) -> Self {
        Self {
            near: with(self.near),
            far: with(self.far),
            ends,
        }
    }

    pub(super) fn rates_at(&self, seconds: f64) -> &WindowRates {
        if seconds < NEAR_SECONDS {
            &self.near
        } else {
            &self.far
        }
    }

    /// The share of the slots taken at `from` that no visitor leaves early until `to`. Both are
    /// seconds from now.
    pub(super) fn staying_share(&self, from: f64, to: f64) -> f64 {
        let near = to.min(NEAR_SECONDS) - from.min(NEAR_SECONDS);
        (-self.near.early * near - self.far.early * (to - from - near)).exp()
    }
}
