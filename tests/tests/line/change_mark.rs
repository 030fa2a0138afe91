//! The mark of the last change, by which the promoter watches queues that it ticks rarely.

use vestibule_line::{ChangeMark, LineError};
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::{bounded, in_turn};

async fn read_mark(subject: &Subject) -> ChangeMark {
    let mark = subject.line.change_mark(&subject.queue).await;
    mark.expect("a queue")
}

pub(crate) async fn ticks_of_an_empty_queue_keep_its_mark(mut subject: Subject) {
    subject.open(in_turn(bounded(10, 10, 10))).await;
    let before = read_mark(&subject).await;
    let view = subject.view().await;
    assert_eq!(before.version, view.version);
    for _ in 0..3 {
        subject.advance_ms(30_000);
        subject.tick().await;
    }
    let parked = subject.line.park_idle_promoter(&subject.queue).await;
    assert!(parked.expect("answered"));
    assert_eq!(read_mark(&subject).await, before);
}

pub(crate) async fn each_change_of_a_queue_changes_its_mark(mut subject: Subject) {
    subject.open(in_turn(bounded(10, 10, 10))).await;
    let mut before = read_mark(&subject).await;
    let mut expect_another = |now: ChangeMark, what: &str| {
        assert_ne!(now, before, "{what}");
        before = now;
    };
    subject.enter(visitor(1)).await;
    expect_another(read_mark(&subject).await, "a visitor entered");
    let raised = subject.line.raise_watermark(&subject.queue, 1, 0).await;
    raised.expect("raised");
    let mark = read_mark(&subject).await;
    assert_eq!(mark.watermark, 1);
    expect_another(mark, "the watermark rose");
    subject.change_settings(|settings| settings.paused = true).await;
    expect_another(read_mark(&subject).await, "the settings changed");
    subject.change_settings(|settings| settings.paused = false).await;
    expect_another(read_mark(&subject).await, "the settings changed back");
}

pub(crate) async fn a_lost_queue_has_no_mark(mut subject: Subject) {
    let mark = subject.line.change_mark(&subject.queue).await;
    assert!(matches!(mark, Err(LineError::QueueNotFound)), "{mark:?}");
    subject.open(in_turn(bounded(10, 10, 10))).await;
    read_mark(&subject).await;
    subject.line.drop_queue(&subject.queue, 2).await.expect("dropped");
    let mark = subject.line.change_mark(&subject.queue).await;
    assert!(matches!(mark, Err(LineError::QueueNotFound)), "{mark:?}");
}
