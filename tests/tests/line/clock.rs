//! The clock of the server or of a caller is wrong. The order holds, no session or turn ends early, and the
//! line promotes no entry by an uncertain time.

use vestibule_domain::{
    clock::CLOCK_DIFFERENCE_MAX_MS, entry_status::EntryStatus, pace::LimitedBy, settings::Settings,
    state::EntryState,
};
use vestibule_line::{AdjustClockOutcome, Arrival, LeaveReason, Line, ValidateOutcome, Validation};
use vestibule_tests::lines::{
    Backend, ManualClock, Subject, configuration, fresh_queue, tick_order, visitor,
};

use crate::settings::bounded;

pub(crate) const HOUR_MS: i64 = 3_600_000;

pub(crate) fn one_a_second() -> Settings {
    bounded(3, 1, 1)
}

/// Opens the queue so that visitor 1 is active, 2 is ready, 3 and 4 wait, and the last tick was a second ago.
/// Then it sets the server's clock wrong by this much.
pub(crate) async fn open_with_server_error(subject: &mut Subject, server_error_ms: i64) {
    subject.open(one_a_second()).await;
    subject.line_up(1..=4).await;
    assert_eq!(subject.tick().await.promoted, 1);
    subject.claim(visitor(1)).await;
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);
    subject.advance_seconds(1);
    subject.clock.set_server_error_ms(server_error_ms);
}

/// The same on another queue of the same line. Its server clock was correct so far.
pub(crate) async fn open_sibling_with_server_error(subject: &Subject, server_error_ms: i64) -> Subject {
    subject.clock.set_server_error_ms(0);
    let mut sibling = subject.sibling();
    open_with_server_error(&mut sibling, server_error_ms).await;
    sibling
}

/// Applies the offset that the caller's clock suggests, as a promoter does.
pub(crate) async fn adjust_clock(subject: &Subject) -> AdjustClockOutcome {
    let wanted_ms = subject.view().await.clocks.wanted_offset_ms();
    subject
        .line
        .adjust_clock(&subject.queue, wanted_ms)
        .await
        .expect("adjust")
}

pub(crate) async fn session_end_ms(subject: &Subject, number: u64) -> u64 {
    match subject.status(visitor(number)).await {
        EntryStatus::Active { session_end_ms, .. } => session_end_ms,
        other => panic!("not active: {other:?}"),
    }
}

pub(crate) async fn claim_by_ms(subject: &Subject, number: u64) -> u64 {
    match subject.status(visitor(number)).await {
        EntryStatus::Ready { claim_by_ms, .. } => claim_by_ms,
        other => panic!("not ready: {other:?}"),
    }
}

async fn joined_at_ms(subject: &Subject, number: u64) -> u64 {
    match subject.status(visitor(number)).await {
        EntryStatus::Waiting { score, .. } => score.joined_at_ms(),
        other => panic!("not waiting: {other:?}"),
    }
}

pub(crate) async fn a_server_clock_an_hour_wrong_stops_promotion(subject: Subject) {
    for error_ms in [HOUR_MS, -HOUR_MS] {
        let queue = open_sibling_with_server_error(&subject, error_ms).await;
        let (end_ms, claim_by_ms_before) = (session_end_ms(&queue, 1).await, claim_by_ms(&queue, 2).await);
        for _ in 0..3 {
            let tick = queue.tick().await;
            assert_eq!(
                (tick.promoted, tick.no_shows, tick.expired),
                (0, 0, 0),
                "{error_ms}"
            );
            assert_eq!(tick.limited_by, LimitedBy::Clock);
            queue.advance_seconds(1);
        }
        let clocks = queue.view().await.clocks;
        assert!(clocks.apart);
        assert_eq!((clocks.ahead_ms, clocks.offset_ms), (error_ms, 0));
        assert_eq!(
            session_end_ms(&queue, 1).await,
            end_ms,
            "an active entry keeps its session end"
        );
        assert_eq!(
            claim_by_ms(&queue, 2).await,
            claim_by_ms_before,
            "a ready entry keeps its deadline"
        );

        // A ready visitor may still claim, and the session has the usual length. It may lack the seconds in
        // which the time stood still.
        queue.claim(visitor(2)).await;
        let length_ms = session_end_ms(&queue, 2).await - queue.clock.now_ms();
        assert!((295_000..=300_000).contains(&length_ms), "{length_ms} ms");
        // One slot is free, and the other queue is empty. Still no entry takes the fast track by an uncertain
        // time.
        let empty = queue.open_sibling(one_a_second()).await;
        assert_eq!(empty.enter(visitor(9)).await.status.state(), EntryState::Waiting);
    }
}

