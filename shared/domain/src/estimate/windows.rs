//! The counts that a line keeps for its moving averages. All are whole numbers, copied when a window ends. An
//! average is the difference to the counts of one or two windows ago. So no value is ever rounded, and a tick
//! within a window writes only a few fields.

/// The length of the short window, in milliseconds. The forecast of a near turn uses the last one or two
/// minutes.
pub const SHORT_MS: u64 = 60_000;
/// The length of the long window, in milliseconds. The forecast of a far turn uses the last five to ten
/// minutes.
pub const LONG_MS: u64 = 300_000;
/// A line without a tick for longer than this, in milliseconds, did not move in that time. Its rate is then
/// observed from the start again.
pub const SILENT_MS: u64 = 10_000;

/// The counts of a line at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// The moment, in Unix milliseconds; 0 for never.
    pub at_ms: u64,
    /// Entries that were promoted or admitted at once.
    pub served: u64,
    /// Of the served entries, those that no longer hold a slot. After a restore this count starts below zero.
    pub gone: i64,
    /// Of the served entries, those whose session ran out.
    pub expired: u64,
    /// Of the served entries, those that were not claimed in time.
    pub no_shows: u64,
    /// Entries that left the line before their turn. After a restore this count starts below zero.
    pub left: i64,
    /// Slots taken, summed over seconds.
    pub taken_seconds: u64,
    /// Entries in line, summed over seconds.
    pub waiting_seconds: u64,
}

/// The counts at the beginning of the current window and of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// The counts at the beginning of the current window.
    pub mark: Counted,
    /// The counts at the beginning of the previous window. Averages reach back to this moment.
    pub before: Counted,
}

impl Window {
    /// The window after the counts of a later moment. If no tick came for two window lengths, the averages
    /// start anew.
    #[must_use]
    pub fn turned(self, now: Counted, length_ms: u64) -> Self {
        let age_ms = now.at_ms.saturating_sub(self.mark.at_ms);
        if self.mark.at_ms > 0 && age_ms < length_ms {
            return self;
        }
        let is_fresh = self.mark.at_ms > 0 && age_ms < 2 * length_ms;
        Self {
            mark: now,
            before: if is_fresh { self.mark } else { now },
        }
    }
}

/// The input of one tick to the averages.
#[derive(Debug, Clone, Copy)]
pub struct Ticked {
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
    /// Whether the settings allow promotion.
    pub promotes: bool,
}

/// The moving averages of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Averages {
    /// The last tick by the promoter or a request, in Unix milliseconds; 0 if there was none.
    pub counted_at_ms: u64,
    /// Slots taken, summed over seconds.
    pub taken_seconds: u64,
    /// Entries in line, summed over seconds.
    pub waiting_seconds: u64,
    /// Since when entries have been waiting and served at the same pace, in Unix milliseconds; 0 if no entry
    /// is waiting or promotion is off. A rate observed under other conditions does not apply to this period.
    pub line_since_ms: u64,
    /// Like `line_since_ms`, but it also starts anew after a gap between ticks. The forecast of a near turn
    /// must not depend on a period before the gap; the forecast of a far turn may use it.
    pub moving_since_ms: u64,
    /// The window of one to two minutes.
    pub short: Window,
    /// The window of five to ten minutes.
    pub long: Window,
}

impl Averages {
    /// The averages after a tick.
    #[must_use]
    pub fn ticked(self, tick: Ticked) -> Self {
        let before_ms = if self.counted_at_ms > 0 {
            self.counted_at_ms
        } else {
            tick.now_ms
        };
        // The difference of whole clock seconds, so that many short ticks lose no time to rounding.
        let passed_seconds = (tick.now_ms / 1_000).saturating_sub(before_ms / 1_000);
        let moves = tick.promotes && tick.waiting > 0;
        let was_silent = tick.now_ms.saturating_sub(before_ms) > SILENT_MS;
        let since = |since_ms: u64| match (moves, since_ms) {
            (false, _) => 0,
            (true, 0) => tick.now_ms,
            (true, since_ms) => since_ms,
        };
        let mut after = Self {
            counted_at_ms: tick.now_ms,
            taken_seconds: self.taken_seconds + tick.taken_before * passed_seconds,
            waiting_seconds: self.waiting_seconds + tick.waiting_before * passed_seconds,
            line_since_ms: since(self.line_since_ms),
            moving_since_ms: since(if was_silent { 0 } else { self.moving_since_ms }),
            ..self
        };
        let now = after.counted(&tick);
        after.short = self.short.turned(now, SHORT_MS);
        after.long = self.long.turned(now, LONG_MS);
        after
    }

