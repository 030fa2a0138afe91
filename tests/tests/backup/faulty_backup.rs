//! A backup in memory that refuses, throttles or fails writes as a test asks, which a real backup cannot do.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
};

use async_trait::async_trait;
use serde_json::{Map, Value};
use uuid::Uuid;
use vestibule_backup::{
    Backup, BackupError, EntryPartition, Lease, LeaseOutcome, PlacePutOutcome, PutOutcome, QueueMetadata,
    StoredQueue, StoredSettings,
};
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId, Salt},
    record::EntryRecord,
};

/// What the backup does with a write.
#[derive(Debug, Clone)]
pub(crate) enum WriteBehavior {
    /// Writes every change.
    Accepts,
    /// Refuses changes of these entries and writes the others.
    RefusesSome(Vec<EntryId>),
    /// Refuses every change, although the backup answers.
    RefusesAll,
    /// Writes this many more changes and throttles the rest.
    ThrottlesAfter(usize),
    /// Fails every call as unavailable.
    Unavailable,
}

/// A backup that keeps records in memory.
pub(crate) struct FaultyBackup {
    behavior: Mutex<WriteBehavior>,
    records: Mutex<HashMap<EntryId, EntryRecord>>,
    /// How often the backup wrote or refused a change, by entry.
    decision_counts: Mutex<HashMap<EntryId, usize>>,
}

impl FaultyBackup {
    pub(crate) fn new(behavior: WriteBehavior) -> Self {
        Self {
            behavior: Mutex::new(behavior),
            records: Mutex::default(),
            decision_counts: Mutex::default(),
        }
    }

    pub(crate) fn set_behavior(&self, behavior: WriteBehavior) {
        *lock(&self.behavior) = behavior;
    }

    pub(crate) fn record(&self, id: EntryId) -> Option<EntryRecord> {
        lock(&self.records).get(&id).cloned()
    }

    pub(crate) fn decision_count(&self, id: EntryId) -> usize {
        lock(&self.decision_counts).get(&id).copied().unwrap_or_default()
    }

    fn decide(&self, change: &Change) -> Result<(), BackupError> {
        let refused = || Err(BackupError::Unreadable("refused by the test".to_owned()));
        let decision = match &mut *lock(&self.behavior) {
            WriteBehavior::RefusesSome(ids) if ids.contains(&change.id) => refused(),
            WriteBehavior::Accepts | WriteBehavior::RefusesSome(_) => Ok(()),
            WriteBehavior::RefusesAll => refused(),
            WriteBehavior::ThrottlesAfter(0) => {
                return Err(BackupError::Throttled("throttled by the test".to_owned()));
            }
            WriteBehavior::ThrottlesAfter(left) => {
                *left -= 1;
                Ok(())
            }
            WriteBehavior::Unavailable => return Err(unavailable()),
        };
        *lock(&self.decision_counts).entry(change.id).or_default() += 1;
        decision
    }
}

fn unavailable() -> BackupError {
    BackupError::Unavailable("made unavailable by the test".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("the mutex is not poisoned")
}

#[async_trait]
impl Backup for FaultyBackup {
    async fn put_change(
        &self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PutOutcome, BackupError> {
        self.decide(change)?;
        let mut records = lock(&self.records);
        let after = EntryRecord::apply_change(records.get(&change.id), change, partition.retain_hours);
        Ok(after.map_or(PutOutcome::Superseded, |record| {
            records.insert(change.id, record.clone());
            PutOutcome::Stored(record)
        }))
    }

    async fn ping(&self) -> Result<(), BackupError> {
        match &*lock(&self.behavior) {
            WriteBehavior::Unavailable => Err(unavailable()),
            _ => Ok(()),
        }
    }

    async fn read_entry(&self, _: &EntryPartition, id: EntryId) -> Result<Option<EntryRecord>, BackupError> {
        Ok(self.record(id))
    }

    async fn put_place(
        &self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PlacePutOutcome, BackupError> {
        self.put_change(partition, change).await.map(PlacePutOutcome::Put)
    }

    async fn read_live_entries(&self, _: &EntryPartition, _: u8) -> Result<Vec<EntryRecord>, BackupError> {
        Err(unavailable())
    }

    async fn read_queue(&self, _: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        Err(unavailable())
    }

    async fn list_queues(&self) -> Result<Vec<QueueId>, BackupError> {
        Err(unavailable())
    }

    async fn create_queue(&self, _: &QueueId, _: &StoredQueue) -> Result<bool, BackupError> {
        Err(unavailable())
    }

    async fn replace_settings(
        &self,
        _: &QueueId,
        _: &StoredSettings,
        _: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        Err(unavailable())
    }

    async fn take_lease(&self, _: &QueueId, _: u32, _: Lease, _: u64) -> Result<LeaseOutcome, BackupError> {
        Err(unavailable())
    }

    async fn renew_lease(&self, _: &QueueId, _: u32, _: Lease) -> Result<bool, BackupError> {
        Err(unavailable())
    }

    async fn release_lease(&self, _: &QueueId, _: u32, _: Uuid) -> Result<(), BackupError> {
        Err(unavailable())
    }

    async fn raise_watermark(&self, _: &QueueId, _: u32, _: u64) -> Result<(), BackupError> {
        Err(unavailable())
    }

    async fn begin_generation(
        &self,
        _: &QueueId,
        _: u32,
        _: Salt,
    ) -> Result<Option<QueueMetadata>, BackupError> {
        Err(unavailable())
    }
}