pub(crate) async fn order_holds_while_the_server_clock_jumps(mut subject: Subject) {
    open_with_server_error(&mut subject, 0).await;
    let errors_ms = [HOUR_MS, -HOUR_MS, 0, HOUR_MS, 2 * HOUR_MS, -HOUR_MS, 0];
    let mut number = 4;
    for error_ms in errors_ms {
        subject.clock.set_server_error_ms(error_ms);
        for _ in 0..3 {
            number += 1;
            subject.enter(visitor(number)).await;
            let joined_ms = joined_at_ms(&subject, number).await;
            let difference_ms = subject.clock.now_ms().abs_diff(joined_ms);
            assert!(
                difference_ms <= 10_000,
                "visitor {number} joined {difference_ms} ms off"
            );
            subject.advance_ms(400);
        }
    }
    for behind in 3..=number {
        assert_eq!(subject.position(visitor(behind)).await, behind - 2);
    }
    // The entries are promoted in the same order.
    subject.advance_seconds(1);
    subject.leave(visitor(1), LeaveReason::Complete).await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(subject.state(visitor(3)).await, EntryState::Ready);
}

pub(crate) async fn sessions_end_within_bounds_without_an_offset(subject: Subject) {
    // The server is ahead: a session ends when both clocks agree that it is over, which is the correct moment.
    let ahead = open_sibling_with_server_error(&subject, HOUR_MS).await;
    let end_ms = session_end_ms(&ahead, 1).await;
    ahead.clock.set_ms(end_ms - 1);
    assert_eq!(session_end_ms(&ahead, 1).await, end_ms);
    ahead.clock.set_ms(end_ms);
    ahead.expect_not_found(visitor(1)).await;
    assert_eq!(
        ahead.tick().await.expired,
        0,
        "no entry is dropped while the clocks disagree"
    );

    // The server is behind: line time stands still until the server's clock reaches the last known time.
    let behind = open_sibling_with_server_error(&subject, -HOUR_MS).await;
    let end_ms = session_end_ms(&behind, 1).await;
    behind.clock.set_ms(end_ms + HOUR_MS.unsigned_abs() - 1);
    assert_eq!(session_end_ms(&behind, 1).await, end_ms);
    behind.clock.set_ms(end_ms + HOUR_MS.unsigned_abs());
    behind.expect_not_found(visitor(1)).await;
}

pub(crate) async fn a_caller_with_a_wrong_clock_does_not_affect_others(subject: Subject) {
    for error_ms in [HOUR_MS, -HOUR_MS] {
        let queue = open_sibling_with_server_error(&subject, 0).await;
        let wrong = queue.with_caller_clock_off_by_ms(error_ms);
        let (end_ms, claim_by_ms_before) = (session_end_ms(&queue, 1).await, claim_by_ms(&queue, 2).await);
        for _ in 0..5 {
            assert_eq!(wrong.tick().await.limited_by, LimitedBy::Clock);
            assert_eq!(
                adjust_clock(&wrong).await,
                AdjustClockOutcome::NotConfirmed,
                "{error_ms}"
            );
        }
        wrong.enter(visitor(5)).await;
        let place = wrong.status(visitor(5)).await;
        assert!(
            matches!(place, EntryStatus::Waiting { position: 3, .. }),
            "{place:?}"
        );
        assert_eq!(session_end_ms(&wrong, 1).await, end_ms);

        let clocks = queue.view().await.clocks;
        assert_eq!((clocks.apart, clocks.offset_ms), (false, 0));
        assert_eq!(queue.view().await.now_ms, queue.clock.now_ms());
        assert_eq!(
            queue.tick().await.promoted,
            1,
            "the other callers keep their pace"
        );
        assert_eq!(claim_by_ms(&queue, 2).await, claim_by_ms_before);
        // A session that the wrong caller starts has about the usual length.
        wrong.claim(visitor(2)).await;
        let length_ms = session_end_ms(&queue, 2).await - queue.clock.now_ms();
        assert!((295_000..=300_000).contains(&length_ms), "{length_ms} ms");
    }
}

