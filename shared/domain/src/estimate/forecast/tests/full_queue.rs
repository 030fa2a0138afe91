//! The forecasts for a full queue in which too few slots were seen to come free.

use super::*;
use crate::poll_pacing::{plan_hold, retry_after_ms};

/// The time between two polls of a client that ignores `retry_after_ms`, in seconds.
const FIXED_POLL_SECONDS: f64 = 3.0;

/// A queue that is full, and whose sessions have just begun. Its pace would fill it within a second.
fn just_filled(capacity: u64, waiting: u64, session_seconds: u64) -> ObservedLine {
    ObservedLine {
        pace: Pace {
            batch: capacity,
            interval_ms: 1_000,
        },
        waiting,
        claimed: capacity,
        session_ends_in_ms: vec![session_seconds * 1_000; 21],
        session_ms: session_seconds * 1_000,
        ..observed_line(0, capacity, 0, 0)
    }
}

/// The polls per second of all waiting visitors who keep to `retry_after_ms`.
#[allow(clippy::cast_precision_loss)]
fn polls_per_second(line: &ObservedLine, forecast: &Forecast) -> f64 {
    (1..=line.waiting)
        .map(|position| retry_after_ms(forecast.eta_ms(position), line.claim_ms / 3 * 2, 0, 0.5))
        .map(|retry_ms| 1_000.0 / retry_ms as f64)
        .sum()
}

#[test]
fn a_full_queue_waits_for_its_sessions_not_for_its_pace() {
    let line = just_filled(500, 3_000, 300);
    let forecast = Forecast::from_observed(line.clone());
    for (position, eta_ms) in [(1, 600), (500, 300_000), (3_000, 1_800_000)] {
        assert_eq!(forecast.eta_ms(position), eta_ms, "300 s * {position} / 500");
    }
    // The visitors who are let in next may leave at once, or take the whole claim time and session.
    let range = forecast.wait_range(3_000).expect("an estimate from the start");
    assert!((5..=6).contains(&range.low), "by the pace: {range:?}");
    assert!(
        (1_800..=2_200).contains(&range.high),
        "six sessions, five of them after a claim: {range:?}"
    );
    let polls = polls_per_second(&line, &forecast);
    assert!(
        polls < 120.0,
        "{polls} polls per second; 1,000 with fixed clients"
    );
    // Polls are held by the same estimate: 50 turns come within 30 s, not 15,000.
    let rate = forecast.expected_per_second();
    assert!((1.6..1.7).contains(&rate), "{rate} turns per second");
    let is_held = |position| plan_hold(forecast.eta_ms(position), 20_000, 500, rate, true).is_some();
    assert!(is_held(50) && !is_held(51));
}

#[test]
fn the_first_departures_shorten_the_assumed_stay() {
    // In the first 3 s, 3 of 200 visitors left. Their sessions would last an hour.
    let few = forecast_after(3, 1, 0);
    assert!(!few.has_turnover(), "too few for a forecast");
    let eta_ms = few.eta_ms(600);
    assert!(
        (600_000..=1_200_000).contains(&eta_ms),
        "one slot a second, and some weight of the session: {eta_ms}"
    );
    let range = few.wait_range(600).expect("an estimate");
    assert!(
        range.low <= 300 && (2_000..=3_700 * 3).contains(&range.high),
        "three departures say little: {range:?}"
    );
    let none = forecast_after(3, 0, 0);
    assert_eq!(none.eta_ms(600), 3 * 3_600_000, "no visitor has left");
}

#[test]
fn known_session_ends_bound_the_assumed_wait() {
    let ending = ObservedLine {
        session_ends_in_ms: vec![2_000; 21],
        ..just_filled(500, 3_000, 300)
    };
    let forecast = Forecast::from_observed(ending);
    let eta_ms = forecast.eta_ms(500);
    assert!(eta_ms <= 4_000, "all sessions end in 2 s: {eta_ms}");
    assert!(
        forecast.expected_per_second() > 15.0,
        "500 turns come within 30 s, so their polls may be held"
    );
}

#[test]
fn free_slots_are_filled_at_the_pace_before_sessions_count() {
    let line = ObservedLine {
        taken: 400,
        active: 400,
        ..just_filled(500, 3_000, 300)
    };
    let forecast = Forecast::from_observed(line);
    assert_eq!(
        forecast.eta_ms(100),
        200,
        "100 slots are free, 500 entries per second"
    );
    assert_eq!(forecast.eta_ms(400), 180_000, "300 slots are to come free");
    let near = forecast.wait_range(100).expect("room");
    assert!(near.high <= 2, "{near:?}");
}

#[test]
fn short_sessions_need_no_observation() {
    // The pace can never fill the capacity.
    let short = ObservedLine {
        session_ms: 50_000,
        taken: 150,
        ..observed_line(0, 200, 0, 0)
    };
    let range = Forecast::from_observed(short)
        .wait_range(500)
        .expect("an estimate");
    assert!(
        range.low >= 220 && range.high <= 275,
        "by the pace alone: {range:?}"
    );
}

#[test]
fn a_wait_of_more_than_a_day_has_no_range() {
    let slow = just_filled(1, 100, 3_600);
    let forecast = Forecast::from_observed(slow);
    assert!(forecast.wait_range(20).is_some());
    assert_eq!(forecast.wait_range(30), None);
    assert_eq!(
        forecast.eta_ms(30),
        30 * 3_600_000,
        "polls are paced all the same"
    );
}

proptest! {
    #[test]
    fn full_queue_polls_are_at_most_those_of_fixed_clients(
        capacity in 1u64..2_000, waiting in 1u64..5_000, session_seconds in 10u64..3_600, claim_seconds in 10u64..600,
    ) {
        let line = ObservedLine { claim_ms: claim_seconds * 1_000, ..just_filled(capacity, waiting, session_seconds) };
        let forecast = Forecast::from_observed(line.clone());
        // In a line that is through in less than 25 s, all turns are near, and their polls are held.
        prop_assume!(forecast.eta_ms(waiting) >= 25_000);
        let polls = polls_per_second(&line, &forecast);
        #[allow(clippy::cast_precision_loss)]
        let fixed = waiting as f64 / FIXED_POLL_SECONDS;
        prop_assert!(polls <= fixed, "{} polls per second, {} with fixed clients", polls, fixed);
    }

    #[test]
    fn a_full_queue_always_has_an_estimate_around_its_expected_wait(
        capacity in 1u64..2_000, taken_percent in 0u64..=120, position in 1u64..5_000, session_seconds in 10u64..3_600,
        batch in 1u64..2_000, no_shows in 0u64..100, ends_in_ms in 0u64..3_600_000,
    ) {
        let taken = capacity * taken_percent / 100;
        let line = ObservedLine {
            pace: Pace { batch, interval_ms: 1_000 },
            taken,
            active: taken,
            no_shows,
            session_ends_in_ms: vec![ends_in_ms.min(session_seconds * 1_000); 21],
            ..just_filled(capacity, 5_000, session_seconds)
        };
        let forecast = Forecast::from_observed(line);
        let eta_ms = forecast.eta_ms(position);
        prop_assert!(eta_ms <= forecast.eta_ms(position + 1));
        match forecast.wait_range(position) {
            Some(range) => prop_assert!(range.low * 1_000 <= eta_ms && eta_ms <= range.high * 1_000 + 1, "{:?} {}", range, eta_ms),
            None => prop_assert!(forecast.longest_curve().seconds_until_served(position) > RANGE_MAX_SECONDS - 1.0),
        }
    }
}
