//! Tests of the presence clock, of marks and of the growth of a window.

use proptest::prelude::*;

use super::{LaneCalls, Marks, PresenceClock};

/// A clock at 100 s after `ticks` ticks, one a second, each with this many check-ins by poll.
fn run_clock(ticks: u64, check_ins_per_tick: u64) -> PresenceClock {
    let start = PresenceClock::new(100_000);
    (1..=ticks).fold(start, |clock, tick| {
        clock
            .advance(100_000 + tick * 1_000, tick * check_ins_per_tick, 10, true)
            .0
    })
}

#[test]
fn the_clock_runs_with_line_time() {
    assert_eq!(run_clock(60, 1).ms, 160_000);
    assert_eq!(run_clock(60, 0).ms, 160_000, "no check-in was ever expected");
}

#[test]
fn the_clock_stands_still_while_it_may_not_run() {
    let clock = run_clock(10, 0);
    let paused = clock.advance(115_000, 0, 10, false).0;
    assert_eq!((paused.ms, paused.at_ms), (clock.ms, 115_000));
    assert_eq!(paused.advance(116_000, 0, 10, true).0.ms, clock.ms + 1_000);
}

#[test]
fn the_clock_advances_by_five_seconds_at_most() {
    assert_eq!(run_clock(10, 0).advance(500_000, 0, 10, true).0.ms, 115_000);
}

#[test]
fn the_clock_stands_still_while_the_front_door_is_down() {
    let busy = run_clock(60, 2);
    let after = |seconds: u64, check_ins: u64, present: u64| {
        (61..=60 + seconds).fold(busy, |clock, tick| {
            clock.advance(100_000 + tick * 1_000, check_ins, present, true).0
        })
    };
    assert_eq!(after(660, 120, 10).ms, busy.ms + 9_000, "an outage of 11 minutes");
    let back = after(660, 120, 10).advance(820_000 + 1_000, 121, 10, true).0;
    assert!(
        back.ms > busy.ms + 9_000,
        "the next check-in starts the clock again"
    );
    assert_eq!(
        after(60, 120, 0).ms,
        busy.ms + 60_000,
        "no present visitor is left, so no check-in is expected"
    );
}

#[test]
fn an_outage_counts_from_the_last_check_in() {
    let mut clock = run_clock(60, 2);
    let mut down_ms = 0;
    for second in 161..=820 {
        let (next, tick) = clock.advance(second * 1_000, 120, 10, true);
        clock = next;
        down_ms += tick.door_down_ms;
        assert_eq!(tick.is_door_down, second >= 170, "{second}");
    }
    assert_eq!(down_ms, 660_000, "the ten seconds before it is noticed count too");
    let (back, tick) = clock.advance(821_000, 121, 10, true);
    assert_eq!((tick.is_door_down, tick.door_down_ms), (false, 0));
    let (_, paused) = back.advance(900_000, 121, 10, false);
    assert_eq!(
        (paused.is_running, paused.door_down_ms),
        (false, 0),
        "a pause counts by itself"
    );
}

/// Check-ins are counted over periods, and an outage may begin anywhere in one.
#[test]
fn an_outage_is_noticed_whenever_it_begins() {
    for start in 60..80 {
        let mut clock = run_clock(start, 2);
        for second in 1..=60 {
            let (next, tick) = clock.advance(100_000 + (start + second) * 1_000, 2 * start, 10, true);
            clock = next;
            assert_eq!(tick.is_door_down, second >= 10, "{second} s after {start} s");
        }
    }
}

#[test]
fn a_queue_that_became_quiet_has_no_front_door_to_watch() {
    let mut clock = run_clock(60, 2);
    // One check-in in fifteen seconds.
    for tick in 61..=240 {
        clock = clock.advance(100_000 + tick * 1_000, 120 + tick / 15, 10, true).0;
    }
    assert!(!clock.is_busy);
}

#[test]
fn a_quiet_queue_has_no_front_door_to_watch() {
    let quiet = run_clock(60, 0).advance(161_000, 5, 10, true).0;
    let later = (162..=300).fold(quiet, |clock, second| {
        clock.advance(second * 1_000, 5, 10, true).0
    });
    assert_eq!(later.ms, 300_000);
}

#[test]
fn most_absent_visitors_make_the_window_grow() {
    let mut calls = LaneCalls::new(0, 100_000);
    assert!(!calls.is_decision_due(129_999, 500, 30_000));
    assert!(calls.is_decision_due(130_000, 500, 30_000));
    let mut growths = Vec::new();
    for step in 1..=5 {
        calls.decide_growth(100_000 + step * 30_000, step * 500, 500, 249);
        growths.push(calls.growth);
    }
    assert_eq!(growths, [4, 16, 64, 64, 64]);
    assert!(
        !calls.is_decision_due(900_000, 2_500, 30_000),
        "judged did not advance"
    );
    calls.decide_growth(300_000, 3_000, 0, 0);
    assert_eq!(calls.growth, 64, "no entry was judged");
    calls.decide_growth(330_000, 3_500, 500, 250);
    assert_eq!(calls.growth, 1);
}

proptest! {
    /// Marks answer as a full history does, up to the time between two marks.
    #[test]
    fn marks_match_a_full_history(
        steps in prop::collection::vec((1_u64..4_000, 0_u64..50), 1..80),
        kept_ms in 2_000_u64..40_000,
    ) {
        let (mut marks, mut history, mut clock_ms) = (Marks::default(), Vec::new(), 100_000);
        for (passed_ms, place) in steps {
            clock_ms += passed_ms;
            let is_marked = history.last().is_none_or(|&(at_ms, last)| last != place && clock_ms >= at_ms + 1_000);
            if is_marked {
                history.push((clock_ms, place));
            }
            marks.add(clock_ms, place, 1_000, kept_ms);
            let since_ms = clock_ms - kept_ms;
            let in_force = history.iter().rposition(|&(at_ms, _)| at_ms <= since_ms);
            let lowest = in_force.and_then(|from| history[from..].iter().map(|&(_, place)| place).min());
            prop_assert_eq!(marks.lowest_since(since_ms), lowest);
            prop_assert_eq!(marks.place_at(since_ms), in_force.map(|from| history[from].1));
        }
    }
}
