//! How visitors are let in: with or without the fast track, and without a line.

use vestibule_domain::{
    pace::LimitedBy,
    settings::{Entrance, Mode, Settings},
    state::EntryState,
};
use vestibule_line::{Arrival, EnterOutcome, JoinKind, PROMOTE_CHUNK, Refusal};
use vestibule_tests::lines::{Subject, visitor};

use crate::presence::{CALL_SECONDS, run_seconds};
use crate::settings::{bounded, in_turn, with_pace};

/// One slot, and one promotion an hour.
fn narrow() -> Settings {
    bounded(1, 1, 3_600)
}

async fn enter_and_get_state(subject: &Subject, number: u64) -> EntryState {
    subject.enter(visitor(number)).await.status.state()
}

pub(crate) async fn without_the_fast_track_every_visitor_waits_for_a_tick(mut subject: Subject) {
    subject
        .open(Settings {
            fast_track: false,
            ..with_pace(5, 1)
        })
        .await;
    for number in 1..=3 {
        let entered = subject.enter(visitor(number)).await;
        assert_eq!(entered.status.state(), EntryState::Waiting);
    }
    let before = subject.view().await;
    assert_eq!(
        (before.waiting, before.active, before.totals.fast_tracked),
        (3, 0, 0)
    );
    // The first tick after entering promotes them, and the queue is empty again.
    let tick = subject.tick().await;
    assert_eq!((tick.promoted, tick.waiting), (3, 0));
    subject.advance_seconds(1);
    assert_eq!(
        subject.enter(visitor(4)).await.status.state(),
        EntryState::Waiting
    );

    subject
        .change_settings(|settings| settings.fast_track = true)
        .await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(subject.enter(visitor(5)).await.status.state(), EntryState::Active);
    let after = subject.view().await;
    assert_eq!((after.totals.promoted, after.totals.fast_tracked), (4, 1));
}

pub(crate) async fn passthrough_lets_every_visitor_in_at_once(mut subject: Subject) {
    subject
        .open(Settings {
            mode: Mode::Passthrough,
            fast_track: false,
            ..narrow()
        })
        .await;
    for number in 1..=5 {
        assert_eq!(enter_and_get_state(&subject, number).await, EntryState::Active);
    }
    let view = subject.view().await;
    assert_eq!((view.active, view.totals.fast_tracked, view.waiting), (5, 5, 0));
    assert_eq!(subject.enter(visitor(3)).await.kind, JoinKind::Kept);

    // Back in a queue, the taken slots count, and visitors wait until these are below the capacity.
    subject
        .change_settings(|settings| settings.mode = Mode::Queue)
        .await;
    assert_eq!(enter_and_get_state(&subject, 6).await, EntryState::Waiting);
    let tick = subject.tick().await;
    assert_eq!((tick.promoted, tick.limited_by), (0, LimitedBy::Capacity));
    subject.change_settings(|settings| settings.capacity = 6).await;
    let tick = subject.tick().await;
    assert_eq!(
        (tick.promoted, tick.limited_by),
        (1, LimitedBy::Line),
        "those who passed spent no token of the pace"
    );
}

pub(crate) async fn passthrough_promotes_a_line_in_chunks(mut subject: Subject) {
    subject.open(in_turn(narrow())).await;
    let count = PROMOTE_CHUNK + 5;
    subject.line_up(1..=count).await;
    assert_eq!(subject.tick().await.promoted, 1);
    subject
        .change_settings(|settings| settings.mode = Mode::Passthrough)
        .await;
    // A visitor who enters passes those who wait, and so does one of them who enters again.
    assert_eq!(enter_and_get_state(&subject, 5_000).await, EntryState::Active);
    let again = subject.enter(visitor(count)).await;
    assert_eq!(
        (again.kind, again.status.state()),
        (JoinKind::Kept, EntryState::Active)
    );
    let first = subject.tick().await;
    assert_eq!((first.promoted, first.has_more), (PROMOTE_CHUNK, true));
    let second = subject.tick().await;
    assert_eq!((second.promoted, second.waiting, second.has_more), (3, 0, false));

    // The pace bucket is not in debt. It has the token again that the first promotion of an hour ago took.
    subject.advance_seconds(3_601);
    subject.tick().await;
    subject
        .change_settings(|settings| (settings.mode, settings.capacity) = (Mode::Queue, 10_000))
        .await;
    assert_eq!(enter_and_get_state(&subject, 6_000).await, EntryState::Active);
    assert_eq!(enter_and_get_state(&subject, 6_001).await, EntryState::Waiting);
}

pub(crate) async fn passthrough_obeys_the_switches(mut subject: Subject) {
    let opens_at_ms = subject.clock.now_ms() + 10_000;
    let passthrough = Settings {
        mode: Mode::Passthrough,
        opens_at_ms: Some(opens_at_ms),
        ..narrow()
    };
    subject.open(passthrough).await;
    assert_eq!(
        enter_and_get_state(&subject, 1).await,
        EntryState::Waiting,
        "the queue is scheduled"
    );
    assert_eq!(subject.tick().await.limited_by, LimitedBy::Switch);
    subject.advance_seconds(10);
    subject.change_settings(|settings| settings.paused = true).await;
    assert_eq!(enter_and_get_state(&subject, 2).await, EntryState::Waiting);
    let paused = subject.tick().await;
    assert_eq!((paused.promoted, paused.limited_by), (0, LimitedBy::Switch));
    let refusals = [
        (Entrance::Draining, Refusal::Draining),
        (Entrance::Closed, Refusal::Closed),
        (Entrance::Finished, Refusal::Finished),
        (Entrance::SoldOut, Refusal::Finished),
        (Entrance::Cancelled, Refusal::Finished),
    ];
    for (entrance, refusal) in refusals {
        subject
            .change_settings(|settings| (settings.paused, settings.entrance) = (false, entrance))
            .await;
        let refused = subject
            .line
            .enter(&subject.queue, visitor(3), Arrival::Ordinary)
            .await;
        assert_eq!(refused.expect("enter"), EnterOutcome::Refused(refusal));
    }
    subject
        .change_settings(|settings| settings.entrance = Entrance::Open)
        .await;
    assert_eq!(enter_and_get_state(&subject, 3).await, EntryState::Active);
}

pub(crate) async fn passthrough_calls_a_long_line_and_skips_the_silent(mut subject: Subject) {
    subject.open(narrow()).await;
    subject.line_up_silently(1..=1_200).await;
    subject.tick().await;
    let called_before = subject.view().await.called;
    subject
        .change_settings(|settings| settings.mode = Mode::Passthrough)
        .await;
    subject.tick().await;
    let view = subject.view().await;
    assert!(
        called_before < 600 && view.called + view.ready == 1_200,
        "{called_before} were called, and then {} of the rest",
        view.called
    );
    // The others have not been there to check in, so no turn is lost on them.
    let place = subject.line.check_in(&subject.queue, visitor(1_000)).await;
    place.expect("an answer");
    assert_eq!(subject.tick().await.ready, 0);
    assert_eq!(subject.state(visitor(1_000)).await, EntryState::Waiting);
    run_seconds(&subject, CALL_SECONDS + 2, &[1_000]).await;
    assert_eq!(subject.state(visitor(1_000)).await, EntryState::Ready);
}
