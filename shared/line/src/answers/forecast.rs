//! Forecasts from a queue's current state: when each position gets its turn.

use vestibule_domain::estimate::{Estimate, Forecast, Observed, Ticked};

use super::View;

/// A queue without a tick for this long does not move, in milliseconds: neither the promoter nor a request ticks
/// it.
const UNDRIVEN_MS: u64 = 15_000;

impl View {
    /// Forecasts the turns from the present counts and the moving averages.
    pub fn forecast(&self) -> Forecast {
        let (settings, totals) = (&self.configuration.settings, &self.totals);
        let taken = self.ready + self.active;
        let now = self.averages.now(Ticked {
            now_ms: self.now_ms,
            waiting_before: self.waiting,
            taken_before: taken,
            waiting: self.waiting,
            taken,
            entered: totals.entered,
            served: totals.fast_tracked + totals.promoted,
            expired: totals.expired,
            no_shows: totals.no_shows,
            promotes: settings.promotes(),
        });
        let pace = settings.pace();
        let tokens = self.bucket.refilled(pace, self.now_ms).tokens(pace);
        // This forecast also serves a visitor who joined the empty line just after this snapshot. That visitor has
        // to wait, so the fast track had already used all free slots or all tokens. The forecast therefore counts
        // those as taken.
        let gone_in = if self.waiting == 0 {
            tokens.min(u64::from(settings.capacity).saturating_sub(taken))
        } else {
            0
        };
        Forecast::of(Observed {
            pace,
            tokens: tokens - gone_in,
            capacity: settings.capacity.into(),
            waiting: self.waiting,
            taken: taken + gone_in,
            active: self.active,
            session_ends_in_ms: self.session_ends_in_ms.clone(),
            claim_ms: settings.claim_ms(),
            session_ms: settings.session_ms(),
            claimed: totals.claimed,
            no_shows: totals.no_shows,
            now,
            averages: self.averages,
        })
    }

    /// Returns the expected wait at this position.
    ///
    /// Returns `None` if an estimate is impossible: the settings stop promotion, the clocks of the server and the
    /// caller are apart, no tick came for 15 s, or the line has observed too little.
    pub fn estimate(&self, forecast: &Forecast, position: u64) -> Option<Estimate> {
        let counted_at_ms = self.averages.counted_at_ms;
        let has_driver = counted_at_ms == 0 || self.now_ms.saturating_sub(counted_at_ms) <= UNDRIVEN_MS;
        let moves = self.configuration.settings.promotes() && !self.clocks.apart && has_driver;
        forecast.range(position).filter(|_| moves)
    }
}
