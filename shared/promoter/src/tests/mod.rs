//! Tests of the promoter's steps and rounds, and the fixture that they share.

mod captured_metrics;
mod checks;
mod clock;
mod control_metrics;
mod deletion;
mod events;
mod events_of_trouble;
mod events_scene;
mod fallback_tick;
mod metrics;
mod opening;
mod park;
mod parked_queues;
mod restore_lease;
mod rounds;
mod slow_backup;
mod steps;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::Change,
    id::{EntryId, IdKey, QueueId, RootKey, Salt, Visitor},
};
use vestibule_engine::{
    sync::{SettingsPolicy, SyncError, SyncOutcome, build_configuration, sync_settings},
    write_through::write_through,
};
use vestibule_line::{Arrival, ConfigureOutcome, EnterOutcome, Line};

use super::Promoter;

/// The fixture: a line, a backup in a temporary folder, and functions that set up queues in both.
struct Fixture {
    line: Line,
    backup: Arc<FileBackup>,
    _dir: TempDir,
}

impl Fixture {
    fn new(line: Line) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let backup = FileBackup::open(dir.path().join("backup.redb")).expect("a new store");
        Self {
            line,
            backup: Arc::new(backup),
            _dir: dir,
        }
    }

    async fn store_queue(&self, name: &str, settings: Value) -> (QueueId, StoredQueue) {
        let queue: QueueId = name.parse().expect("a queue id");
        let stored = StoredQueue {
            settings: json_map(settings).into(),
            settings_order: 0,
            metadata: QueueMetadata::new(Salt::new([3; 32])),
        };
        assert!(self.backup.create_queue(&queue, &stored).await.expect("stored"));
        (queue, stored)
    }

    async fn sync(&self, queue: &QueueId) -> Result<SyncOutcome, SyncError> {
        sync_settings(&self.line, &*self.backup, queue, SettingsPolicy::default()).await
    }

    /// Creates a queue whose settings are in force. Returns its id and the partition of its entries.
    async fn create_queue(&self, name: &str, settings: Value) -> (QueueId, EntryPartition) {
        let (queue, stored) = self.store_queue(name, settings).await;
        let wanted = build_configuration(&stored, SettingsPolicy::default()).expect("right settings");
        let configured = self.line.configure(&queue, &wanted, true).await;
        assert_eq!(configured.expect("configured"), ConfigureOutcome::Created);
        let partition = EntryPartition::from_configuration(&queue, &wanted);
        (queue, partition)
    }

    /// Enters like a visitor and writes the entry through to the backup.
    async fn enter(&self, partition: &EntryPartition, visitor: &str) -> EntryId {
        let change = self.enter_unwritten(&partition.queue, visitor).await;
        let write = write_through(&self.line, &*self.backup, partition, &change).await;
        assert!(write.expect("written").durable);
        change.id
    }

    /// Enters like a visitor whose request dies before it writes the entry to the backup.
    async fn enter_unwritten(&self, queue: &QueueId, visitor: &str) -> Change {
        let change = match self
            .line
            .enter(queue, entry_id(queue, visitor), Arrival::Ordinary)
            .await
        {
            Ok(EnterOutcome::Joined {
                change: Some(change), ..
            }) => change,
            other => panic!("did not enter: {other:?}"),
        };
        // As each client, the visitor polls at once.
        let polled = self.line.check_in(queue, change.id).await;
        polled.expect("an answer");
        change
    }

    /// Replaces the stored settings, like an operator who edits the table.
    async fn replace_stored_settings(&self, queue: &QueueId, settings: Value) {
        let stored = self
            .backup
            .read_queue(queue)
            .await
            .expect("read")
            .expect("is there");
        let replaced = self
            .backup
            .replace_settings(queue, &stored.settings, &json_map(settings))
            .await;
        assert!(replaced.expect("written").is_some());
    }

    fn promoter(&self) -> Arc<Promoter> {
        Arc::new(Promoter::new(
            self.line.clone(),
            self.backup.clone(),
            SettingsPolicy::default(),
        ))
    }
}

fn json_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn entry_id(queue: &QueueId, visitor: &str) -> EntryId {
    let root = RootKey::new(vec![1; 32]).expect("long enough");
    IdKey::derive_for_queue(&root, queue, &Salt::new([3; 32]))
        .expect("the key of the salt")
        .entry_id(&Visitor::known(visitor).expect("valid"))
}

fn memory_line() -> Line {
    Line::in_process()
}

/// Waits until the condition is true. The limit is generous, so that a busy machine passes too.
async fn wait_until(mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_mins(1), waiting)
        .await
        .expect("it comes about in time");
}
