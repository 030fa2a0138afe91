//! The server's clock is wrong, or a caller's is: order stays, nothing ends before its time, nobody is let in by a guess.

use vestibule_domain::{
    clock::CLOCK_DIFFERENCE_MAX_MS, entry_status::EntryStatus, pace::LimitedBy, settings::Settings,
    state::EntryState,
};
use vestibule_line::{AdjustClockOutcome, LeaveReason, Line, ValidateOutcome, Validation};
use vestibule_line_redis::RedisLine;
use vestibule_tests::lines::{
    Backend, ManualClock, Subject, configuration, fresh_queue, tick_order, visitor,
};

pub(crate) const HOUR_MS: i64 = 3_600_000;

pub(crate) fn one_by_one() -> Settings {
    Settings {
        capacity: 3,
        batch: 1,
        interval_seconds: 1,
        ..Settings::default()
    }
}

/// Visitor 1 is active, 2 is ready, 3 and 4 wait, and the last tick was a second ago; then the server's clock is set.
pub(crate) async fn scene(subject: &mut Subject, server_off_ms: i64) {
    subject.open(one_by_one()).await;
    subject.line_up(1..=4).await;
    assert_eq!(subject.tick().await.promoted, 1);
    subject.claim(visitor(1)).await;
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);
    subject.advance_seconds(1);
    subject.clock.set_server_error_ms(server_off_ms);
}

/// The same on another queue of the same line, where nobody has done anything to the server's clock before.
pub(crate) async fn scene_beside(subject: &Subject, server_off_ms: i64) -> Subject {
    subject.clock.set_server_error_ms(0);
    let mut beside = subject.sibling();
    scene(&mut beside, server_off_ms).await;
    beside
}

