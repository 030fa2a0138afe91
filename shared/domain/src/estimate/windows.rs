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

/// What a reader sees of a line at one moment.
#[derive(Debug, Clone, Copy)]
pub struct CurrentCounts {
    /// Line time, in Unix milliseconds.
    pub at_ms: u64,
    /// Entries in line.
    pub waiting: u64,
    /// Entries ready or active.
    pub taken: u64,
    /// Visits that began or went on so far.
    pub entered: u64,
    /// Entries promoted or admitted at once so far.
    pub served: u64,
    /// Of the served entries, those whose session ran out so far.
    pub expired: u64,
    /// Of the served entries, those that were not claimed in time so far.
    pub no_shows: u64,
    /// Entries that went past the head of the line without a turn so far: see [`LineCounts`].
    pub passed_over: i64,
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
    /// The current counts, for a reader between two ticks.
    #[must_use]
    pub fn current_counts(&self, now: CurrentCounts) -> LineCounts {
        let last_tick_at_ms = if self.last_tick_at_ms > 0 {
            self.last_tick_at_ms
        } else {
            now.at_ms
        };
        // The difference of whole clock seconds, as the ticks count them, so that no time is lost to rounding.
        let passed_seconds = (now.at_ms / 1_000).saturating_sub(last_tick_at_ms / 1_000);
        LineCounts {
            at_ms: now.at_ms,
            served: now.served,
            freed: signed_difference(now.served, now.taken),
            expired: now.expired,
            no_shows: now.no_shows,
            left: signed_difference(now.entered, now.served + now.waiting),
            passed_over: now.passed_over,
            taken_seconds: self.taken_seconds + now.taken * passed_seconds,
            waiting_seconds: self.waiting_seconds + now.waiting * passed_seconds,
            paced: self.paced,
            paced_seconds: self.paced_seconds,
        }
    }
}

fn signed_difference(one: u64, other: u64) -> i64 {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    signed(one).saturating_sub(signed(other))
}

#[cfg(test)]
mod tests;
