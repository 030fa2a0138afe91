//! Where the server's clock is known to be wrong: callers set an offset, and all goes on by the right time.

use vestibule_domain::{pace::LimitedBy, settings::Settings, state::EntryState};
use vestibule_line::AdjustClockOutcome;
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::{
    clock::{HOUR_MS, adjust, claim_by_ms, one_by_one, scene, scene_beside, session_end_ms},
    restore::places,
};

pub(crate) async fn with_an_offset_everything_goes_on(subject: Subject) {
    for off_ms in [HOUR_MS, -HOUR_MS] {
        let mut here = scene_beside(&subject, off_ms).await;
        let (end_ms, by_ms) = (session_end_ms(&here, 1).await, claim_by_ms(&here, 2).await);
        for _ in 0..3 {
            here.tick().await;
            here.advance_seconds(1);
        }
        assert_eq!(adjust(&here).await, AdjustClockOutcome::Applied, "{off_ms}");
        let clocks = here.view().await.clocks;
        assert_eq!((clocks.apart, clocks.offset_ms), (false, -off_ms));
        assert_eq!(
            adjust(&here).await,
            AdjustClockOutcome::ClocksAgree,
            "once is enough"
        );
        assert_eq!(here.view().await.now_ms, here.clock.now_ms());

        // The pace goes on, without a burst: one place is free, and one token there whatever the clock did.
        assert_eq!(here.tick().await.promoted, 1);
        assert_eq!(here.state(visitor(3)).await, EntryState::Ready);
        here.change_settings(|settings| settings.capacity = 100).await;
        assert_eq!(here.tick().await.promoted, 0);
        here.advance_seconds(1);
        assert_eq!(here.tick().await.promoted, 1);

        // Deadlines come when they should have come.
        here.clock.set_ms(by_ms - 1);
        assert_eq!(claim_by_ms(&here, 2).await, by_ms);
        here.clock.set_ms(by_ms);
        assert_eq!(here.tick().await.no_shows, 1);
        here.clock.set_ms(end_ms - 1);
        assert_eq!(
            (here.tick().await.expired, session_end_ms(&here, 1).await),
            (0, end_ms)
        );
        here.clock.set_ms(end_ms);
        assert_eq!(here.tick().await.expired, 1);

        // Somebody puts the server's clock right: the offset is wrong now, and goes.
        here.clock.set_server_error_ms(0);
        assert_eq!(here.tick().await.limited_by, LimitedBy::Clock);
        here.advance_seconds(3);
        assert_eq!(adjust(&here).await, AdjustClockOutcome::Applied);
        let clocks = here.view().await.clocks;
        assert_eq!((clocks.apart, clocks.offset_ms), (false, 0));
        assert_ne!(here.tick().await.limited_by, LimitedBy::Clock);
    }
}

pub(crate) async fn a_second_caller_decides_where_the_line_does_not_know(mut subject: Subject) {
    scene(&mut subject, 0).await;
    // Nobody ticked for two hours, and the server was set back meanwhile: its time is later than any that the line knows.
    subject.advance_seconds(7_200);
    subject.clock.set_server_error_ms(-HOUR_MS);
    assert_eq!(subject.tick().await.limited_by, LimitedBy::Clock);
    assert_eq!(adjust(&subject).await, AdjustClockOutcome::NotConfirmed);
    // A caller who wants something else is no help; one who sees the same is.
    subject
        .with_caller_clock_off_by_ms(HOUR_MS / 2)
        .enter(visitor(5))
        .await;
    assert_eq!(adjust(&subject).await, AdjustClockOutcome::NotConfirmed);
    subject.with_caller_clock_off_by_ms(900).enter(visitor(6)).await;
    assert_eq!(adjust(&subject).await, AdjustClockOutcome::Applied);
    assert_eq!(subject.view().await.now_ms, subject.clock.now_ms());
    // What a caller saw is forgotten when somebody sees that the server is right.
    subject.tick().await;
    subject
        .with_caller_clock_off_by_ms(HOUR_MS)
        .enter(visitor(7))
        .await;
    subject.tick().await;
    let other = subject.with_caller_clock_off_by_ms(HOUR_MS);
    assert_eq!(adjust(&other).await, AdjustClockOutcome::NotConfirmed);
}

pub(crate) async fn a_quiet_queue_knows_the_time_by_its_ticks(mut subject: Subject) {
    let long = Settings {
        session_seconds: 3_000,
        ..one_by_one()
    };
    subject.open(long).await;
    subject.enter(visitor(1)).await;
    let end_ms = session_end_ms(&subject, 1).await;
    // Half an hour in which nothing changed.
    subject.advance_seconds(1_800);
    subject.tick().await;
    let ticked_ms = subject.clock.now_ms();
    subject.clock.set_server_error_ms(-HOUR_MS);
    subject.advance_seconds(3);
    assert_eq!(subject.view().await.now_ms, ticked_ms, "it does not go back");
    assert_eq!(adjust(&subject).await, AdjustClockOutcome::Applied);
    assert_eq!(subject.view().await.now_ms, subject.clock.now_ms());
    assert_eq!(session_end_ms(&subject, 1).await, end_ms);
}

pub(crate) async fn an_offset_that_was_read_too_long_ago_is_not_set(mut subject: Subject) {
    scene(&mut subject, HOUR_MS).await;
    let wanted_ms = subject.view().await.clocks.wanted_offset_ms();
    subject.clock.set_server_error_ms(2 * HOUR_MS);
    let adjusted = subject.line.adjust_clock(&subject.queue, wanted_ms).await;
    assert_eq!(adjusted.expect("adjust"), AdjustClockOutcome::NotConfirmed);
    assert_eq!(subject.view().await.clocks.offset_ms, 0);
}

pub(crate) async fn a_queue_put_back_by_a_server_that_is_off_calls_again(subject: Subject) {
    for off_ms in [HOUR_MS, -HOUR_MS] {
        let old = scene_beside(&subject, off_ms).await;
        let promotions = old.journal().await.into_iter().flat_map(|record| record.changes);
        let places = places(&promotions.collect::<Vec<_>>());
        let fresh = subject.sibling();
        let configuration = configuration(&one_by_one());
        let restored = fresh.line.restore(&fresh.queue, &configuration, 0, places).await;
        restored.expect("restored");
        let left_ms = claim_by_ms(&fresh, 2).await.saturating_sub(fresh.clock.now_ms());
        assert!(
            (55_000..=60_000).contains(&left_ms),
            "{off_ms}: {left_ms} ms to claim"
        );
        assert_eq!(fresh.tick().await.limited_by, LimitedBy::Clock);
        assert_eq!(adjust(&fresh).await, AdjustClockOutcome::Applied, "{off_ms}");
        assert_eq!(fresh.tick().await.no_shows, 0);
        assert_eq!(fresh.state(visitor(2)).await, EntryState::Ready);
    }
}
