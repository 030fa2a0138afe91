//! What a line counts for its moving averages: whole numbers, written down as they stand when a window turns. An average
//! is the difference to a number of one or two windows ago, so that nothing is ever rounded, and a tick within a window
//! writes next to nothing.

/// The length of the short window: a near turn goes by what happened in the last minute or two.
pub const SHORT_MS: u64 = 60_000;
/// The length of the long window: a far one by the last five or ten.
pub const LONG_MS: u64 = 300_000;
/// A line that nobody ticked for longer did not move meanwhile: how fast it moves is seen anew.
pub const SILENT_MS: u64 = 10_000;

/// What the line had counted at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// The moment, in Unix milliseconds; 0 for never.
    pub at_ms: u64,
    /// Promoted, or let in at once.
    pub served: u64,
    /// Of these, who hold a slot no longer. A line that was put back counts from below zero.
    pub gone: i64,
    /// Of these, whose session ran out.
    pub expired: u64,
    /// Of these, who never claimed their turn.
    pub no_shows: u64,
    /// Who left the line before their turn; below zero likewise.
    pub left: i64,
    /// Slots taken, summed over seconds.
    pub taken_seconds: u64,
    /// Entries in line, summed over seconds.
    pub waiting_seconds: u64,
}

/// What was counted when the window began, and when the one before it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// At the beginning of this one.
    pub mark: Counted,
    /// At the beginning of the one before: averages reach back to here.
    pub before: Counted,
}

impl Window {
    /// The window at a later moment. After two windows without a tick there is nothing to average over.
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

/// One tick, as the averages see it.
#[derive(Debug, Clone, Copy)]
pub struct Ticked {
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// In line since the tick before.
    pub waiting_before: u64,
    /// Ready and active since then.
    pub taken_before: u64,
    /// In line after it.
    pub waiting: u64,
    /// Ready and active after it.
    pub taken: u64,
    /// New visits so far.
    pub entered: u64,
    /// Promoted or let in at once so far.
    pub served: u64,
    /// Of these, whose session ran out so far.
    pub expired: u64,
    /// Of these, who never claimed their turn.
    pub no_shows: u64,
    /// Whether anybody may be promoted.
    pub promotes: bool,
}

/// The moving averages of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Averages {
    /// The last tick, by whomever, in Unix milliseconds; 0 for none.
    pub counted_at_ms: u64,
    /// Slots taken, summed over seconds.
    pub taken_seconds: u64,
    /// Entries in line, summed over seconds.
    pub waiting_seconds: u64,
    /// Since when somebody has waited, and been served at one and the same pace; 0 where nobody is. A rate that was
    /// counted over other times says nothing of this one.
    pub line_since_ms: u64,
    /// The same, and ticked without a break: a near turn has nothing to do with one that is over, a far one may see more.
    pub moving_since_ms: u64,
    /// One or two minutes.
    pub short: Window,
    /// Five or ten.
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
        // Seconds of the clock, so that many ticks add up to no less than one.
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

    /// The averages where the pace or the capacity changed: from now on another rate is seen.
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

    /// What the line has counted now, as somebody sees it who looks between two ticks.
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
        assert_eq!(later.long.before.at_ms, 1_000_000, "a long one bears it");
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
        // One slot came free, one of those in line left.
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
