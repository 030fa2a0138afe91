//! An offset corrects a server clock that is known to be wrong, and the queue continues by the correct time.

use vestibule_domain::{pace::LimitedBy, settings::Settings, state::EntryState};
use vestibule_line::AdjustClockOutcome;
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::{
    clock::{
        HOUR_MS, adjust_clock, claim_by_ms, one_a_second, open_sibling_with_server_error,
        open_with_server_error, session_end_ms,
    },
    restore::restored_entries,
};

pub(crate) async fn with_an_offset_promotion_and_deadlines_continue(subject: Subject) {
    for error_ms in [HOUR_MS, -HOUR_MS] {
        let mut queue = open_sibling_with_server_error(&subject, error_ms).await;
        let (end_ms, claim_by_ms_before) = (session_end_ms(&queue, 1).await, claim_by_ms(&queue, 2).await);
        for _ in 0..3 {
            queue.tick().await;
            queue.advance_seconds(1);
        }
        assert_eq!(
            adjust_clock(&queue).await,
            AdjustClockOutcome::Applied,
            "{error_ms}"
        );
        let clocks = queue.view().await.clocks;
        assert_eq!((clocks.apart, clocks.offset_ms), (false, -error_ms));
        assert_eq!(
            adjust_clock(&queue).await,
            AdjustClockOutcome::ClocksAgree,
            "a second adjustment changes nothing"
        );
        assert_eq!(queue.view().await.now_ms, queue.clock.now_ms());

        // The pace continues without a burst: one slot is free, and the bucket holds one token whatever the
        // clock did.
        assert_eq!(queue.tick().await.promoted, 1);
        assert_eq!(queue.state(visitor(3)).await, EntryState::Ready);
        queue.change_settings(|settings| settings.capacity = 100).await;
        assert_eq!(queue.tick().await.promoted, 0);
        queue.advance_seconds(1);
        assert_eq!(queue.tick().await.promoted, 1);

        // Deadlines arrive at their correct time.
        queue.clock.set_ms(claim_by_ms_before - 1);
        assert_eq!(claim_by_ms(&queue, 2).await, claim_by_ms_before);
        queue.clock.set_ms(claim_by_ms_before);
        assert_eq!(queue.tick().await.no_shows, 1);
        queue.clock.set_ms(end_ms - 1);
        assert_eq!(
            (queue.tick().await.expired, session_end_ms(&queue, 1).await),
            (0, end_ms)
        );
        queue.clock.set_ms(end_ms);
        assert_eq!(queue.tick().await.expired, 1);

        // An administrator corrects the server's clock: the offset is wrong now and is removed.
        queue.clock.set_server_error_ms(0);
        assert_eq!(queue.tick().await.limited_by, LimitedBy::Clock);
        queue.advance_seconds(3);
        assert_eq!(adjust_clock(&queue).await, AdjustClockOutcome::Applied);
        let clocks = queue.view().await.clocks;
        assert_eq!((clocks.apart, clocks.offset_ms), (false, 0));
        assert_ne!(queue.tick().await.limited_by, LimitedBy::Clock);
    }
}

/// The server's clock and every caller's were ahead, and both were corrected.
pub(crate) async fn a_line_ahead_of_both_clocks_waits_for_them(mut subject: Subject) {
    subject.open(one_a_second()).await;
    subject.line_up([1, 2, 3]).await;
    assert_eq!(subject.tick().await.promoted, 1);
    subject.advance_seconds(1);
    subject.tick().await;
    let (claim_by_ms, ahead_ms) = (claim_by_ms(&subject, 1).await, subject.clock.now_ms());
    for seconds_behind in [90, 6] {
        subject.clock.set_ms(ahead_ms - seconds_behind * 1_000);
        let tick = subject.tick().await;
        assert_eq!(
            (tick.limited_by, tick.promoted, tick.no_shows, tick.clocks.apart),
            (LimitedBy::Clock, 0, 0, true),
            "{seconds_behind} s behind"
        );
        assert!(!tick.clocks.is_server_off());
        assert_eq!(
            adjust_clock(&subject).await,
            AdjustClockOutcome::ClocksAgree,
            "no offset helps: the clocks are right"
        );
    }
    subject.clock.set_ms(ahead_ms - 4_000);
    assert_ne!(subject.tick().await.limited_by, LimitedBy::Clock);
    subject.clock.set_ms(claim_by_ms);
    assert_eq!(subject.tick().await.no_shows, 1);
}

