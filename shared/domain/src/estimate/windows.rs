//! The counts that a line keeps for its moving averages. All are whole numbers, copied when a
//! window ends. An average is the difference to the counts of one or two windows ago. So no value
//! is ever rounded, and a tick within a window writes only a few fields.

/// The length of the short window, in milliseconds. The forecast of a near turn uses the last one or two
/// minutes.
pub const SHORT_WINDOW_MS: u64 = 60_000;
/// The length of the long window, in milliseconds. The forecast of a far turn uses the last five to ten
/// minutes.
pub const LONG_WINDOW_MS: u64 = 300_000;
/// A line without a tick for longer than this, in milliseconds, did not move in that time. Its rate
/// is then observed from the start again.
pub const TICK_GAP_MAX_MS: u64 = 10_000;

/// The counts of a line at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineCounts {
    /// The moment, in Unix milliseconds; 0 for never.
    pub at_ms: u64,
    /// Entries that were promoted or admitted at once.
    pub served: u64,
    /// Of the served entries, those that no longer hold a slot. After a restore this count starts
    /// below zero.
    pub freed: i64,
    /// Of the served entries, those whose session ran out.
    pub expired: u64,
    /// Of the served entries, those that were not claimed in time.
    pub no_shows: u64,
    /// Entries that left the line before their turn. After a restore this count starts below zero.
    pub left: i64,
    /// Of these, entries that went past the head of the line without a turn, less those that came
    /// back ahead of others: `gone_ahead` of all lanes, less the promotions.
    pub passed_over: i64,
    /// Slots taken, summed over seconds.
    pub taken_seconds: u64,
    /// Entries in line, summed over seconds.
    pub waiting_seconds: u64,
    /// Entries that were promoted by ticks that only the pace limited, since it was last changed.
    pub paced: u64,
    /// The time in which only the pace limited the ticks, since it was last changed, in seconds.
    pub paced_seconds: u64,
}

/// The counts at the beginning of the current window and of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountWindow {
    /// The counts at the beginning of the current window.
    pub current_start: LineCounts,
    /// The counts at the beginning of the previous window. Averages reach back to this moment.
    pub previous_start: LineCounts,
}

impl CountWindow {
    /// The window after the counts of a later moment. If no tick came for two window lengths, the
    /// averages start anew.
    #[must_use]
    pub fn advance(self, now: LineCounts, length_ms: u64) -> Self {
        let age_ms = now.at_ms.saturating_sub(self.current_start.at_ms);
        if self.current_start.at_ms > 0 && age_ms < length_ms {
            return self;
        }
        let is_fresh = self.current_start.at_ms > 0 && age_ms < 2 * length_ms;
        Self {
            current_start: now,
            previous_start: if is_fresh { self.current_start } else { now },
        }
    }
}

/// The input of one tick to the averages.
#[derive(Debug, Clone, Copy)]
pub struct TickCounts {
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// Entries in line between the previous tick and this one.
    pub waiting_before: u64,
    /// Entries ready or active between the previous tick and this one.
    pub taken_before: u64,
    /// Entries in line after this tick.
    pub waiting: u64,
    /// Entries ready or active after this tick.
    pub taken: u64,
    /// New visits so far.
    pub entered: u64,
    /// Entries promoted or admitted at once so far.
    pub served: u64,
    /// Of the served entries, those whose session ran out so far.
    pub expired: u64,
    /// Of the served entries, those that were not claimed in time so far.
    pub no_shows: u64,
    /// Entries that went past the head of the line without a turn so far: see [`LineCounts`].
    pub passed_over: i64,
    /// Entries that this tick promoted, if only the pace limited it.
    pub paced: Option<u64>,
}

/// The moving averages of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MovingAverages {
    /// The last tick by the promoter or a request, in Unix milliseconds; 0 if there was none.
    pub last_tick_at_ms: u64,
    /// Slots taken, summed over seconds.
    pub taken_seconds: u64,
    /// Entries in line, summed over seconds.
    pub waiting_seconds: u64,
    /// Entries that were promoted by ticks that only the pace limited, since it was last changed.
    pub paced: u64,
    /// The time in which only the pace limited the ticks, since it was last changed, in seconds. The
    /// rate of a line that the capacity or absent visitors limit says nothing about the pace.
    pub paced_seconds: u64,
    /// When the pace or the capacity was last changed, in Unix milliseconds; 0 if they never were. A
    /// rate observed before it does not apply any more.
    pub rate_since_ms: u64,
    /// The window of one to two minutes.
    pub short: CountWindow,
    /// The window of five to ten minutes.
    pub long: CountWindow,
}

impl MovingAverages {
    /// The averages after a tick.
    #[must_use]
    pub fn record_tick(self, tick: TickCounts) -> Self {
        let before_ms = if self.last_tick_at_ms > 0 {
            self.last_tick_at_ms
        } else {
            tick.now_ms
        };
        // The difference of whole clock seconds, so that many short ticks lose no time to rounding.
        let passed_seconds = (tick.now_ms / 1_000).saturating_sub(before_ms / 1_000);
        let is_silent = tick.now_ms.saturating_sub(before_ms) > TICK_GAP_MAX_MS;
        let paced = tick.paced.filter(|_| self.last_tick_at_ms > 0 && !is_silent);
        let mut after = Self {
            last_tick_at_ms: tick.now_ms,
            taken_seconds: self.taken_seconds + tick.taken_before * passed_seconds,
            waiting_seconds: self.waiting_seconds + tick.waiting_before * passed_seconds,
            paced: self.paced + paced.unwrap_or(0),
            paced_seconds: self.paced_seconds + paced.map_or(0, |_| passed_seconds),
            ..self
        };
        let now = after.line_counts(&tick);
        after.short = self.short.advance(now, SHORT_WINDOW_MS);
        after.long = self.long.advance(now, LONG_WINDOW_MS);
        after
    }

    /// The averages after the pace or the capacity changed. The rate is observed from the start again.
    #[must_use]
    pub fn restart_rate(self, now_ms: u64) -> Self {
        Self {
            paced: 0,
            paced_seconds: 0,
            rate_since_ms: now_ms,
            ..self
        }
    }

    fn line_counts(&self, tick: &TickCounts) -> LineCounts {
        LineCounts {
            at_ms: tick.now_ms,
            served: tick.served,
            freed: signed_difference(tick.served, tick.taken),
            expired: tick.expired,
            no_shows: tick.no_shows,
            left: signed_difference(tick.entered, tick.served + tick.waiting),
            passed_over: tick.passed_over,
            taken_seconds: self.taken_seconds,
            waiting_seconds: self.waiting_seconds,
            paced: self.paced,
            paced_seconds: self.paced_seconds,
        }
    }

    /// The current counts, for a reader between two ticks.
    #[must_use]
    pub fn current_counts(&self, tick: TickCounts) -> LineCounts {
        self.record_tick(tick).line_counts(&tick)
    }
}

fn signed_difference(one: u64, other: u64) -> i64 {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    signed(one).saturating_sub(signed(other))
}

#[cfg(test)]
mod tests;
