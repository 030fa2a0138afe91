//! What the store file holds, and how changes get in.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{
    backup::{BackupError, Lease, Leased, LinePart, Placing, Shelf, StoredQueue, StoredSettings, Written},
    domain::{
        change::{Change, Version},
        id::{EntryId, QueueId, Salt},
        record::Record,
        score::{Visit, WaitScore},
        state::State,
    },
};

/// Queue, generation, shard, the 16 bytes of the entry id: a shard is one range.
pub(super) type EntryKey = (&'static str, u32, u8, &'static [u8; 16]);
pub(super) const ENTRIES: TableDefinition<EntryKey, &[u8]> = TableDefinition::new("entries");
pub(super) const QUEUES: TableDefinition<&str, &[u8]> = TableDefinition::new("queues");

/// How many records one look for expired ones takes.
const SWEEP_RECORDS: usize = 64;

/// An entry as the file holds it, as JSON.
#[derive(Serialize, Deserialize)]
struct StoredRecord {
    state: State,
    epoch: u32,
    v: u64,
    visit: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    promoted_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at_ms: Option<u64>,
    delete_at_ms: u64,
}

/// A queue as the file holds it, as JSON.
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

/// A lease as the file holds it.
#[derive(Serialize, Deserialize)]
struct LeaseOnFile {
    holder: Uuid,
    until_ms: u64,
}

/// Both tables, open for writing.
pub(super) struct Tables<'txn> {
    entries: Table<'txn, EntryKey, &'static [u8]>,
    queues: Table<'txn, &'static str, &'static [u8]>,
}

/// Where the next look for expired records begins.
#[derive(Default)]
pub(super) struct SweepCursor(Option<(String, u32, u8, [u8; 16])>);

impl<'txn> Tables<'txn> {
    /// Opens both, and creates them where they are not there.
    pub(super) fn open(transaction: &'txn WriteTransaction) -> Result<Self, redb::TableError> {
        Ok(Self {
            entries: transaction.open_table(ENTRIES)?,
            queues: transaction.open_table(QUEUES)?,
        })
    }

    /// Puts what a change makes of the record that stands.
    pub(super) fn write(&mut self, shelf: &Shelf, change: &Change) -> Result<Written, BackupError> {
        let standing = self.standing(shelf, change.id)?;
        let Some(record) = Record::after(standing.as_ref(), change, shelf.retain_hours) else {
            return Ok(Written::Older);
        };
        let value = encode(&record);
        self.entries
            .insert(entry_key(shelf, &change.id), value.as_slice())
            .map_err(|e| unavailable(&e))?;
        Ok(Written::Stored(record))
    }

    /// The same, unless another visit stands there that is not over.
    pub(super) fn write_place(&mut self, shelf: &Shelf, change: &Change) -> Result<Placing, BackupError> {
        match self.standing(shelf, change.id)? {
            Some(taken) if taken.is_another_live_visit(change) => Ok(Placing::Taken(taken)),
            _ => self.write(shelf, change).map(Placing::Written),
        }
    }

    fn standing(&self, shelf: &Shelf, id: EntryId) -> Result<Option<Record>, BackupError> {
        let key = entry_key(shelf, &id);
        let value = self.entries.get(key).map_err(|e| unavailable(&e))?;
        value.map(|value| decode(id, value.value())).transpose()
    }

    /// Adds a queue where there is none of that id.
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

    /// Replaces settings that are as expected.
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

