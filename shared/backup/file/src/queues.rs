//! The queues in the store file.

use redb::ReadableTable;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;
use vestibule_backup::{BackupError, Lease, Leased, LinePart, PLAUSIBLE_MS, StoredQueue, StoredSettings};
use vestibule_domain::id::{QueueId, Salt};

use super::store::{Tables, unavailable};

/// A queue as the file stores it, in JSON.
#[derive(Serialize, Deserialize)]
struct QueueOnFile {
    settings: Value,
    #[serde(default)]
    settings_order: u64,
    epoch: u32,
    generation: u32,
    #[serde(default)]
    min_epoch: u32,
    salt: String,
    #[serde(default)]
    fence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseOnFile>,
}

/// A lease as the file stores it.
#[derive(Serialize, Deserialize)]
struct LeaseOnFile {
    holder: Uuid,
    until_ms: u64,
}

impl Tables<'_> {
    /// Adds a queue, unless a queue of that id exists.
    pub(super) fn create_queue(
        &mut self,
        queue: &QueueId,
        stored: &StoredQueue,
    ) -> Result<bool, BackupError> {
        if self.queue(queue)?.is_some() {
            return Ok(false);
        }
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
        let Some(mut stored) = self.queue(queue)? else {
            return Ok(None);
        };
        if stored.settings != *expected {
            let done = stored.settings.map() == Some(settings);
            return Ok(done.then_some(stored.settings_order));
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
    ) -> Result<Leased, BackupError> {
        let Some(mut stored) = self.queue(queue)? else {
            return Ok(Leased::Overtaken);
        };
        let part = &mut stored.line;
        if part.epoch != epoch {
            return Ok(Leased::Overtaken);
        }
        let lasts = now_ms + 1..=now_ms.saturating_add(PLAUSIBLE_MS);
        if let Some(other) = part.lease.filter(|other| lasts.contains(&other.until_ms)) {
            return Ok(Leased::Held(other));
        }
        part.epoch += 1;
        part.lease = Some(lease);
        let taken = Leased::Taken(*part);
        self.put_queue(queue, &stored)?;
        Ok(taken)
    }

    /// Changes the metadata of a queue. Returns `None`, and changes nothing, if no queue of this id and epoch exists or
    /// `change` returns `false`.
    pub(super) fn change_part(
        &mut self,
        queue: &QueueId,
        epoch: u32,
        change: impl FnOnce(&mut LinePart) -> bool,
    ) -> Result<Option<LinePart>, BackupError> {
        let Some(mut stored) = self.queue(queue)?.filter(|stored| stored.line.epoch == epoch) else {
            return Ok(None);
        };
        if !change(&mut stored.line) {
            return Ok(None);
        }
        self.put_queue(queue, &stored)?;
        Ok(Some(stored.line))
    }

    fn queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        let value = self.queues.get(queue.as_str()).map_err(|e| unavailable(&e))?;
        value.map(|value| decode_queue(value.value())).transpose()
    }

    fn put_queue(&mut self, queue: &QueueId, stored: &StoredQueue) -> Result<(), BackupError> {
        let value = encode_queue(stored);
        self.queues
            .insert(queue.as_str(), value.as_slice())
            .map_err(|e| unavailable(&e))?;
        Ok(())
    }
}

fn encode_queue(stored: &StoredQueue) -> Vec<u8> {
    let on_file = QueueOnFile {
        settings: stored.settings.to_value(),
        settings_order: stored.settings_order,
        epoch: stored.line.epoch,
        generation: stored.line.generation,
        min_epoch: stored.line.min_epoch,
        salt: stored.line.salt.to_text(),
        fence: stored.line.fence,
        lease: stored.line.lease.map(|lease| LeaseOnFile {
            holder: lease.holder,
            until_ms: lease.until_ms,
        }),
    };
    serde_json::to_vec(&on_file).expect("a struct of JSON values, strings and numbers serializes to JSON")
}

/// Decodes a queue.
///
/// # Errors
/// [`BackupError::Nonsense`] if the value is not a valid queue.
pub(super) fn decode_queue(value: &[u8]) -> Result<StoredQueue, BackupError> {
    let nonsense = |what: &str| BackupError::Nonsense(format!("a queue in the store file: {what}"));
    let on_file: QueueOnFile = serde_json::from_slice(value).map_err(|e| nonsense(&e.to_string()))?;
    Ok(StoredQueue {
        settings: match on_file.settings {
            Value::Object(map) => StoredSettings::Map(map),
            Value::Null => StoredSettings::Missing,
            other => StoredSettings::Other(other),
        },
        settings_order: on_file.settings_order,
        line: LinePart {
            epoch: on_file.epoch,
            generation: on_file.generation,
            min_epoch: on_file.min_epoch,
            salt: Salt::from_text(&on_file.salt).ok_or_else(|| nonsense("salt"))?,
            fence: on_file.fence,
            lease: on_file.lease.map(|lease| Lease {
                holder: lease.holder,
                until_ms: lease.until_ms,
            }),
        },
    })
}
