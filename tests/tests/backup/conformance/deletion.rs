//! Tests of the deletion of a queue, and of the tombstone that stays.

use serde_json::json;
use uuid::Uuid;
use vestibule_backup::{Backup, Lease, LeaseOutcome, QueueLookup, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    id::{QueueId, Salt},
    state::EntryState,
    tombstone::Tombstone,
};
use vestibule_tests::{entries::now_ms, lines::fresh_queue, servers};

use super::{BackedUpEntry, stored_queue, visit_events};

on_both_backups! {
    a_deleted_queue_leaves_a_tombstone
    a_deletion_needs_the_epoch_of_the_queue
    no_write_of_an_older_process_brings_a_deleted_queue_back
    a_queue_is_created_above_its_tombstone_only
    a_tombstone_is_added_only_where_nothing_is
    entries_outlive_their_deleted_queue
}

async fn create(backup: &dyn Backup) -> (QueueId, StoredQueue) {
    let (queue, stored) = (fresh_queue(), stored_queue(&json!({ "capacity": 7 })));
    assert!(backup.create_queue(&queue, &stored).await.expect("created"));
    (queue, stored)
}

fn tombstone_of(stored: &StoredQueue) -> Tombstone {
    Tombstone::new(stored.metadata.epoch, stored.metadata.generation, now_ms())
}

async fn delete(backup: &dyn Backup, queue: &QueueId, stored: &StoredQueue) -> Tombstone {
    let tombstone = tombstone_of(stored);
    let deleted = backup
        .delete_queue(queue, stored.metadata.epoch, &tombstone)
        .await;
    assert!(deleted.expect("deleted"));
    tombstone
}

async fn look_up(backup: &dyn Backup, queue: &QueueId) -> QueueLookup {
    backup.look_up_queue(queue).await.expect("an answer")
}

async fn a_deleted_queue_leaves_a_tombstone(backup: &dyn Backup) {
    let (queue, stored) = create(backup).await;
    assert_eq!(
        look_up(backup, &queue).await,
        QueueLookup::Present(stored.clone())
    );
    let tombstone = delete(backup, &queue, &stored).await;
    assert_eq!(look_up(backup, &queue).await, QueueLookup::Deleted(tombstone));
    assert_eq!(backup.read_queue(&queue).await.expect("an answer"), None);
    let repeated = backup
        .delete_queue(&queue, stored.metadata.epoch, &tombstone)
        .await;
    assert!(repeated.expect("an answer"), "the first answer may be lost");

    let listing = backup.list_all_queues().await.expect("an answer");
    assert!(listing.queues.iter().all(|(listed, _)| *listed != queue));
    let mut deleted = listing.deleted.iter().filter(|(listed, _)| *listed == queue);
    assert_eq!(deleted.next(), Some(&(queue.clone(), tombstone)));
    assert_eq!(deleted.next(), None, "a deleted queue is listed once");
}

async fn a_deletion_needs_the_epoch_of_the_queue(backup: &dyn Backup) {
    let (queue, stored) = create(backup).await;
    let tombstone = tombstone_of(&stored);
    for epoch in [stored.metadata.epoch - 1, stored.metadata.epoch + 1] {
        let deleted = backup.delete_queue(&queue, epoch, &tombstone).await;
        assert!(!deleted.expect("an answer"), "{epoch}");
    }
    assert_eq!(look_up(backup, &queue).await, QueueLookup::Present(stored));
    let missing = fresh_queue();
    let deleted = backup.delete_queue(&missing, 3, &tombstone).await;
    assert!(!deleted.expect("an answer"));
    assert_eq!(look_up(backup, &missing).await, QueueLookup::Absent);
}

