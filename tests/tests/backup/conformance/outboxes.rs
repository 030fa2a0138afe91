//! The outboxes of the queues' events: compare-and-swap.

use vestibule_backup::{Backup, StoredOutbox};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    event_outbox::{EventOutbox, QueueLife, QueueObservation},
    id::{QueueId, Salt},
    queue_event::QueueHealth,
};
use vestibule_tests::{entries::now_ms, lines::fresh_queue, servers};

on_both_backups! {
    a_stored_outbox_reads_back_unchanged
    only_the_first_of_two_writers_replaces_an_outbox
}

fn new_outbox() -> EventOutbox {
    EventOutbox::new(QueueLife::new(1, &Salt::new([3; 32])))
}

/// The outbox with one more event.
fn with_trouble(mut outbox: EventOutbox, queue: &QueueId, trouble: &str) -> EventOutbox {
    let seen = QueueObservation {
        life: outbox.life().clone(),
        switches: None,
        health: QueueHealth::Troubled([trouble.to_owned()].into()),
        at_ms: now_ms(),
    };
    assert!(outbox.notice(queue, &seen));
    outbox
}

async fn replace(backup: &dyn Backup, queue: &QueueId, revision: u64, outbox: &EventOutbox) -> bool {
    let replaced = backup.replace_outbox(queue, revision, outbox, now_ms()).await;
    replaced.expect("an answer")
}

async fn read(backup: &dyn Backup, queue: &QueueId) -> Option<StoredOutbox> {
    backup.read_outbox(queue).await.expect("an answer")
}

async fn a_stored_outbox_reads_back_unchanged(backup: &dyn Backup) {
    let queue = fresh_queue();
    assert_eq!(read(backup, &queue).await, None);
    let outbox = with_trouble(new_outbox(), &queue, "tick");
    assert!(replace(backup, &queue, 0, &outbox).await);
    let expected = StoredOutbox { revision: 1, outbox };
    assert_eq!(read(backup, &queue).await, Some(expected));
    assert_eq!(read(backup, &fresh_queue()).await, None, "it is of one queue");
    assert!(!backup.list_queues().await.expect("listed").contains(&queue));
}

async fn only_the_first_of_two_writers_replaces_an_outbox(backup: &dyn Backup) {
    let queue = fresh_queue();
    let first = with_trouble(new_outbox(), &queue, "tick");
    let second = with_trouble(first.clone(), &queue, "sync");
    assert!(!replace(backup, &queue, 1, &first).await, "there is none yet");
    assert!(replace(backup, &queue, 0, &first).await);
    assert!(!replace(backup, &queue, 0, &second).await);
    assert!(replace(backup, &queue, 1, &second).await);
    assert!(!replace(backup, &queue, 1, &first).await);
    let stored = read(backup, &queue).await.expect("an outbox");
    assert_eq!((stored.revision, stored.outbox), (2, second));
}
