//! The forecasts for a full queue in which too few slots were seen to come free.

use super::*;
use crate::poll_pacing::{HELD_BUDGET, HOLD_MAX_MS, Hold, retry_after_ms};

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

impl ObservedLine {
    /// The same line, whose slots have been held for so many seconds, and none came free.
    fn silent_for(mut self, seconds: u64) -> Self {
        self.counts.taken_seconds = self.averages.long.previous_start.taken_seconds + self.taken * seconds;
        self
    }
}

/// The polls per second of all waiting visitors who keep to `retry_after_ms`, and whose polls are held as far as the budget
/// reaches.
#[allow(clippy::cast_precision_loss)]
fn polls_per_second(line: &ObservedLine, forecast: &Forecast) -> f64 {
    let pause_ms = |position| {
        let hold = forecast.plan_hold(position, HOLD_MAX_MS, u64::from(HELD_BUDGET), true);
        let limit_of = |hold: &Hold| hold.unknown_speed_limit.unwrap_or(hold.held_polls_limit);
        match hold.filter(|hold| position <= limit_of(hold)) {
            Some(hold) => hold.max_ms,
            None => retry_after_ms(forecast.eta_ms(position), line.claim_ms / 3 * 2, 0, 0.5),
        }
    };
    (1..=line.waiting)
        .map(|position| 1_000.0 / pause_ms(position) as f64)
        .sum()
}

#[test]
fn a_full_queue_waits_for_its_sessions_not_for_its_pace() {
    let forecast = Forecast::from_observed(just_filled(500, 3_000, 300));
    for (position, seconds) in [(1, 0.6), (500, 300.0), (3_000, 1_800.0)] {
        let expected = forecast.expected_seconds(position);
        assert!((expected - seconds).abs() < 1e-9, "300 s * {position} / 500");
    }
    // The visitors who are let in next may leave at once, or take the whole claim time and session.
    let range = forecast.wait_range(3_000).expect("an estimate from the start");
    assert!((5..=6).contains(&range.low), "by the pace: {range:?}");
    assert!(
        (1_800..=2_200).contains(&range.high),
        "six sessions, five of them after a claim: {range:?}"
    );
}

#[test]
fn polls_of_a_full_queue_come_as_seldom_as_it_has_been_silent() {
    let line = |seconds| just_filled(500, 3_000, 300).silent_for(seconds);
    let eta_of = |seconds, position| Forecast::from_observed(line(seconds)).eta_ms(position);
    assert!(eta_of(0, 125) <= 1_000, "all may leave at once: by the pace");
    assert_eq!(
        eta_of(0, 3_000),
        8_000,
        "a crowd does not ask more often than fixed clients"
    );
    assert_eq!(eta_of(5, 125), 5_000, "as long as it was silent");
    assert_eq!(
        eta_of(5, 3_000),
        10_000,
        "the slots have to come free twice at least"
    );
    assert_eq!(
        (eta_of(60, 1), eta_of(60, 100)),
        (600, 60_000),
        "not beyond the expected wait"
    );
    let polls_of = |seconds| polls_per_second(&line(seconds), &Forecast::from_observed(line(seconds)));
    assert!(
        polls_of(0) < 800.0,
        "{} a second; 1,000 with fixed clients",
        polls_of(0)
    );
    assert!(polls_of(60) < 120.0, "{} a second", polls_of(60));

    let limit_of = |seconds, position| {
        let hold = Forecast::from_observed(line(seconds)).plan_hold(position, 20_000, 500, true);
        hold.map(|hold| hold.unknown_speed_limit)
    };
    assert_eq!(
        (limit_of(5, 50), limit_of(60, 50)),
        (Some(None), Some(None)),
        "expected within 30 s"
    );
    assert_eq!(
        (limit_of(5, 51), limit_of(60, 51)),
        (Some(Some(125)), None),
        "possible within 20 s"
    );
    assert_eq!(
        (limit_of(5, 500), limit_of(5, 501)),
        (Some(Some(125)), None),
        "so many turns are possible"
    );
}

#[test]
fn a_fresh_queue_tells_its_first_visitors_to_look_soon() {
    // Five slots, and a session of ten minutes. All were taken a second ago.
    let fresh = Forecast::from_observed(just_filled(5, 45, 600).silent_for(1));
    assert_eq!((fresh.eta_ms(1), fresh.eta_ms(5)), (1_000, 1_000));
    assert!((8_000..=9_000).contains(&fresh.eta_ms(45)), "by the pace");
    // After an hour without a departure, their turns are as far away as they seemed.
    let silent = Forecast::from_observed(just_filled(5, 45, 600).silent_for(3_600));
    assert_eq!((silent.eta_ms(1), silent.eta_ms(5)), (120_000, 600_000));
}

#[test]
fn the_first_departures_shorten_the_assumed_stay() {
    // In the first 3 s, 3 of 200 visitors left. Their sessions would last an hour.
    let few = forecast_after(3, 1, 0);
    assert!(!few.has_turnover(), "too few for a forecast");
    let expected = few.expected_seconds(600);
    assert!(
        (600.0..=1_200.0).contains(&expected),
        "one slot a second, and some weight of the session: {expected}"
    );
    let range = few.wait_range(600).expect("an estimate");
    assert!(
        range.low <= 300 && (2_000..=3_700 * 3).contains(&range.high),
        "three departures say little: {range:?}"
    );
    let none = forecast_after(3, 0, 0);
    let expected = none.expected_seconds(600);
    assert!(
        (expected - 3.0 * 3_600.0).abs() < 1e-9,
        "no visitor has left: {expected}"
    );
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
    let expected = forecast.expected_seconds(400);
    assert!(
        (expected - 180.0).abs() < 1e-9,
        "300 slots are to come free: {expected}"
    );
    let near = forecast.wait_range(100).expect("room");
    assert!(near.high <= 2, "{near:?}");
}

#[test]
fn short_sessions_need_no_observation() {
    // The pace can never fill the capacity.
    let short = ObservedLine {
        session_ms: 50_000,
        taken: 150,
        // Visitors who have gone would shorten the wait.
        has_presence: false,
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
    let slow = just_filled(1, 100, 3_600).silent_for(86_400);
    let forecast = Forecast::from_observed(slow);
    assert!(forecast.wait_range(20).is_some());
    assert_eq!(forecast.wait_range(30), None);
    assert_eq!(
        forecast.eta_ms(30),
        30 * 3_600_000,
        "polls are paced all the same"
    );
}

#[test]
fn the_first_one_without_a_free_slot_comes_after_the_last_one_with_a_slot() {
    let line = ObservedLine {
        pace: Pace {
            batch: 147,
            interval_ms: 1_000,
        },
        taken: 1_691,
        active: 1_691,
        no_shows: 79,
        session_ends_in_ms: vec![0; 21],
        ..just_filled(1_781, 5_000, 10)
    };
    let forecast = Forecast::from_observed(line);
    assert!(forecast.eta_ms(90) > 0);
    assert!(forecast.eta_ms(90) <= forecast.eta_ms(91));
}

proptest! {
    #[test]
    fn full_queue_polls_are_at_most_those_of_fixed_clients(
        capacity in 1u64..2_000, waiting in 1u64..5_000, session_seconds in 10u64..3_600, claim_seconds in 10u64..600,
    ) {
        let line = ObservedLine { claim_ms: claim_seconds * 1_000, ..just_filled(capacity, waiting, session_seconds) };
        let forecast = Forecast::from_observed(line.clone());
        // In a line that is through in less than 25 s, all turns are near, and their polls are held.
        prop_assume!(forecast.expected_seconds(waiting) >= 25.0);
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
