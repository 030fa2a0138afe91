//! The forecasts for synthetic lines.

use proptest::prelude::*;

use super::*;
use crate::{
    estimate::{CountWindow, CurrentCounts, LONG_WINDOW_MS, MovingAverages, SHORT_WINDOW_MS},
    pace::Pace,
};

mod full_queue;
mod passed_over;

const PACE: Pace = Pace {
    batch: 20,
    interval_ms: 10_000,
};

/// The averages after a tick in each second, as the line keeps them. Each tick promotes `paced` entries if only the
/// pace limits it.
fn tick_each_second(seconds: u64, paced: Option<u64>, at: impl Fn(u64) -> CurrentCounts) -> MovingAverages {
    (0..=seconds).fold(MovingAverages::default(), |averages, second| {
        let paced = paced.filter(|_| second > 0);
        let now = averages.current_counts(at(second));
        let rotate = |window: CountWindow, length_ms: u64| match window.current_start.at_ms {
            0 => CountWindow {
                current_start: now,
                previous_start: now,
            },
            began_at_ms if now.at_ms - began_at_ms < length_ms => window,
            _ => CountWindow {
                current_start: now,
                previous_start: window.current_start,
            },
        };
        MovingAverages {
            last_tick_at_ms: now.at_ms,
            taken_seconds: now.taken_seconds,
            waiting_seconds: now.waiting_seconds,
            paced: averages.paced + paced.unwrap_or(0),
            paced_seconds: averages.paced_seconds + u64::from(paced.is_some()),
            rate_since_ms: averages.rate_since_ms,
            short: rotate(averages.short, SHORT_WINDOW_MS),
            long: rotate(averages.long, LONG_WINDOW_MS),
        }
    })
}

/// A full queue with 1,000 entries in line, observed for `seconds`. In each second `freed_each`
/// slots come free and `left_each` entries leave the line.
fn observed_line(seconds: u64, capacity: u64, freed_each: u64, left_each: u64) -> ObservedLine {
    let at = |second: u64| {
        let taken = capacity;
        let gone = second * freed_each;
        let left = second * left_each;
        CurrentCounts {
            at_ms: 1_000_000 + second * 1_000,
            waiting: 1_000,
            taken,
            entered: gone + taken + left + 1_000,
            served: gone + taken,
            expired: 0,
            no_shows: 0,
            passed_over: 0,
        }
    };
    let averages = tick_each_second(seconds, None, at);
    ObservedLine {
        pace: PACE,
        tokens: 0,
        capacity,
        waiting: 1_000,
        taken: capacity,
        active: capacity,
        session_ends_in_ms: vec![3_600_000; 11],
        claim_ms: 60_000,
        session_ms: 3_600_000,
        claimed: 100,
        no_shows: 0,
        has_presence: true,
        head_waited_ms: 0,
        counts: averages.current_counts(at(seconds)),
        averages,
    }
}

fn forecast_after(seconds: u64, freed_each: u64, left_each: u64) -> Forecast {
    Forecast::from_observed(observed_line(seconds, 200, freed_each, left_each))
}

/// An operator lowered the capacity far below the number of active entries, and no visitor leaves
/// before the end of a long session.
#[test]
fn stuck_queue_has_an_infinite_wait() {
    assert!(seconds_until_empty(1.0, 0.0, 0.0).is_infinite());
    let long_ms = 4 * 3_600_000;
    let stuck = ObservedLine {
        capacity: 20,
        session_ends_in_ms: vec![long_ms; 21],
        session_ms: long_ms,
        ..observed_line(600, 200, 1, 0)
    };
    let nobody_goes = |course: ExpectedRates| ExpectedRates {
        near: WindowRates {
            early: 0.0,
            ..course.near
        },
        far: WindowRates {
            early: 0.0,
            ..course.far
        },
        ..course
    };
    let forecast = Forecast::from_observed(stuck);
    let forecast = Forecast {
        course: nobody_goes(forecast.course),
        ..forecast
    };
    for position in [1, 1_000] {
        assert_eq!(forecast.eta_ms(position), u64::MAX);
        assert_eq!(forecast.wait_range(position), None);
    }
    assert!(forecast.expected_per_second().abs() < 1e-9);
}