pub(crate) async fn a_second_caller_confirms_an_offset_the_line_cannot(mut subject: Subject) {
    open_with_server_error(&mut subject, 0).await;
    // No tick ran for two hours, and the server's clock was set back meanwhile. Its time is later than any time
    // that the line knows.
    subject.advance_seconds(7_200);
    subject.clock.set_server_error_ms(-HOUR_MS);
    assert_eq!(subject.tick().await.limited_by, LimitedBy::Clock);
    assert_eq!(adjust_clock(&subject).await, AdjustClockOutcome::NotConfirmed);
    // A caller that suggests another offset does not confirm it. A caller that sees the same does.
    subject
        .with_caller_clock_off_by_ms(HOUR_MS / 2)
        .enter(visitor(5))
        .await;
    assert_eq!(adjust_clock(&subject).await, AdjustClockOutcome::NotConfirmed);
    subject.with_caller_clock_off_by_ms(900).enter(visitor(6)).await;
    assert_eq!(adjust_clock(&subject).await, AdjustClockOutcome::Applied);
    assert_eq!(subject.view().await.now_ms, subject.clock.now_ms());
    // The suggestion of a caller is dropped once another caller sees that the server is correct.
    subject.tick().await;
    subject
        .with_caller_clock_off_by_ms(HOUR_MS)
        .enter(visitor(7))
        .await;
    subject.tick().await;
    let other = subject.with_caller_clock_off_by_ms(HOUR_MS);
    assert_eq!(adjust_clock(&other).await, AdjustClockOutcome::NotConfirmed);
}

pub(crate) async fn ticks_alone_keep_the_time_of_a_quiet_queue(mut subject: Subject) {
    let long = Settings {
        session_seconds: 3_000,
        ..one_a_second()
    };
    subject.open(long).await;
    subject.enter(visitor(1)).await;
    let end_ms = session_end_ms(&subject, 1).await;
    // Nothing changes for half an hour.
    subject.advance_seconds(1_800);
    subject.tick().await;
    let ticked_ms = subject.clock.now_ms();
    subject.clock.set_server_error_ms(-HOUR_MS);
    subject.advance_seconds(3);
    assert_eq!(
        subject.view().await.now_ms,
        ticked_ms,
        "line time does not go back"
    );
    assert_eq!(adjust_clock(&subject).await, AdjustClockOutcome::Applied);
    assert_eq!(subject.view().await.now_ms, subject.clock.now_ms());
    assert_eq!(session_end_ms(&subject, 1).await, end_ms);
}

pub(crate) async fn an_outdated_offset_is_not_applied(mut subject: Subject) {
    open_with_server_error(&mut subject, HOUR_MS).await;
    let wanted_ms = subject.view().await.clocks.wanted_offset_ms();
    subject.clock.set_server_error_ms(2 * HOUR_MS);
    let adjusted = subject.line.adjust_clock(&subject.queue, wanted_ms).await;
    assert_eq!(adjusted.expect("adjust"), AdjustClockOutcome::NotConfirmed);
    assert_eq!(subject.view().await.clocks.offset_ms, 0);
}

pub(crate) async fn a_restore_on_a_wrong_server_clock_renews_claim_times(subject: Subject) {
    for error_ms in [HOUR_MS, -HOUR_MS] {
        let old = open_sibling_with_server_error(&subject, error_ms).await;
        let promotions = old.journal().await.into_iter().flat_map(|record| record.changes);
        let places = restored_entries(&promotions.collect::<Vec<_>>());
        let fresh = subject.sibling();
        let configuration = configuration(&one_a_second());
        let restored = fresh.line.restore(&fresh.queue, &configuration, 0, places).await;
        restored.expect("restore");
        let left_ms = claim_by_ms(&fresh, 2).await.saturating_sub(fresh.clock.now_ms());
        assert!(
            (55_000..=60_000).contains(&left_ms),
            "{error_ms}: {left_ms} ms to claim"
        );
        assert_eq!(fresh.tick().await.limited_by, LimitedBy::Clock);
        assert_eq!(
            adjust_clock(&fresh).await,
            AdjustClockOutcome::Applied,
            "{error_ms}"
        );
        assert_eq!(fresh.tick().await.no_shows, 0);
        assert_eq!(fresh.state(visitor(2)).await, EntryState::Ready);
    }
}
