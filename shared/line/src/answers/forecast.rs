//! What follows from how a queue stands: when turns come.

use vestibule_domain::estimate::{Estimate, Forecast, Observed, Ticked};

use super::View;

/// A line that nobody ticks for so long does not move: neither a promoter does, nor whoever looks at it.
const UNDRIVEN_MS: u64 = 15_000;

impl View {
    /// When turns come, as far as one can see.
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
        // Whoever waits since, where nobody did, found that all who could be let in at once had been.
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

    /// How long one at this position will wait; `None` where nobody can say: nobody may be promoted, it is not certain
    /// what time it is, the line has no driver, or too little was seen.
    pub fn estimate(&self, forecast: &Forecast, position: u64) -> Option<Estimate> {
        let counted_at_ms = self.averages.counted_at_ms;
        let has_driver = counted_at_ms == 0 || self.now_ms.saturating_sub(counted_at_ms) <= UNDRIVEN_MS;
        let moves = self.configuration.settings.promotes() && !self.clocks.apart && has_driver;
        forecast.range(position).filter(|_| moves)
    }
}