#[test]
fn without_observations_the_pace_sets_the_estimate() {
    let roomy = ObservedLine {
        taken: 0,
        active: 0,
        session_ends_in_ms: Vec::new(),
        ..observed_line(0, 10_000, 0, 0)
    };
    let forecast = Forecast::from_observed(roomy.clone());
    assert_eq!((forecast.eta_ms(1), forecast.eta_ms(20)), (500, 10_000));
    assert_eq!(forecast.observed_per_second(), None);
    let range = forecast.wait_range(20).expect("an estimate");
    assert!(
        (8..=9).contains(&range.low) && (11..=12).contains(&range.high),
        "no rate was observed: {range:?}"
    );
    let now = Forecast::from_observed(ObservedLine { tokens: 20, ..roomy });
    assert_eq!(
        (now.eta_ms(20), now.eta_ms(21)),
        (0, 500),
        "a full batch is promoted at once"
    );
}

#[test]
fn full_queue_moves_at_the_rate_of_freed_slots() {
    // One slot comes free per second; the pace would allow two.
    let forecast = forecast_after(1_200, 1, 0);
    let eta_ms = forecast.eta_ms(600);
    assert!((560_000..640_000).contains(&eta_ms), "{eta_ms}");
    let range = forecast.wait_range(600).expect("enough slots came free");
    assert!(
        range.low < 600 && range.high > 600 && range.high < 800,
        "{range:?}"
    );
    let seen = forecast.observed_per_second().expect("a rate was observed");
    assert!((0.95..1.05).contains(&seen), "{seen}");
}

#[test]
fn entries_that_leave_ahead_shorten_the_wait() {
    let (none, some) = (forecast_after(1_200, 1, 0), forecast_after(1_200, 1, 1));
    assert!(
        some.eta_ms(900) * 10 < none.eta_ms(900) * 9,
        "one of 1,000 entries leaves the line per second"
    );
    assert!(some.eta_ms(900) * 10 > none.eta_ms(900) * 6);
}

/// A queue of 200 active visitors who stay to the end, with known session ends.
fn full_line(session_ends_in_ms: Vec<u64>) -> ObservedLine {
    ObservedLine {
        session_ms: 300_000,
        session_ends_in_ms,
        ..observed_line(1_200, 200, 1, 0)
    }
    .with_all_freed_by_expiry()
}

impl ObservedLine {
    /// The same counts, with every slot freed by a session that ran out.
    fn with_all_freed_by_expiry(mut self) -> Self {
        let windows = [&mut self.averages.short, &mut self.averages.long];
        let counts = windows
            .into_iter()
            .flat_map(|window| [&mut window.current_start, &mut window.previous_start]);
        for counted in counts.chain([&mut self.counts]) {
            counted.expired = counted.freed.unsigned_abs();
        }
        self
    }
}

