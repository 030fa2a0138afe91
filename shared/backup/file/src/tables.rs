//! The tables of the store file, and how a change is written to them.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};
use serde::{Deserialize, Serialize};
use vestibule_backup::{BackupError, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::{Change, Version},
    fact::{Fact, Step},
    id::EntryId,
    record::{EntryRecord, PutDecision},
    score::{Visit, WaitScore},
    state::EntryState,
};

/// Queue, generation, shard, and the 16 bytes of the entry id. The keys of a shard form one range.
pub(super) type EntryKey = (&'static str, u32, u8, &'static [u8; 16]);
pub(super) const ENTRIES: TableDefinition<EntryKey, &[u8]> = TableDefinition::new("entries");
pub(super) const QUEUES: TableDefinition<&str, &[u8]> = TableDefinition::new("queues");
/// The name of the last orderly stop, while nothing follows it.
const STOPS: TableDefinition<&str, ()> = TableDefinition::new("stops");
/// The default settings of each pattern.
pub(super) const DEFAULTS: TableDefinition<&str, &[u8]> = TableDefinition::new("defaults");
/// The tombstone of each deleted queue.
pub(super) const TOMBSTONES: TableDefinition<&str, &[u8]> = TableDefinition::new("tombstones");

/// The tally of each generation of a queue.
pub(super) const TALLIES: TableDefinition<(&str, u32), &[u8]> = TableDefinition::new("tallies");
/// The last orders that operators gave to each queue, by their numbers.
pub(super) const ORDERS: TableDefinition<(&str, u64), &[u8]> = TableDefinition::new("orders");
/// The outbox of each queue's events.
pub(super) const OUTBOXES: TableDefinition<&str, &[u8]> = TableDefinition::new("outboxes");

/// An entry as the file stores it, in JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredRecord {
    state: EntryState,
    visit: u64,
    step: u64,
    step_ms: u64,
    over: bool,
    epoch: u32,
    v: u64,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    use_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier_use: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    overlong_wait: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    pub(super) delete_at_ms: u64,
}

/// All tables, open for writing.
pub(super) struct Tables<'txn> {
    pub(super) entries: Table<'txn, EntryKey, &'static [u8]>,
    pub(super) queues: Table<'txn, &'static str, &'static [u8]>,
    stops: Table<'txn, &'static str, ()>,
    pub(super) defaults: Table<'txn, &'static str, &'static [u8]>,
    pub(super) tombstones: Table<'txn, &'static str, &'static [u8]>,
    pub(super) tallies: Table<'txn, (&'static str, u32), &'static [u8]>,
    pub(super) orders: Table<'txn, (&'static str, u64), &'static [u8]>,
    pub(super) outboxes: Table<'txn, &'static str, &'static [u8]>,
}

impl<'txn> Tables<'txn> {
    /// Opens all tables, and creates the ones that do not exist.
    pub(super) fn open(transaction: &'txn WriteTransaction) -> Result<Self, redb::TableError> {
        Ok(Self {
            entries: transaction.open_table(ENTRIES)?,
            queues: transaction.open_table(QUEUES)?,
            stops: transaction.open_table(STOPS)?,
            defaults: transaction.open_table(DEFAULTS)?,
            tombstones: transaction.open_table(TOMBSTONES)?,
            tallies: transaction.open_table(TALLIES)?,
            orders: transaction.open_table(ORDERS)?,
            outboxes: transaction.open_table(OUTBOXES)?,
        })
    }

    /// Adds the name of a stop.
    pub(super) fn put_stop(&mut self, name: &str) -> Result<(), BackupError> {
        let put = self.stops.insert(name, ());
        put.map(drop).map_err(|e| to_backup_error(&e))
    }

    /// Removes the name of the last stop, and returns it.
    pub(super) fn take_stop(&mut self) -> Result<Option<String>, BackupError> {
        let taken = self.stops.pop_first().map_err(|e| to_backup_error(&e))?;
        Ok(taken.map(|(name, _)| name.value().to_owned()))
    }

