//! How long the wait is, and what that is told by.

use vestibule_domain::{entry_status::EntryStatus, settings::Settings, state::EntryState};
use vestibule_line::LeaveReason;
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::pace;

pub(crate) async fn what_moves_is_counted_by_the_minute(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 30,
            ..pace(10, 10)
        })
        .await;
    subject.line_up(1..=400).await;
    let start_ms = subject.clock.now_ms();
    // The first tick marks both windows; from then on one goes each second, and one leaves each two.
    for second in 0..=150_u64 {
        subject.tick().await;
        for number in [second, second + 1] {
            // Of those who are in, and of the back of the line.
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
    assert_eq!(view.averages.line_since_ms, start_ms);
    assert_eq!(view.averages.moving_since_ms, start_ms);
    assert_eq!(
        (long.current_start.at_ms, long.previous_start.at_ms),
        (start_ms, start_ms)
    );
    assert_eq!(
        (short.current_start.at_ms, short.previous_start.at_ms),
        (start_ms + 120_000, start_ms + 60_000)
    );
    let (mark, before) = (short.current_start, short.previous_start);
    assert_eq!(mark.served - before.served, 60);
    assert_eq!(mark.freed - before.freed, 60);
    assert_eq!(mark.left - before.left, 30);
    // One came free between two ticks and one went in at each: as many were taken all the time, but for that one.
    let taken = before.served - before.freed.cast_unsigned();
    assert_eq!(mark.taken_seconds - before.taken_seconds, 60 * (taken - 1));
    assert!(mark.waiting_seconds - before.waiting_seconds > 60 * 200);

    // What anybody is told of it: one a second, and those ahead who leave.
    let told = view.estimate(&view.forecast(), 60).expect("it moves");
    assert!(told.low <= 60 && told.high >= 45 && told.high < 80, "{told:?}");
    // A changed pace or capacity, and a silence, begin anew; nobody is told anything by a line that stands.
    subject.change_settings(|settings| settings.capacity = 40).await;
    let changed_ms = subject.clock.now_ms();
    assert_eq!(subject.view().await.averages.line_since_ms, changed_ms);
    subject.advance_seconds(20);
    let silent = subject.view().await;
    assert_eq!(silent.estimate(&silent.forecast(), 60), None, "nobody drives it");
    subject.tick().await;
    let averages = subject.view().await.averages;
    assert_eq!(
        (averages.line_since_ms, averages.moving_since_ms),
        (changed_ms, changed_ms + 20_000)
    );
    subject.change_settings(|settings| settings.paused = true).await;
    subject.tick().await;
    let paused = subject.view().await;
    assert_eq!(
        (paused.averages.line_since_ms, paused.averages.moving_since_ms),
        (0, 0)
    );
    assert_eq!(paused.estimate(&paused.forecast(), 60), None);
}

pub(crate) async fn nobody_is_told_what_nobody_saw(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 20,
            session_seconds: 3_600,
            claim_seconds: 3_600,
            ..pace(10, 10)
        })
        .await;
    subject.line_up(1..=100).await;
    subject.tick().await;
    // There is room for twenty, at one a second after the first ten; nobody has gone yet.
    let view = subject.view().await;
    let forecast = view.forecast();
    let near = view.estimate(&forecast, 5).expect("there is room");
    assert!(near.low <= 5 && near.high >= 5 && near.high < 10, "{near:?}");
    assert_eq!(
        view.estimate(&forecast, 11),
        None,
        "no room that anybody knows of"
    );
    // And all the same polls are paced: by the pace alone.
    assert_eq!(forecast.eta_ms(50), 50_000);
    for number in 1..=20 {
        subject.advance_seconds(6);
        subject.tick().await;
        subject.claim(visitor(number)).await;
        subject.leave(visitor(number), LeaveReason::Complete).await;
    }
    let view = subject.view().await;
    let far = view.estimate(&view.forecast(), 50).expect("it turns over");
    assert!(far.low < 300 && far.high > 200, "one each six seconds: {far:?}");
}

pub(crate) async fn a_turn_waits_for_the_sessions_that_go_on(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 40,
            session_seconds: 300,
            ..pace(40, 1)
        })
        .await;
    assert_eq!(subject.view().await.session_ends_in_ms, [0; 0], "nobody is in");
    // Twenty are let in at once, twenty more after a hundred seconds, and everybody else waits. Nobody says that they are
    // done.
    for second in 0..=300_u64 {
        let comes = match second {
            0 => 1..21,
            100 => 21..121,
            _ => 0..0,
        };
        for number in comes {
            subject.enter(visitor(number)).await;
        }
        if second == 150 {
            let ends = subject.view().await.session_ends_in_ms;
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
    // The next turns come with the end of the sessions that began after a hundred seconds, the others with these.
    let view = subject.view().await;
    let forecast = view.forecast();
    let told = |position| view.estimate(&forecast, position).expect("it turns over");
    let (near, far) = (told(10), told(30));
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
        "polls are paced by it: {eta_ms}"
    );
}
