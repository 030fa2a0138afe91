//! Forecasts from a queue's current state: when each position gets its turn.

use vestibule_domain::{
    estimate::{CurrentCounts, Estimate, Forecast, ObservedLine},
    score::WaitScore,
};

use super::QueueView;

/// How many parts the line is divided into for [`QueueView::estimated_waits`]. The wait between two of
/// their ends follows from those at the ends.
const WAIT_PARTS: u64 = 16;
/// A queue without a tick for this long does not move, in milliseconds: neither the promoter nor a
/// request ticks it.
const MAX_TICK_GAP_MS: u64 = 15_000;

impl QueueView {
    /// Forecasts the turns from the present counts and the moving averages.
    pub fn forecast(&self) -> Forecast {
        let (settings, totals) = (&self.configuration.settings, &self.totals);
        let taken = self.taken_slots();
        let now = self.averages.current_counts(CurrentCounts {
            at_ms: self.now_ms,
            waiting: self.in_line(),
            taken,
            entered: totals.entered + totals.returned,
            served: totals.served(),
            expired: totals.expired,
            no_shows: totals.no_shows,
            passed_over: self.passed_over(),
        });
        let pace = settings.calling_pace(self.pace_in_force().pace);
        let (tokens, capacity) = if settings.is_passthrough() {
            (pace.batch, u64::from(u32::MAX))
        } else {
            (self.bucket_tokens(), u64::from(settings.capacity))
        };
        // This forecast also serves a visitor who joined the empty line just after this snapshot.
        // That visitor has to wait, so the fast track had already used all free slots or all
        // tokens. The forecast therefore counts those as taken.
        let taken_since = if self.in_line() == 0 {
            tokens.min(capacity.saturating_sub(taken))
        } else {
            0
        };
        Forecast::from_observed(ObservedLine {
            pace,
            tokens: tokens - taken_since,
            capacity,
            waiting: self.in_line(),
            taken: taken + taken_since,
            // A held slot becomes free when its session would have ended, or sooner.
            active: self.active + self.held,
            session_ends_in_ms: self.session_ends_in_ms.clone(),
            claim_ms: settings.claim_ms(),
            session_ms: settings.session_ms(),
            claimed: totals.claimed,
            no_shows: totals.no_shows,
            has_presence: settings.has_presence(),
            head_waited_ms: self.head_waited_ms(),
            counts: now,
            averages: self.averages,
        })
    }

    /// How many entries went past the head of the line without a turn, less those that came back
    /// ahead of others.
    fn passed_over(&self) -> i64 {
        let gone_ahead: i64 = self.lanes.iter().map(|(_, lane)| lane.gone_ahead).sum();
        gone_ahead + self.gone_ahead_offset.cast_signed() - self.totals.promoted.cast_signed()
    }

    /// How long the entry waited that went past the head of the busiest lane last, in milliseconds.
    fn head_waited_ms(&self) -> u64 {
        let busiest = self.lanes.iter().max_by_key(|(_, lane)| lane.gone_ahead);
        busiest
            .and_then(|(_, lane)| WaitScore::from_raw(lane.passed_through))
            .filter(|place| place.is_after_opening())
            .map_or(0, |place| self.now_ms.saturating_sub(place.joined_at_ms()))
    }

    /// Returns the expected wait at this position.
    ///
    /// Returns `None` if an estimate is impossible: the settings stop promotion, the clocks of the
    /// server and the caller are apart, no tick came for 15 s, or the line has observed too little.
    pub fn estimate(&self, forecast: &Forecast, position: u64) -> Option<Estimate> {
        let counted_at_ms = self.averages.last_tick_at_ms;
        let is_ticked = counted_at_ms == 0 || self.now_ms.saturating_sub(counted_at_ms) <= MAX_TICK_GAP_MS;
        let is_moving = self.is_moving() && !self.clocks.apart && is_ticked;
        forecast.wait_range(position).filter(|_| is_moving)
    }

    /// Returns the expected waits at the head, at positions spread over the line, and at its end, in
    /// ascending order. It is empty if an estimate is impossible.
    pub fn estimated_waits(&self, forecast: &Forecast) -> Vec<(u64, Estimate)> {
        let waits = spread_positions(self.in_line())
            .into_iter()
            .map_while(|position| {
                let estimate = self.estimate(forecast, position)?;
                Some((position, estimate))
            });
        waits.collect()
    }
}

/// The head, positions spread over a line of this length, and its end, in ascending order.
pub(super) fn spread_positions(in_line: u64) -> Vec<u64> {
    let last = in_line.max(1);
    let mut positions: Vec<u64> = (1..=WAIT_PARTS)
        .map(|part| (last * part).div_ceil(WAIT_PARTS))
        .collect();
    positions.insert(0, 1);
    positions.dedup();
    positions
}