    /// The averages after the pace or the capacity changed. The rate is observed from the start again.
    #[must_use]
    pub fn repaced(self, now_ms: u64) -> Self {
        let since = |since_ms: u64| if since_ms > 0 { now_ms } else { 0 };
        Self {
            line_since_ms: since(self.line_since_ms),
            moving_since_ms: since(self.moving_since_ms),
            ..self
        }
    }

    fn counted(&self, tick: &Ticked) -> Counted {
        Counted {
            at_ms: tick.now_ms,
            served: tick.served,
            gone: difference(tick.served, tick.taken),
            expired: tick.expired,
            no_shows: tick.no_shows,
            left: difference(tick.entered, tick.served + tick.waiting),
            taken_seconds: self.taken_seconds,
            waiting_seconds: self.waiting_seconds,
        }
    }

    /// The current counts, for a reader between two ticks.
    #[must_use]
    pub fn now(&self, tick: Ticked) -> Counted {
        self.ticked(tick).counted(&tick)
    }
}

fn difference(one: u64, other: u64) -> i64 {
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    signed(one).saturating_sub(signed(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(second: u64, served: u64) -> Ticked {
        Ticked {
            now_ms: 1_000_000 + second * 1_000,
            waiting_before: 50,
            taken_before: 8,
            waiting: 50,
            taken: 8,
            entered: served + 50,
            served,
            expired: 0,
            no_shows: 0,
            promotes: true,
        }
    }

    fn after(seconds: u64) -> Averages {
        (0..=seconds).fold(Averages::default(), |averages, second| {
            averages.ticked(tick(second, second * 5))
        })
    }

    #[test]
    fn an_average_reaches_one_or_two_windows_back() {
        for seconds in 130..400 {
            let averages = after(seconds);
            let now = averages.now(tick(seconds, seconds * 5));
            let before = averages.short.before;
            let span_ms = now.at_ms - before.at_ms;
            assert!((SHORT_MS..=2 * SHORT_MS).contains(&span_ms), "{span_ms} ms");
            assert_eq!((now.served - before.served) * 1_000, 5 * span_ms);
            assert_eq!(
                (now.gone - before.gone) * 1_000,
                5 * i64::try_from(span_ms).expect("short")
            );
            assert_eq!((now.taken_seconds - before.taken_seconds) * 1_000, 8 * span_ms);
            assert_eq!(
                (now.waiting_seconds - before.waiting_seconds) * 1_000,
                50 * span_ms
            );
            assert_eq!((now.left, averages.moving_since_ms), (0, 1_000_000));
        }
    }

    #[test]
    fn nothing_is_averaged_over_a_silence() {
        let later = after(100).ticked(tick(100 + 180, 500));
        assert_eq!(later.short.mark, later.short.before);
        assert_eq!(
            (later.line_since_ms, later.moving_since_ms),
            (1_000_000, 1_280_000)
        );
        assert_eq!(
            later.long.before.at_ms, 1_000_000,
            "the long window continues across the gap"
        );
    }

    #[test]
    fn a_rate_is_seen_while_somebody_waits_at_one_pace() {
        let averages = after(30);
        let shut = averages.ticked(Ticked {
            promotes: false,
            ..tick(31, 150)
        });
        assert_eq!((shut.line_since_ms, shut.moving_since_ms), (0, 0));
        assert_eq!(shut.repaced(7).moving_since_ms, 0);
        let empty = averages.ticked(Ticked {
            waiting: 0,
            ..tick(31, 150)
        });
        assert_eq!((empty.line_since_ms, empty.moving_since_ms), (0, 0));
        let repaced = averages.repaced(1_031_500);
        assert_eq!(
            (repaced.line_since_ms, repaced.moving_since_ms),
            (1_031_500, 1_031_500)
        );
    }

    #[test]
    fn a_line_that_was_put_back_counts_from_there() {
        let put_back = Ticked {
            entered: 0,
            served: 0,
            ..tick(0, 0)
        };
        let averages = Averages::default().ticked(put_back);
        assert_eq!((averages.short.mark.gone, averages.short.mark.left), (-8, -50));
        // One slot came free, and one entry left the line.
        let now = averages.now(Ticked {
            taken: 7,
            waiting: 49,
            ..Ticked {
                now_ms: 1_010_000,
                ..put_back
            }
        });
        assert_eq!((now.gone, now.left), (-7, -49));
    }
}
