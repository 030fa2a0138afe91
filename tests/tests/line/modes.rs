//! How visitors are let in: with or without the fast track, and without a line.

use vestibule_domain::{settings::Settings, state::EntryState};
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::with_pace;

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