    /// Writes a change as [`EntryRecord::decide_put`] decides.
    pub(super) fn put_change(
        &mut self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PutOutcome, BackupError> {
        let rules = partition.put_rules();
        let Some(stored) = self.read_record(partition, change.id)? else {
            let record = EntryRecord::of_change(change, rules);
            self.put_record(partition, &record)?;
            return Ok(PutOutcome::Stored(record));
        };
        match EntryRecord::decide_put(Some(&stored), change, rules) {
            PutDecision::Store(record) => {
                self.put_record(partition, &record)?;
                Ok(PutOutcome::Stored(record))
            }
            PutDecision::FillGaps(filled) => {
                self.put_record(partition, &filled)?;
                Ok(PutOutcome::Superseded(filled))
            }
            PutDecision::Superseded => Ok(PutOutcome::Superseded(stored)),
            PutDecision::VisitContinues => Ok(PutOutcome::VisitContinues(stored)),
        }
    }

    fn put_record(&mut self, partition: &EntryPartition, record: &EntryRecord) -> Result<(), BackupError> {
        let value = encode_record(record);
        let put = self
            .entries
            .insert(entry_key(partition, &record.id), value.as_slice());
        put.map(drop).map_err(|e| to_backup_error(&e))
    }

    fn read_record(
        &self,
        partition: &EntryPartition,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError> {
        let key = entry_key(partition, &id);
        let value = self.entries.get(key).map_err(|e| to_backup_error(&e))?;
        value.map(|value| decode_record(id, value.value())).transpose()
    }
}

fn entry_key<'a>(partition: &'a EntryPartition, id: &'a EntryId) -> (&'a str, u32, u8, &'a [u8; 16]) {
    (
        partition.queue.as_str(),
        partition.generation,
        id.shard(),
        id.as_bytes(),
    )
}

fn encode_record(record: &EntryRecord) -> Vec<u8> {
    let stored = StoredRecord {
        state: record.state,
        visit: record.fact.visit.number(),
        step: record.fact.step.number(),
        step_ms: record.fact.step_ms,
        over: record.fact.is_over,
        epoch: record.version.epoch,
        v: record.version.v,
        score: record.score.map(WaitScore::raw),
        promoted_at_ms: record.promoted_at_ms,
        claimed_at_ms: record.claimed_at_ms,
        expires_at_ms: record.expires_at_ms,
        ended_at_ms: record.ended_at_ms,
        use_id: record.use_id.map(|use_id| use_id.to_string()),
        earlier_use: record.earlier_use.map(|earlier| earlier.to_string()),
        overlong_wait: record.is_overlong_wait,
        source: record.source.map(|source| source.to_string()),
        delete_at_ms: record.delete_at_ms,
    };
    serde_json::to_vec(&stored).expect("a struct of strings and numbers serializes to JSON")
}

/// Decodes the record of an entry.
///
/// # Errors
/// [`BackupError::Unreadable`] if the value is not a valid record.
pub(super) fn decode_record(id: EntryId, value: &[u8]) -> Result<EntryRecord, BackupError> {
    let nonsense = |what: &str| BackupError::Unreadable(format!("the record of entry {id}: {what}"));
    let stored: StoredRecord = serde_json::from_slice(value).map_err(|e| nonsense(&e.to_string()))?;
    let visit = Visit::new(stored.visit).ok_or_else(|| nonsense("visit"))?;
    let score = stored
        .score
        .map(|raw| WaitScore::of_visit(raw, visit).ok_or_else(|| nonsense("score")));
    let use_id = stored
        .use_id
        .map(|text| text.parse().map_err(|_| nonsense("use_id")));
    let earlier_use = stored
        .earlier_use
        .map(|text| text.parse().map_err(|_| nonsense("earlier_use")));
    let source = stored
        .source
        .map(|text| text.parse().map_err(|_| nonsense("source")));
    Ok(EntryRecord {
        id,
        state: stored.state,
        fact: Fact {
            visit,
            step: Step::new(stored.step).ok_or_else(|| nonsense("step"))?,
            step_ms: stored.step_ms,
            is_over: stored.over,
        },
        version: Version {
            epoch: stored.epoch,
            v: stored.v,
        },
        score: score.transpose()?,
        promoted_at_ms: stored.promoted_at_ms,
        claimed_at_ms: stored.claimed_at_ms,
        expires_at_ms: stored.expires_at_ms,
        ended_at_ms: stored.ended_at_ms,
        use_id: use_id.transpose()?,
        earlier_use: earlier_use.transpose()?,
        is_overlong_wait: stored.overlong_wait,
        source: source.transpose()?,
        delete_at_ms: stored.delete_at_ms,
    })
}

/// The entry id in a key.
///
/// # Errors
/// [`BackupError::Unreadable`] if the bytes are not an entry id.
pub(super) fn decode_entry_id(bytes: &[u8; 16]) -> Result<EntryId, BackupError> {
    let member = URL_SAFE_NO_PAD.encode(bytes);
    EntryId::from_member(&member).map_err(|e| BackupError::Unreadable(format!("the entry key {member}: {e}")))
}

/// Converts an error of the store file.
pub(super) fn to_backup_error(error: &impl std::error::Error) -> BackupError {
    BackupError::Unavailable(format!("the store file: {error}"))
}