/// A promoter sets the offset that its own clock asks for.
pub(crate) async fn adjust(subject: &Subject) -> AdjustClockOutcome {
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

pub(crate) async fn a_queue_whose_server_is_an_hour_off_holds_and_says_so(subject: Subject) {
    for off_ms in [HOUR_MS, -HOUR_MS] {
        let here = scene_beside(&subject, off_ms).await;
        let (end_ms, by_ms) = (session_end_ms(&here, 1).await, claim_by_ms(&here, 2).await);
        for _ in 0..3 {
            let tick = here.tick().await;
            assert_eq!(
                (tick.promoted, tick.no_shows, tick.expired),
                (0, 0, 0),
                "{off_ms}"
            );
            assert_eq!(tick.limited_by, LimitedBy::Clock);
            here.advance_seconds(1);
        }
        let clocks = here.view().await.clocks;
        assert!(clocks.apart);
        assert_eq!((clocks.ahead_ms, clocks.offset_ms), (off_ms, 0));
        assert_eq!(session_end_ms(&here, 1).await, end_ms, "who is in stays in");
        assert_eq!(claim_by_ms(&here, 2).await, by_ms, "who was called stays called");

        // Who was called may come all the same, and the session is as long as any: a held second may be missing.
        here.claim(visitor(2)).await;
        let length_ms = session_end_ms(&here, 2).await - here.clock.now_ms();
        assert!((295_000..=300_000).contains(&length_ms), "{length_ms} ms");
        // One place is free and so is the fast track of an empty line; nobody is let in by a clock that may be wrong.
        let empty = here.open_sibling(one_by_one()).await;
        assert_eq!(empty.enter(visitor(9)).await.status.state(), EntryState::Waiting);
    }
}

pub(crate) async fn order_stays_while_the_server_is_set_forward_and_back(mut subject: Subject) {
    scene(&mut subject, 0).await;
    let offs = [HOUR_MS, -HOUR_MS, 0, HOUR_MS, 2 * HOUR_MS, -HOUR_MS, 0];
    let mut number = 4;
    for off_ms in offs {
        subject.clock.set_server_error_ms(off_ms);
        for _ in 0..3 {
            number += 1;
            subject.enter(visitor(number)).await;
            let joined_ms = joined_at_ms(&subject, number).await;
            let off_by_ms = subject.clock.now_ms().abs_diff(joined_ms);
            assert!(off_by_ms <= 10_000, "visitor {number} joined {off_by_ms} ms off");
            subject.advance_ms(400);
        }
    }
    for behind in 3..=number {
        assert_eq!(subject.position(visitor(behind)).await, behind - 2);
    }
    // And so they are let in.
    subject.advance_seconds(1);
    subject.leave(visitor(1), LeaveReason::Complete).await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(subject.state(visitor(3)).await, EntryState::Ready);
}

pub(crate) async fn sessions_end_in_bounds_where_nobody_sets_an_offset(subject: Subject) {
    // Ahead: a session is over when both clocks say so, which is when it should be.
    let ahead = scene_beside(&subject, HOUR_MS).await;
    let end_ms = session_end_ms(&ahead, 1).await;
    ahead.clock.set_ms(end_ms - 1);
    assert_eq!(session_end_ms(&ahead, 1).await, end_ms);
    ahead.clock.set_ms(end_ms);
    ahead.expect_not_found(visitor(1)).await;
    assert_eq!(ahead.tick().await.expired, 0, "nothing is dropped meanwhile");

    // Behind: line time stands still, and goes on when the server's clock comes to where it was.
    let behind = scene_beside(&subject, -HOUR_MS).await;
    let end_ms = session_end_ms(&behind, 1).await;
    behind.clock.set_ms(end_ms + HOUR_MS.unsigned_abs() - 1);
    assert_eq!(session_end_ms(&behind, 1).await, end_ms);
    behind.clock.set_ms(end_ms + HOUR_MS.unsigned_abs());
    behind.expect_not_found(visitor(1)).await;
}

pub(crate) async fn a_caller_with_a_wrong_clock_changes_nothing_for_others(subject: Subject) {
    for off_ms in [HOUR_MS, -HOUR_MS] {
        let here = scene_beside(&subject, 0).await;
        let wrong = here.with_caller_clock_off_by_ms(off_ms);
        let (end_ms, by_ms) = (session_end_ms(&here, 1).await, claim_by_ms(&here, 2).await);
        for _ in 0..5 {
            assert_eq!(wrong.tick().await.limited_by, LimitedBy::Clock);
            assert_eq!(adjust(&wrong).await, AdjustClockOutcome::NotConfirmed, "{off_ms}");
        }
        wrong.enter(visitor(5)).await;
        let place = wrong.status(visitor(5)).await;
        assert!(
            matches!(place, EntryStatus::Waiting { position: 3, .. }),
            "{place:?}"
        );
        assert_eq!(session_end_ms(&wrong, 1).await, end_ms);

        let clocks = here.view().await.clocks;
        assert_eq!((clocks.apart, clocks.offset_ms), (false, 0));
        assert_eq!(here.view().await.now_ms, here.clock.now_ms());
        assert_eq!(here.tick().await.promoted, 1, "the others go on at their pace");
        assert_eq!(claim_by_ms(&here, 2).await, by_ms);
        // Whoever the wrong one lets in stays about as long as the others.
        wrong.claim(visitor(2)).await;
        let length_ms = session_end_ms(&here, 2).await - here.clock.now_ms();
        assert!((295_000..=300_000).contains(&length_ms), "{length_ms} ms");
    }
}

pub(crate) async fn a_few_seconds_are_borne(mut subject: Subject) {
    // Witnesses count whole milliseconds.
    let borne_ms = i64::try_from(CLOCK_DIFFERENCE_MAX_MS).expect("small") - 1;
    scene(&mut subject, borne_ms).await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert!(!subject.view().await.clocks.apart);
    subject.clock.set_server_error_ms(borne_ms + 2);
    assert_eq!(subject.tick().await.limited_by, LimitedBy::Clock);
    subject.clock.set_server_error_ms(-borne_ms);
    assert!(!subject.view().await.clocks.apart);
    subject.clock.set_server_error_ms(-borne_ms - 3);
    assert!(subject.view().await.clocks.apart);
}

pub(crate) async fn a_pause_that_begins_while_the_clocks_are_apart_takes_no_turn(mut subject: Subject) {
    scene(&mut subject, HOUR_MS).await;
    let left_ms = claim_by_ms(&subject, 2).await - subject.clock.now_ms();
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(3);
    assert_eq!(subject.tick().await.limited_by, LimitedBy::Clock);
    assert_eq!(adjust(&subject).await, AdjustClockOutcome::Applied);
    subject.advance_seconds(600);
    subject.change_settings(|settings| settings.paused = false).await;
    let now_left_ms = claim_by_ms(&subject, 2).await - subject.clock.now_ms();
    assert_eq!(now_left_ms, left_ms);
}

/// By the server's own `TIME`, with callers an hour beside it.
#[tokio::test]
async fn a_real_server_is_watched_by_its_callers() {
    let line = RedisLine::connect(&Backend::Redis.url()).await.expect("answers");
    let queue = fresh_queue();
    let created = line.configure(&queue, &configuration(&one_by_one()), true).await;
    created.expect("configure");
    let order = tick_order(u64::MAX);
    for number in 1..=5 {
        line.enter(&queue, visitor(number)).await.expect("enter");
    }
    let tick = line.promote(&queue, order).await.expect("promote");
    assert!(!tick.clocks.apart, "one machine has one time: {tick:?}");
    let began_ms = tick.now_ms;

    let system = ManualClock::new();
    for off_ms in [HOUR_MS, -HOUR_MS] {
        // As long as this test takes, the hand clock may stand.
        system.set_ms(line.queue_view(&queue).await.expect("view").now_ms);
        let off = line.clone().with_witness(system.as_clock_off_by_ms(off_ms));
        let tick = off.promote(&queue, order).await.expect("promote");
        assert_eq!((tick.promoted, tick.limited_by), (0, LimitedBy::Clock));
        let seen_ms = off.queue_view(&queue).await.expect("view").clocks.ahead_ms;
        assert!(seen_ms.abs_diff(-off_ms) < 60_000, "{seen_ms}");
        let check = Validation {
            visit: None,
            claims: false,
            consumes: false,
            reactivate_until_ms: None,
        };
        let may_act = off.validate(&queue, visitor(1), check).await.expect("validate");
        assert!(matches!(may_act, ValidateOutcome::Active { .. }), "{may_act:?}");
    }
    let view = line.queue_view(&queue).await.expect("view");
    assert!(view.now_ms.abs_diff(began_ms) < 60_000 && view.clocks.offset_ms == 0);
}