#[test]
fn full_queue_serves_no_entry_before_a_session_ends() {
    // All sessions end between 100 and 110 seconds from now, and those of the next visitors 300 seconds
    // later.
    let ends: Vec<u64> = (0..=20).map(|part| 100_000 + part * 500).collect();
    let line = ObservedLine {
        pace: Pace {
            batch: 100,
            interval_ms: 1_000,
        },
        ..full_line(ends.clone())
    };
    let forecast = Forecast::from_observed(line.clone());
    for (position, from_ms, to_ms) in [
        (1, 99_000, 102_000),
        (200, 107_000, 113_000),
        (201, 398_000, 406_000),
    ] {
        let eta_ms = forecast.eta_ms(position);
        assert!((from_ms..to_ms).contains(&eta_ms), "{position}: {eta_ms}");
    }
    assert!(
        forecast.expected_per_second() < 0.1,
        "no entry is served in the next half minute"
    );
    let now = Forecast::from_observed(ObservedLine {
        tokens: 30,
        taken: 170,
        active: 170,
        waiting: 5,
        ..line.clone()
    });
    assert!(
        now.expected_per_second() >= 1.0,
        "30 are promoted at once, so their polls are near enough to be held"
    );
    // At a slower pace, sessions end faster than the pace serves entries.
    let slow = Forecast::from_observed(ObservedLine {
        pace: PACE,
        tokens: 20,
        ..full_line(ends.clone())
    });
    let (first, last) = (slow.eta_ms(20), slow.eta_ms(120));
    assert!(
        (101_000..106_000).contains(&first),
        "one batch of tokens was kept: {first}"
    );
    assert!(
        (last - first).abs_diff(50_000) < 6_000,
        "two entries are served per second: {first}, {last}"
    );
}

#[test]
fn unclaimed_turns_free_slots_sooner() {
    let ends: Vec<u64> = (0..=20).map(|part| part * 15_000).collect();
    let of = |no_shows: u64| {
        let mut line = full_line(ends.clone());
        line.no_shows = no_shows;
        line.claimed = 100 - no_shows;
        line.averages.short.previous_start.no_shows = 0;
        line.counts.no_shows = line.counts.served * no_shows / 100;
        line.counts.expired -= line.counts.no_shows;
        Forecast::from_observed(line).eta_ms(600)
    };
    let (none, half) = (of(0), of(50));
    assert!(half * 10 < none * 8, "{half} of {none}");
}

#[test]
fn fewer_events_widen_the_range() {
    let width = |freed_each: u64, seconds: u64| {
        let range = forecast_after(seconds, freed_each, 0)
            .wait_range(500)
            .expect("enough slots came free");
        #[allow(clippy::cast_precision_loss)]
        let width = (range.high - range.low) as f64 / range.high as f64;
        width
    };
    // The same rate, observed for one minute and for ten.
    assert!(width(1, SHORT_WINDOW_MS / 1_000) > width(1, 600));
}

#[test]
fn bursts_widen_the_range() {
    // Ten steady minutes, followed by two minutes in which no slot comes free.
    let mut bursts = observed_line(720, 200, 1, 0);
    let before = bursts.averages.short.previous_start;
    let calm = Forecast::from_observed(bursts.clone())
        .wait_range(300)
        .expect("enough slots came free");
    bursts.counts.freed = before.freed;
    bursts.counts.served = before.served;
    let after = Forecast::from_observed(bursts.clone())
        .wait_range(300)
        .expect("enough slots came free");
    assert!(
        after.high - after.low > calm.high - calm.low,
        "{calm:?}, {after:?}"
    );
}

proptest! {
    #[test]
    fn a_later_position_never_has_a_shorter_wait(
        a in 1u64..100_000, b in 1u64..100_000, freed in 0u64..5, left in 0u64..3, seconds in 0u64..700,
    ) {
        let forecast = forecast_after(seconds, freed, left);
        let (front, back) = (a.min(b), a.max(b));
        prop_assert!(forecast.eta_ms(front) <= forecast.eta_ms(back));
    }

    #[test]
    fn a_range_contains_the_expected_wait(
        position in 1u64..100_000, freed in 0u64..5, left in 0u64..3, seconds in 0u64..700, tokens in 0u64..20,
    ) {
        let forecast = Forecast::from_observed(ObservedLine { tokens, ..observed_line(seconds, 200, freed, left) });
        if let Some(range) = forecast.wait_range(position) {
            prop_assert!(range.low < range.high);
            let eta_ms = forecast.eta_ms(position);
            prop_assert!(range.low * 1_000 <= eta_ms && eta_ms <= range.high * 1_000 + 1);
        }
    }
}
