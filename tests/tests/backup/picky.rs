//! A backup with moods: what a sound one cannot be made to do.

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

/// What it does with a write.
#[derive(Debug, Clone)]
pub(crate) enum Mood {
    /// It writes it.
    Takes,
    /// It refuses those of these entries.
    Refuses(Vec<EntryId>),
    /// It refuses each, and says that it takes writes.
    RefusesAll,
    /// It throttles after so many more.
    Throttles(usize),
    /// It is away.
    Away,
}

/// Keeps records in memory.
pub(crate) struct Picky {
    mood: Mutex<Mood>,
    records: Mutex<HashMap<EntryId, EntryRecord>>,
    /// How often it wrote or refused a change of each entry.
    decided: Mutex<HashMap<EntryId, usize>>,
}

impl Picky {
    pub(crate) fn new(mood: Mood) -> Self {
        Self {
            mood: Mutex::new(mood),
            records: Mutex::default(),
            decided: Mutex::default(),
        }
    }

    pub(crate) fn turn(&self, mood: Mood) {
        *lock(&self.mood) = mood;
    }

    pub(crate) fn record(&self, id: EntryId) -> Option<EntryRecord> {
        lock(&self.records).get(&id).cloned()
    }

    pub(crate) fn decided(&self, id: EntryId) -> usize {
        lock(&self.decided).get(&id).copied().unwrap_or_default()
    }

    fn decide(&self, change: &Change) -> Result<(), BackupError> {
        let refused = || Err(BackupError::Unreadable("it does not like it".to_owned()));
        let decision = match &mut *lock(&self.mood) {
            Mood::Refuses(ids) if ids.contains(&change.id) => refused(),
            Mood::Takes | Mood::Refuses(_) => Ok(()),
            Mood::RefusesAll => refused(),
            Mood::Throttles(0) => return Err(BackupError::Throttled("enough for now".to_owned())),
            Mood::Throttles(left) => {
                *left -= 1;
                Ok(())
            }
            Mood::Away => return Err(away()),
        };
        *lock(&self.decided).entry(change.id).or_default() += 1;
        decision
    }
}

fn away() -> BackupError {
    BackupError::Unavailable("turned off by a test".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("whole")
}

#[async_trait]
impl Backup for Picky {
    async fn put_change(&self, shelf: &EntryPartition, change: &Change) -> Result<PutOutcome, BackupError> {
        self.decide(change)?;
        let mut records = lock(&self.records);
        let after = EntryRecord::apply_change(records.get(&change.id), change, shelf.retain_hours);
        Ok(after.map_or(PutOutcome::Superseded, |record| {
            records.insert(change.id, record.clone());
            PutOutcome::Stored(record)
        }))
    }

    async fn ping(&self) -> Result<(), BackupError> {
        match &*lock(&self.mood) {
            Mood::Away => Err(away()),
            _ => Ok(()),
        }
    }

    async fn read_entry(&self, _: &EntryPartition, id: EntryId) -> Result<Option<EntryRecord>, BackupError> {
        Ok(self.record(id))
    }

    async fn put_place(
        &self,
        shelf: &EntryPartition,
        change: &Change,
    ) -> Result<PlacePutOutcome, BackupError> {
        self.put_change(shelf, change).await.map(PlacePutOutcome::Put)
    }

    async fn read_live_entries(&self, _: &EntryPartition, _: u8) -> Result<Vec<EntryRecord>, BackupError> {
        Err(away())
    }

    async fn read_queue(&self, _: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        Err(away())
    }

    async fn list_queues(&self) -> Result<Vec<QueueId>, BackupError> {
        Err(away())
    }

    async fn create_queue(&self, _: &QueueId, _: &StoredQueue) -> Result<bool, BackupError> {
        Err(away())
    }

    async fn replace_settings(
        &self,
        _: &QueueId,
        _: &StoredSettings,
        _: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        Err(away())
    }

    async fn take_lease(&self, _: &QueueId, _: u32, _: Lease, _: u64) -> Result<LeaseOutcome, BackupError> {
        Err(away())
    }

    async fn renew_lease(&self, _: &QueueId, _: u32, _: Lease) -> Result<bool, BackupError> {
        Err(away())
    }

    async fn release_lease(&self, _: &QueueId, _: u32, _: Uuid) -> Result<(), BackupError> {
        Err(away())
    }

    async fn raise_watermark(&self, _: &QueueId, _: u32, _: u64) -> Result<(), BackupError> {
        Err(away())
    }

    async fn begin_generation(
        &self,
        _: &QueueId,
        _: u32,
        _: Salt,
    ) -> Result<Option<QueueMetadata>, BackupError> {
        Err(away())
    }
}
