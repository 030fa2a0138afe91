//! The view that many processes share: its counts may be a second old, and nothing else of it.

use vestibule_domain::settings::Settings;
use vestibule_line::{LineError, QueueView, RestoredEntries, VIEW_AGE_MAX};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::settings::{bounded, in_turn};

async fn read_recent(subject: &Subject) -> QueueView {
    let view = subject.line.recent_queue_view(&subject.queue).await;
    view.expect("a queue")
}

pub(crate) async fn a_shared_view_is_less_than_a_second_old(mut subject: Subject) {
    subject.open(in_turn(bounded(10, 10, 10))).await;
    subject.line_up(1..=3).await;
    assert_eq!(read_recent(&subject).await.waiting, 3, "the first reader counts");

    subject.advance_ms(500);
    subject.enter(visitor(4)).await;
    assert_eq!(subject.tick().await.promoted, 4);
    let now_ms = subject.clock.now_ms();
    let shared = read_recent(&subject).await;
    let exact = subject.view().await;
    assert_eq!(
        (shared.now_ms, shared.heartbeat_ms, shared.version),
        (now_ms, now_ms, exact.version),
        "the clock, the sign of life and the version are never old"
    );
    let counts = (3, 0);
    assert_eq!((shared.waiting, shared.ready), counts, "counts of one moment");

    subject.advance_ms(VIEW_AGE_MAX.as_millis().try_into().expect("small"));
    let exact = subject.view().await;
    let shared = read_recent(&subject).await;
    assert_eq!(
        (shared.waiting, shared.ready),
        (0, 4),
        "a later reader counts anew"
    );
    assert_eq!(format!("{shared:?}"), format!("{:?}", exact.view));
}

pub(crate) async fn a_shared_view_has_the_configuration_in_force(mut subject: Subject) {
    subject.open(in_turn(bounded(10, 10, 10))).await;
    read_recent(&subject).await;
    subject.change_settings(|settings| settings.paused = true).await;
    assert!(read_recent(&subject).await.configuration.settings.paused);
    subject.change_settings(|settings| settings.paused = false).await;
    assert!(!read_recent(&subject).await.configuration.settings.paused);
}

pub(crate) async fn a_lost_queue_has_no_shared_view(mut subject: Subject) {
    subject.open(Settings::default()).await;
    subject.line_up([1]).await;
    read_recent(&subject).await;
    subject.line.drop_queue(&subject.queue, 2).await.expect("dropped");
    let view = subject.line.recent_queue_view(&subject.queue).await;
    assert!(matches!(view, Err(LineError::QueueNotFound)), "{view:?}");

    let mut restored = configuration(&Settings::default());
    restored.epoch = 2;
    let restore = subject
        .line
        .restore(&subject.queue, &restored, 0, RestoredEntries::default());
    restore.await.expect("restored");
    let view = read_recent(&subject).await;
    assert_eq!((view.configuration.epoch, view.waiting), (2, 0));
}
