//! The estimate of the wait, and the counters behind it.

use vestibule_domain::{entry_status::EntryStatus, settings::Settings, state::EntryState};
use vestibule_line::LeaveReason;
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::{in_turn, with_pace};

pub(crate) async fn the_averages_count_by_the_minute(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 30,
            ..in_turn(with_pace(10, 10))
        })
        .await;
    subject.line_up(1..=400).await;
    let start_ms = subject.clock.now_ms();
    // The first tick starts both windows. From then on one visitor a second is served, and one every two
    // seconds leaves the line.
    for second in 0..=150_u64 {
        subject.tick().await;
        for number in [second, second + 1] {
            // Claims the entry that became ready.
            if number == second && subject.state(visitor(number + 1)).await == EntryState::Ready {
                subject.claim(visitor(number + 1)).await;
            }
        }
        if second >= 20 {
            subject.leave(visitor(second - 19), LeaveReason::Complete).await;
        }
        if second % 2 == 0 {
            subject.leave(visitor(400 - second), LeaveReason::Leave).await;
        }
        subject.advance_seconds(1);
    }
    let view = subject.view().await;
    let (short, long) = (view.averages.short, view.averages.long);
    assert_eq!(
        (long.current_start.at_ms, long.previous_start.at_ms),
        (start_ms, start_ms)
    );
    assert_eq!(
        (short.current_start.at_ms, short.previous_start.at_ms),
        (start_ms + 120_000, start_ms + 60_000)
    );
    let (current, previous) = (short.current_start, short.previous_start);
    assert_eq!(current.served - previous.served, 60);
    assert_eq!(current.freed - previous.freed, 60);
    assert_eq!(current.left - previous.left, 30);
    // Between two ticks one slot was freed, and each tick filled one. So between ticks the number of taken slots
    // was always one less than right after a tick.
    let taken = previous.served - previous.freed.cast_unsigned();
    assert_eq!(current.taken_seconds - previous.taken_seconds, 60 * (taken - 1));
    assert!(current.waiting_seconds - previous.waiting_seconds > 60 * 200);

    // The estimate follows from one promotion a second and from the entries ahead that leave.
    let estimate = view
        .estimate(&view.forecast(), 60)
        .expect("a moving line has an estimate");
    assert!(
        estimate.low <= 60 && estimate.high >= 45 && estimate.high < 80,
        "{estimate:?}"
    );
    // After the first batch, the pace alone limited the line until 30 slots were taken.
    assert_eq!((view.averages.paced, view.averages.paced_seconds), (19, 19));
    assert_eq!((current.paced, previous.paced), (19, 19));
    assert_eq!(view.averages.rate_since_ms, 0);
    // The rate before a change of pace or capacity does not apply any more. A line that stands still has no
    // estimate.
    subject.change_settings(|settings| settings.capacity = 400).await;
    let changed_ms = subject.clock.now_ms();
    let changed = subject.view().await.averages;
    assert_eq!(
        (changed.paced, changed.paced_seconds, changed.rate_since_ms),
        (0, 0, changed_ms)
    );
    subject.advance_seconds(20);
    let silent = subject.view().await;
    assert_eq!(
        silent.estimate(&silent.forecast(), 60),
        None,
        "a queue without ticks has no estimate"
    );
    subject.tick().await;
    assert_eq!(
        subject.view().await.averages.paced_seconds,
        0,
        "the pace did not limit the line in the gap"
    );
    subject.advance_seconds(1);
    subject.tick().await;
    assert_eq!(subject.view().await.averages.paced_seconds, 1);
    subject.change_settings(|settings| settings.paused = true).await;
    subject.tick().await;
    let paused = subject.view().await;
    assert_eq!(paused.estimate(&paused.forecast(), 60), None);
}

pub(crate) async fn without_departures_the_session_bounds_the_estimate(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 20,
            session_seconds: 3_600,
            claim_seconds: 3_600,
            ..in_turn(with_pace(10, 10))
        })
        .await;
    subject.line_up(1..=100).await;
    subject.tick().await;
    // There is room for twenty entries, one a second after the first ten. No slot has been freed yet.
    let view = subject.view().await;
    let forecast = view.forecast();
    let near = view
        .estimate(&forecast, 5)
        .expect("the free slots give an estimate");
    assert!(near.low <= 5 && near.high >= 5 && near.high < 10, "{near:?}");
    // The next visitors may leave at once, or claim late and stay for the whole session.
    let beyond = view
        .estimate(&forecast, 11)
        .expect("the settings give an estimate");
    assert!(
        beyond.low <= 11 && (3_600..=7_400).contains(&beyond.high),
        "{beyond:?}"
    );
    // As if all stayed for the whole session: 40 slots have to come free, of 20. Polls are paced as if all left at once.
    assert_eq!(forecast.expected_ms(50), 7_200_000);
    assert_eq!(forecast.eta_ms(50), 50_000);
    for number in 1..=20 {
        subject.advance_seconds(6);
        subject.tick().await;
        subject.claim(visitor(number)).await;
        subject.leave(visitor(number), LeaveReason::Complete).await;
    }
    let view = subject.view().await;
    let far = view
        .estimate(&view.forecast(), 50)
        .expect("freed slots give an estimate");
    assert!(
        far.low < 300 && far.high > 200,
        "the estimate follows one promotion every six seconds: {far:?}"
    );
}

pub(crate) async fn an_estimate_includes_the_running_sessions(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 40,
            session_seconds: 300,
            ..in_turn(with_pace(40, 1))
        })
        .await;
    assert_eq!(
        subject.view().await.session_ends_in_ms,
        [0; 0],
        "no session is active"
    );
    // Twenty visitors are let in at once and twenty more after a hundred seconds. All others wait. No session
    // completes before its end.
    for second in 0..=300_u64 {
        let numbers = match second {
            0 => 1..21,
            100 => 21..121,
            _ => 0..0,
        };
        for number in numbers {
            subject.enter(visitor(number)).await;
        }
        if second == 150 {
            let ends = subject.view().await.view.session_ends_in_ms;
            assert_eq!(ends.len(), 21);
            assert_eq!(
                (ends[0], ends[9], ends[10], ends[20]),
                (150_000, 150_000, 150_000, 250_000)
            );
            assert!(ends.is_sorted());
        }
        subject.tick().await;
        if second < 300 {
            subject.advance_seconds(1);
        }
    }
    for number in 41..=60 {
        assert!(matches!(
            subject.claim(visitor(number)).await,
            (EntryStatus::Active { .. }, _)
        ));
    }
    // The next turns come when the sessions that began after a hundred seconds end. Later turns come when the
    // sessions of those visitors end.
    let view = subject.view().await;
    let forecast = view.forecast();
    let estimate = |position| {
        view.estimate(&forecast, position)
            .expect("freed slots give an estimate")
    };
    let (near, far) = (estimate(10), estimate(30));
    assert!(
        (90..=100).contains(&near.low) && (100..=115).contains(&near.high),
        "{near:?}"
    );
    assert!(
        (270..=300).contains(&far.low) && (300..=330).contains(&far.high),
        "{far:?}"
    );
    let eta_ms = forecast.eta_ms(10);
    assert!(
        (98_000..=105_000).contains(&eta_ms),
        "polls are paced by the estimate: {eta_ms} ms"
    );
}