pub(crate) async fn a_clock_difference_of_a_few_seconds_is_tolerated(mut subject: Subject) {
    // Witnesses report whole milliseconds.
    let tolerated_ms = i64::try_from(CLOCK_DIFFERENCE_MAX_MS).expect("small") - 1;
    open_with_server_error(&mut subject, tolerated_ms).await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert!(!subject.view().await.clocks.apart);
    subject.clock.set_server_error_ms(tolerated_ms + 2);
    assert_eq!(subject.tick().await.limited_by, LimitedBy::Clock);
    subject.clock.set_server_error_ms(-tolerated_ms);
    assert!(!subject.view().await.clocks.apart);
    subject.clock.set_server_error_ms(-tolerated_ms - 3);
    assert!(subject.view().await.clocks.apart);
}

pub(crate) async fn a_pause_during_a_clock_error_keeps_the_claim_time(mut subject: Subject) {
    open_with_server_error(&mut subject, HOUR_MS).await;
    let left_ms = claim_by_ms(&subject, 2).await - subject.clock.now_ms();
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(3);
    assert_eq!(subject.tick().await.limited_by, LimitedBy::Clock);
    assert_eq!(adjust_clock(&subject).await, AdjustClockOutcome::Applied);
    subject.advance_seconds(600);
    subject.change_settings(|settings| settings.paused = false).await;
    let now_left_ms = claim_by_ms(&subject, 2).await - subject.clock.now_ms();
    assert_eq!(now_left_ms, left_ms);
}

/// Uses the server's own `TIME`, and callers whose clock is wrong by an hour.
#[tokio::test]
async fn a_real_server_is_checked_against_its_callers_clocks() {
    let line = Line::connect_patiently(&Backend::Redis.url())
        .await
        .expect("the server answers");
    let queue = fresh_queue();
    let created = line
        .configure(&queue, &configuration(&one_a_second()), true)
        .await;
    created.expect("configure");
    let order = tick_order(u64::MAX);
    for number in 1..=5 {
        line.enter(&queue, visitor(number), Arrival::Ordinary)
            .await
            .expect("enter");
    }
    let tick = line.promote(&queue, order).await.expect("promote");
    assert!(
        !tick.clocks.apart,
        "server and caller share the clock of this machine: {tick:?}"
    );
    let began_ms = tick.now_ms;

    let system = ManualClock::new();
    for error_ms in [HOUR_MS, -HOUR_MS] {
        // The manual clock may stand still for as long as this test takes.
        system.set_ms(line.queue_view(&queue).await.expect("view").now_ms);
        let off = line.clone().with_witness(system.as_clock_off_by_ms(error_ms));
        let tick = off.promote(&queue, order).await.expect("promote");
        assert_eq!((tick.promoted, tick.limited_by), (0, LimitedBy::Clock));
        let seen_ms = off.queue_view(&queue).await.expect("view").clocks.ahead_ms;
        assert!(seen_ms.abs_diff(-error_ms) < 60_000, "{seen_ms}");
        let check = Validation {
            visit: None,
            claims: false,
            consumes: false,
            use_id: None,
            reactivate_until_ms: None,
        };
        let may_act = off.validate(&queue, visitor(1), check).await.expect("validate");
        assert!(matches!(may_act, ValidateOutcome::Active { .. }), "{may_act:?}");
    }
    let view = line.queue_view(&queue).await.expect("view");
    assert!(view.now_ms.abs_diff(began_ms) < 60_000 && view.clocks.offset_ms == 0);
}