    /// Takes a lease, where nobody else has one.
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
        if let Some(other) = part.lease.filter(|other| other.until_ms > now_ms) {
            return Ok(Leased::Held(other));
        }
        part.epoch += 1;
        part.lease = Some(lease);
        let taken = Leased::Taken(*part);
        self.put_queue(queue, &stored)?;
        Ok(taken)
    }

    /// Changes the part of a queue of this epoch that is ours; `None` where there is no such queue.
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

    /// Removes every record that may be deleted by now.
    pub(super) fn sweep_all(&mut self, now_ms: u64) -> Result<(), redb::StorageError> {
        self.entries.retain(|_, value| !is_expired(value, now_ms))
    }

    /// Removes those of the next few records that may be deleted by now.
    pub(super) fn sweep_some(
        &mut self,
        cursor: &mut SweepCursor,
        now_ms: u64,
    ) -> Result<(), redb::StorageError> {
        let (queue, generation, shard, id) = cursor.0.take().unwrap_or_default();
        let mut expired = Vec::new();
        let from_there = self.entries.range((queue.as_str(), generation, shard, &id)..)?;
        for (seen, found) in from_there.enumerate() {
            let (key, value) = found?;
            let (queue, generation, shard, id) = key.value();
            let key = (queue.to_owned(), generation, shard, *id);
            if seen == SWEEP_RECORDS {
                // The file goes on: so does the next look, from here. Past the end, it begins again.
                cursor.0 = Some(key);
                break;
            }
            if is_expired(value.value(), now_ms) {
                expired.push(key);
            }
        }
        for (queue, generation, shard, id) in expired {
            self.entries.remove((queue.as_str(), generation, shard, &id))?;
        }
        Ok(())
    }
}

fn entry_key<'a>(shelf: &'a Shelf, id: &'a EntryId) -> (&'a str, u32, u8, &'a [u8; 16]) {
    (shelf.queue.as_str(), shelf.generation, id.shard(), id.as_bytes())
}

fn encode(record: &Record) -> Vec<u8> {
    let stored = StoredRecord {
        state: record.state,
        epoch: record.version.epoch,
        v: record.version.v,
        visit: record.visit.number(),
        score: record.score.map(WaitScore::raw),
        promoted_at_ms: record.promoted_at_ms,
        claimed_at_ms: record.claimed_at_ms,
        expires_at_ms: record.expires_at_ms,
        ended_at_ms: record.ended_at_ms,
        delete_at_ms: record.delete_at_ms,
    };
    serde_json::to_vec(&stored).expect("a struct of words and numbers is JSON")
}

/// The record of an entry.
///
/// # Errors
/// [`BackupError::Nonsense`] where the value is none.
pub(super) fn decode(id: EntryId, value: &[u8]) -> Result<Record, BackupError> {
    let nonsense = |what: &str| BackupError::Nonsense(format!("the record of entry {id}: {what}"));
    let stored: StoredRecord = serde_json::from_slice(value).map_err(|e| nonsense(&e.to_string()))?;
    let score = stored
        .score
        .map(|raw| WaitScore::from_raw(raw).ok_or_else(|| nonsense("score")));
    Ok(Record {
        id,
        state: stored.state,
        version: Version {
            epoch: stored.epoch,
            v: stored.v,
        },
        visit: Visit::new(stored.visit.into()).ok_or_else(|| nonsense("visit"))?,
        score: score.transpose()?,
        promoted_at_ms: stored.promoted_at_ms,
        claimed_at_ms: stored.claimed_at_ms,
        expires_at_ms: stored.expires_at_ms,
        ended_at_ms: stored.ended_at_ms,
        delete_at_ms: stored.delete_at_ms,
    })
}

/// The entry id in a key.
///
/// # Errors
/// [`BackupError::Nonsense`] where the bytes are none.
pub(super) fn entry_id(bytes: &[u8; 16]) -> Result<EntryId, BackupError> {
    let member = URL_SAFE_NO_PAD.encode(bytes);
    EntryId::from_member(&member).map_err(|e| BackupError::Nonsense(format!("the key {member}: {e}")))
}

/// Whether the record may be deleted. One that does not parse may not: whoever reads it hears of it.
fn is_expired(value: &[u8], now_ms: u64) -> bool {
    serde_json::from_slice::<StoredRecord>(value).is_ok_and(|record| record.delete_at_ms <= now_ms)
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
    serde_json::to_vec(&on_file).expect("a struct of JSON values, words and numbers is JSON")
}

/// A queue.
///
/// # Errors
/// [`BackupError::Nonsense`] where the value is none.
pub(super) fn decode_queue(value: &[u8]) -> Result<StoredQueue, BackupError> {
    let nonsense = |what: &str| BackupError::Nonsense(format!("a queue: {what}"));
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

/// What a failure of the file comes to.
pub(super) fn unavailable(error: &impl std::error::Error) -> BackupError {
    BackupError::Unavailable(format!("the store file: {error}"))
}