async fn no_write_of_an_older_process_brings_a_deleted_queue_back(backup: &dyn Backup) {
    let (queue, stored) = create(backup).await;
    let tombstone = delete(backup, &queue, &stored).await;
    let lease = Lease {
        holder: Uuid::from_u128(5),
        until_ms: now_ms() + 10_000,
    };
    for epoch in [stored.metadata.epoch, tombstone.epoch] {
        let leased = backup.take_lease(&queue, epoch, lease, now_ms()).await;
        assert_eq!(leased.expect("an answer"), LeaseOutcome::EpochChanged, "{epoch}");
    }
    let epoch = stored.metadata.epoch;
    assert!(!backup.renew_lease(&queue, epoch, lease).await.expect("an answer"));
    backup
        .release_lease(&queue, epoch, lease.holder)
        .await
        .expect("an answer");
    backup
        .raise_watermark(&queue, epoch, 99)
        .await
        .expect("an answer");
    backup.record_opening(&queue, epoch, 99).await.expect("an answer");
    let begun = backup.begin_generation(&queue, epoch, Salt::new([4; 32])).await;
    assert_eq!(begun.expect("an answer"), None);
    let settings = stored.settings.as_map().expect("a map");
    let replaced = backup.replace_settings(&queue, &stored.settings, settings).await;
    assert_eq!(replaced.expect("an answer"), None);
    assert!(!backup.create_queue(&queue, &stored).await.expect("an answer"));
    assert_eq!(look_up(backup, &queue).await, QueueLookup::Deleted(tombstone));
}

async fn a_queue_is_created_above_its_tombstone_only(backup: &dyn Backup) {
    let (queue, stored) = create(backup).await;
    let tombstone = delete(backup, &queue, &stored).await;
    let above = QueueMetadata::after_deletion(&tombstone, Salt::new([4; 32]));
    let create_with = async |metadata: QueueMetadata| {
        let new = StoredQueue {
            metadata,
            ..stored.clone()
        };
        backup.create_queue(&queue, &new).await.expect("an answer")
    };
    let (epoch, generation) = (tombstone.epoch, tombstone.generation);
    assert!(!create_with(QueueMetadata { epoch, ..above }).await, "its epoch");
    assert!(
        !create_with(QueueMetadata { generation, ..above }).await,
        "its generation"
    );
    assert!(create_with(above).await);
    let again = StoredQueue {
        metadata: above,
        ..stored.clone()
    };
    assert_eq!(look_up(backup, &queue).await, QueueLookup::Present(again.clone()));
    assert!(above.epoch > tombstone.epoch && above.min_epoch > stored.metadata.epoch);
    // The command that deleted the first queue repeats its write only now.
    let late = backup
        .delete_queue(&queue, stored.metadata.epoch, &tombstone)
        .await;
    assert!(!late.expect("an answer"));
    assert_eq!(look_up(backup, &queue).await, QueueLookup::Present(again.clone()));
    let second = delete(backup, &queue, &again).await;
    assert!(second.epoch > above.epoch && second.generation > tombstone.generation);
}

async fn a_tombstone_is_added_only_where_nothing_is(backup: &dyn Backup) {
    let (queue, stored) = create(backup).await;
    let tombstone = tombstone_of(&stored);
    assert!(!backup.add_tombstone(&queue, &tombstone).await.expect("an answer"));
    assert_eq!(look_up(backup, &queue).await, QueueLookup::Present(stored));
    let missing = fresh_queue();
    for _ in 0..2 {
        assert!(
            backup
                .add_tombstone(&missing, &tombstone)
                .await
                .expect("an answer")
        );
        assert_eq!(look_up(backup, &missing).await, QueueLookup::Deleted(tombstone));
    }
    let later = Tombstone {
        epoch: tombstone.epoch + 1,
        ..tombstone
    };
    assert!(!backup.add_tombstone(&missing, &later).await.expect("an answer"));
    assert_eq!(look_up(backup, &missing).await, QueueLookup::Deleted(tombstone));
}

/// Their time to live ends them. Until then an operator may still look up what became of a visitor.
async fn entries_outlive_their_deleted_queue(backup: &dyn Backup) {
    let entry = BackedUpEntry::new(backup);
    let stored = stored_queue(&json!({}));
    let queue = &entry.partition.queue;
    assert!(backup.create_queue(queue, &stored).await.expect("created"));
    for (v, event) in (1..).zip(visit_events(vestibule_tests::entries::place(0))) {
        entry.put(v, event).await;
    }
    delete(backup, queue, &stored).await;
    let record = entry.record().await.expect("the record");
    assert_eq!(record.state, EntryState::Completed);
}
