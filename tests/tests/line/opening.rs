//! The opening of a queue: before it visitors line up, and it cannot be undone.

use vestibule_domain::{
    configuration::Configuration, pace::LimitedBy, queue_state::QueueState, settings::Settings,
    state::EntryState,
};
use vestibule_line::{Arrival, EnterOutcome, JoinKind};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    presence::{check_in, lane},
    restore::{configuration_of_epoch, restored_entries},
    settings::{in_turn, three_a_second},
};

/// These settings, and the opening in so many seconds.
fn opening_in(subject: &Subject, seconds: u64, settings: Settings) -> Settings {
    Settings {
        opens_at_ms: Some(subject.clock.now_ms() + seconds * 1_000),
        ..settings
    }
}

pub(crate) async fn before_the_opening_visitors_line_up_and_none_is_promoted(mut subject: Subject) {
    let settings = opening_in(&subject, 300, three_a_second());
    subject.open(settings).await;
    for number in 1..=4 {
        // The line is empty and all slots are free, and yet no visitor is let in.
        assert_eq!(
            subject.enter(visitor(number)).await.status.state(),
            EntryState::Waiting
        );
        subject.advance_ms(1);
    }
    for _ in 0..4 {
        subject.advance_seconds(60);
        let tick = subject.tick().await;
        assert_eq!(
            (tick.promoted, tick.absences, tick.limited_by),
            (0, 0, LimitedBy::Switch)
        );
        assert!(check_in(&subject, 1).await.is_some());
        assert_eq!(subject.enter(visitor(2)).await.kind, JoinKind::Kept);
    }
    let view = subject.view().await;
    assert_eq!(view.state(), QueueState::Scheduled);
    assert_eq!(
        (view.called, view.absent, lane(&subject).await.gone_ahead),
        (0, 0, 0)
    );
    // A visitor of the operator is let in past the line.
    let bypass = subject
        .line
        .enter(&subject.queue, visitor(9), Arrival::Bypass)
        .await;
    assert!(
        matches!(bypass, Ok(EnterOutcome::Joined { status, .. }) if status.state() == EntryState::Active)
    );

    subject.advance_ms(59_995);
    assert_eq!(subject.tick().await.promoted, 0, "a millisecond before");
    assert_eq!(
        subject.view().await.present,
        0,
        "presence begins with the opening"
    );
    subject.advance_ms(1);
    assert_eq!(subject.view().await.state(), QueueState::Open, "without a tick");
    assert_eq!(subject.tick().await.limited_by, LimitedBy::Presence);
    // The first ones are called at the opening, and promoted in their order as they check in.
    for number in [3, 1, 2] {
        check_in(&subject, number).await;
    }
    assert_eq!(subject.tick().await.promoted, 3);
    assert_eq!(subject.state(visitor(3)).await, EntryState::Ready);
    assert_eq!(subject.state(visitor(4)).await, EntryState::Waiting);
}

pub(crate) async fn an_opening_cannot_be_undone(mut subject: Subject) {
    let settings = opening_in(&subject, 10, in_turn(three_a_second()));
    subject.open(settings).await;
    let mut changes = Vec::new();
    for number in 1..=6 {
        changes.extend(subject.enter(visitor(number)).await.change);
    }
    // Before the opening its time may move.
    subject
        .change_settings(|settings| settings.opens_at_ms = settings.opens_at_ms.map(|at_ms| at_ms + 5_000))
        .await;
    subject.advance_seconds(14);
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_seconds(1);
    let opened_at_ms = subject.clock.now_ms();

    // No tick has run yet, and the settings say otherwise from now on.
    let later = Some(opened_at_ms + 3_600_000);
    subject
        .change_settings(|settings| settings.opens_at_ms = later)
        .await;
    let view = subject.view().await;
    assert_eq!(view.state(), QueueState::Open);
    assert_eq!(view.configuration.opened_at_ms, Some(opened_at_ms));
    assert_eq!(subject.tick().await.promoted, 3);

    // The backup has recorded the opening. Redis loses everything, and the new server's clock is behind.
    let restored = subject.sibling();
    let configuration = Configuration {
        opened_at_ms: Some(opened_at_ms),
        ..configuration_of_epoch(&subject, 2)
    };
    let entries = restored_entries(&changes);
    let outcome = restored
        .line
        .restore(&restored.queue, &configuration, 0, entries)
        .await;
    outcome.expect("restored");
    assert_eq!(restored.view().await.state(), QueueState::Open);
    subject.advance_seconds(1);
    assert_eq!(restored.tick().await.promoted, 3);
}

pub(crate) async fn a_queue_with_visits_cannot_be_scheduled(mut subject: Subject) {
    let unvisited = subject.open_sibling(in_turn(three_a_second())).await;
    subject.open(in_turn(three_a_second())).await;
    subject.enter(visitor(1)).await;
    let later = opening_in(&subject, 60, in_turn(three_a_second()));
    for (mut subject, state) in [(subject, QueueState::Open), (unvisited, QueueState::Scheduled)] {
        subject
            .change_settings(|settings| *settings = later.clone())
            .await;
        subject.tick().await;
        assert_eq!(subject.view().await.state(), state);
        let entered = subject.enter(visitor(2)).await.status.state();
        let is_let_in = entered == EntryState::Active;
        assert_eq!(is_let_in, state == QueueState::Open);
    }
}
