//! The queues in the store file.

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;
use vestibule_backup::{
    BackupError, Lease, LeaseOutcome, QueueFingerprint, QueueMetadata, StoredQueue, StoredSettings,
};
use vestibule_domain::{
    id::{QueueId, Salt},
    kept_times::KeptTimes,
    tombstone::Tombstone,
};

use super::tables::{QUEUES, Tables, to_backup_error};

/// A queue as the file stores it, in JSON.
#[derive(Serialize, Deserialize)]
struct FileQueue {
    settings: Value,
    #[serde(default)]
    settings_order: u64,
    layout: u32,
    epoch: u32,
    generation: u32,
    #[serde(default)]
    min_epoch: u32,
    salt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root_key: Option<String>,
    #[serde(default)]
    fence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    opened_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept_times: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<FileLease>,
}

/// A lease as the file stores it.
#[derive(Serialize, Deserialize)]
struct FileLease {
    holder: Uuid,
    until_ms: u64,
}

impl Tables<'_> {
    /// Adds a queue, unless a queue of that id exists, or was deleted in this epoch or generation or a later one.
    pub(super) fn create_queue(
        &mut self,
        queue: &QueueId,
        stored: &StoredQueue,
    ) -> Result<bool, BackupError> {
        let metadata = &stored.metadata;
        let is_above =
            |deleted: Tombstone| deleted.epoch < metadata.epoch && deleted.generation < metadata.generation;
        if self.read_queue(queue)?.is_some() || !self.read_tombstone(queue)?.is_none_or(is_above) {
            return Ok(false);
        }
        self.tombstones
            .remove(queue.as_str())
            .map_err(|e| to_backup_error(&e))?;
        self.put_queue(queue, stored)?;
        Ok(true)
    }

    /// Replaces the settings if they are as expected.
    pub(super) fn replace_settings(
        &mut self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        let Some(mut stored) = self.read_queue(queue)? else {
            return Ok(None);
        };
        if stored.settings != *expected {
            let is_unchanged = stored.settings.as_map() == Some(settings);
            return Ok(is_unchanged.then_some(stored.settings_order));
        }
        stored.settings = settings.clone().into();
        stored.settings_order += 1;
        self.put_queue(queue, &stored)?;
        Ok(Some(stored.settings_order))
    }

    /// Takes a lease if no other process holds one.
    pub(super) fn take_lease(
        &mut self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<LeaseOutcome, BackupError> {
        let Some(mut stored) = self.read_queue(queue)? else {
            return Ok(LeaseOutcome::EpochChanged);
        };
        let part = &mut stored.metadata;
        if part.epoch != epoch {
            return Ok(LeaseOutcome::EpochChanged);
        }
        if let Some(other) = part.lease.filter(|other| other.is_valid_at(now_ms)) {
            return Ok(LeaseOutcome::Held(other));
        }
        part.epoch += 1;
        part.lease = Some(lease);
        let outcome = LeaseOutcome::Taken(*part);
        self.put_queue(queue, &stored)?;
        Ok(outcome)
    }

    /// Changes the metadata of a queue. Returns `None`, and changes nothing, if no queue of this id
    /// and epoch exists or `change` returns `false`.
    pub(super) fn update_metadata(
        &mut self,
        queue: &QueueId,
        epoch: u32,
        change: impl FnOnce(&mut QueueMetadata) -> bool,
    ) -> Result<Option<QueueMetadata>, BackupError> {
        let Some(mut stored) = self
            .read_queue(queue)?
            .filter(|stored| stored.metadata.epoch == epoch)
        else {
            return Ok(None);
        };
        if !change(&mut stored.metadata) {
            return Ok(None);
        }
        self.put_queue(queue, &stored)?;
        Ok(Some(stored.metadata))
    }

    pub(super) fn read_queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        let value = self.queues.get(queue.as_str()).map_err(|e| to_backup_error(&e))?;
        value.map(|value| decode_queue(value.value())).transpose()
    }

    fn put_queue(&mut self, queue: &QueueId, stored: &StoredQueue) -> Result<(), BackupError> {
        let value = encode_queue(stored);
        self.queues
            .insert(queue.as_str(), value.as_slice())
            .map_err(|e| to_backup_error(&e))?;
        Ok(())
    }
}

fn encode_queue(stored: &StoredQueue) -> Vec<u8> {
    let kept = stored.metadata.kept_times;
    let on_file = FileQueue {
        settings: stored.settings.to_value(),
        settings_order: stored.settings_order,
        layout: stored.metadata.layout,
        epoch: stored.metadata.epoch,
        generation: stored.metadata.generation,
        min_epoch: stored.metadata.min_epoch,
        salt: stored.metadata.salt.to_text(),
        root_key: stored.metadata.salt.root().map(|root| root.to_string()),
        fence: stored.metadata.watermark,
        opened_at_ms: stored.metadata.opened_at_ms,
        kept_times: (kept != KeptTimes::default()).then(|| kept.to_string()),
        lease: stored.metadata.lease.map(|lease| FileLease {
            holder: lease.holder,
            until_ms: lease.until_ms,
        }),
    };
    serde_json::to_vec(&on_file).expect("a struct of JSON values, strings and numbers serializes to JSON")
}

/// The fingerprints of all queues.
pub(super) fn read_fingerprints(
    transaction: &ReadTransaction,
) -> Result<Vec<(QueueId, QueueFingerprint)>, BackupError> {
    let queues = transaction.open_table(QUEUES).map_err(|e| to_backup_error(&e))?;
    let all = queues.iter().map_err(|e| to_backup_error(&e))?;
    all.map(|found| {
        let (key, value) = found.map_err(|e| to_backup_error(&e))?;
        let nonsense = |e| BackupError::Unreadable(format!("the queue id {:?}: {e}", key.value()));
        let queue = key.value().parse().map_err(nonsense)?;
        let stored = decode_queue(value.value());
        Ok((queue, QueueFingerprint::of_stored(stored.as_ref())))
    })
    .collect()
}

/// Decodes a queue.
///
/// # Errors
/// [`BackupError::Unreadable`] if the value is not a valid queue.
pub(super) fn decode_queue(value: &[u8]) -> Result<StoredQueue, BackupError> {
    let nonsense = |what: &str| BackupError::Unreadable(format!("a queue in the store file: {what}"));
    let on_file: FileQueue = serde_json::from_slice(value).map_err(|e| nonsense(&e.to_string()))?;
    let salt = Salt::from_text(&on_file.salt).ok_or_else(|| nonsense("salt"))?;
    let root = on_file.root_key.map(|root| root.parse()).transpose();
    let kept = on_file.kept_times.map(|kept| kept.parse()).transpose();
    Ok(StoredQueue {
        settings: match on_file.settings {
            Value::Object(map) => StoredSettings::Map(map),
            Value::Null => StoredSettings::Missing,
            other => StoredSettings::Other(other),
        },
        settings_order: on_file.settings_order,
        metadata: QueueMetadata {
            layout: on_file.layout,
            epoch: on_file.epoch,
            generation: on_file.generation,
            min_epoch: on_file.min_epoch,
            salt: salt.with_root(root.map_err(|_| nonsense("root_key"))?),
            watermark: on_file.fence,
            opened_at_ms: on_file.opened_at_ms,
            kept_times: kept.map_err(|_| nonsense("kept_times"))?.unwrap_or_default(),
            lease: on_file.lease.map(|lease| Lease {
                holder: lease.holder,
                until_ms: lease.until_ms,
            }),
        },
    })
}
