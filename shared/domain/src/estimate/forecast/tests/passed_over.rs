//! The forecasts for lines that pass over absent visitors, and for lines that the capacity limits at times.

use super::*;

const LIVELY: Pace = Pace {
    batch: 10,
    interval_ms: 1_000,
};

/// A line of 5,000 entries with room for all, which serves ten entries per second and passes over
/// `passed_each`. It began when its visitors entered, `seconds` ago.
fn line_with_absent(seconds: u64, passed_each: i64) -> ObservedLine {
    let at = |second: u64| {
        let served = second * 10;
        let passed_over = passed_each * second.cast_signed();
        CurrentCounts {
            at_ms: 1_000_000 + second * 1_000,
            waiting: 5_000,
            taken: 100,
            entered: (served + 5_000).saturating_add_signed(passed_over),
            served,
            expired: 0,
            no_shows: 0,
            passed_over,
        }
    };
    let averages = tick_each_second(seconds, Some(10), at);
    ObservedLine {
        pace: LIVELY,
        capacity: 100_000,
        waiting: 5_000,
        head_waited_ms: seconds * 1_000,
        taken: 100,
        active: 100,
        counts: averages.current_counts(at(seconds)),
        averages,
        ..observed_line(0, 100_000, 0, 0)
    }
}

fn eta_seconds(line: ObservedLine, position: u64) -> u64 {
    Forecast::from_observed(line).eta_ms(position) / 1_000
}

#[test]
fn entries_that_are_passed_over_shorten_the_wait_from_the_head_on() {
    let waits =
        |position| [0, 10].map(|passed_each| eta_seconds(line_with_absent(1_200, passed_each), position));
    let [none, half] = waits(400);
    assert!((39..=41).contains(&none), "ten per second: {none}");
    assert!(
        (19..=20).contains(&half),
        "every second entry is passed over: {half}"
    );
    let [none, half] = waits(4_000);
    assert!((380..=405).contains(&none), "{none}");
    assert!((180..=200).contains(&half), "{half}");
}

#[test]
fn more_absent_visitors_are_expected_the_longer_they_wait() {
    // A tenth of those who waited for three minutes are absent. Of those who wait three times as long, some more.
    let forecast = Forecast::from_observed(line_with_absent(180, 1));
    let wait = forecast.eta_ms(4_000) / 1_000;
    let steady = 4_000 / 11;
    assert!(
        wait < steady && wait * 11 >= 4_000 * 10 / 11,
        "{wait} s; {steady} s without growth"
    );
    let range = forecast.wait_range(4_000).expect("a range");
    assert!(
        range.high >= steady && range.low * 12 <= 4_000,
        "neither is certain: {range:?}"
    );
}

#[test]
fn entries_that_come_back_ahead_lengthen_the_wait() {
    let (none, back) = (
        eta_seconds(line_with_absent(600, 0), 1_000),
        eta_seconds(line_with_absent(600, -2), 1_000),
    );
    assert!(back * 10 > none * 12, "{back} s instead of {none} s");
}

#[test]
fn seconds_at_full_capacity_do_not_slow_the_expected_pace() {
    // For ten minutes the capacity let one entry through per second. Then there is room for all who wait.
    let mut line = line_with_absent(600, 0);
    line.counts.served -= 5_000;
    line.counts.paced -= 5_000;
    line.counts.paced_seconds -= 500;
    assert!((95..=105).contains(&eta_seconds(line, 1_000)));
}

#[test]
fn while_presence_is_off_the_range_allows_for_no_absent_visitors() {
    let range = |has_presence| {
        let line = ObservedLine {
            has_presence,
            ..line_with_absent(600, 0)
        };
        Forecast::from_observed(line).wait_range(4_000).expect("a range")
    };
    let (on, off) = (range(true), range(false));
    assert!(off.low > on.low && off.low + 20 >= 400, "{off:?} {on:?}");
    assert_eq!(off.high, on.high);
}
