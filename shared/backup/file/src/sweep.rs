//! Removes what a table of DynamoDB would remove by its time to live.

use redb::{ReadableTable, StorageError};
use serde::Deserialize;
use vestibule_backup::{OperatorOrder, REPORT_RETAIN_MS};
use vestibule_domain::tombstone::Tombstone;

use super::{
    tables::{StoredRecord, Tables},
    tombstones::FileTombstone,
};

/// How many records one partial sweep for expired records reads.
const SWEEP_RECORDS: usize = 64;
/// How often the records that belong to no visitor are swept.
const SWEEP_INTERVAL_MS: u64 = 3_600_000;

/// Sweeps a little with each transaction.
#[derive(Default)]
pub(super) struct Sweeper {
    /// Where the next partial sweep for entries begins.
    next_entry: Option<(String, u32, u8, [u8; 16])>,
    /// When the rest was swept last, in Unix milliseconds.
    rest_swept_at_ms: u64,
}

impl Sweeper {
    /// Reads the next few records of entries, and at times all other records, and removes the expired ones.
    pub(super) fn sweep(&mut self, tables: &mut Tables<'_>, now_ms: u64) -> Result<(), StorageError> {
        if now_ms.abs_diff(self.rest_swept_at_ms) >= SWEEP_INTERVAL_MS {
            self.rest_swept_at_ms = now_ms;
            sweep_rest(tables, now_ms)?;
        }
        self.sweep_entries(tables, now_ms)
    }

    fn sweep_entries(&mut self, tables: &mut Tables<'_>, now_ms: u64) -> Result<(), StorageError> {
        let (queue, generation, shard, id) = self.next_entry.take().unwrap_or_default();
        let mut expired = Vec::new();
        let from_there = tables.entries.range((queue.as_str(), generation, shard, &id)..)?;
        for (seen, found) in from_there.enumerate() {
            let (key, value) = found?;
            let (queue, generation, shard, id) = key.value();
            let key = (queue.to_owned(), generation, shard, *id);
            if seen == SWEEP_RECORDS {
                // More records follow: the next sweep begins with this one. After the last record
                // it begins again at the first.
                self.next_entry = Some(key);
                break;
            }
            if is_entry_over(value.value(), now_ms) {
                expired.push(key);
            }
        }
        for (queue, generation, shard, id) in expired {
            tables.entries.remove((queue.as_str(), generation, shard, &id))?;
        }
        Ok(())
    }
}

/// Removes every expired record.
pub(super) fn sweep_all(tables: &mut Tables<'_>, now_ms: u64) -> Result<(), StorageError> {
    sweep_rest(tables, now_ms)?;
    tables.entries.retain(|_, value| !is_entry_over(value, now_ms))
}

/// Removes the expired records that belong to no visitor.
fn sweep_rest(tables: &mut Tables<'_>, now_ms: u64) -> Result<(), StorageError> {
    tables
        .tombstones
        .retain(|_, value| !is_tombstone_over(value, now_ms))?;
    tables.tallies.retain(|_, value| !is_report_over(value, now_ms))?;
    tables.orders.retain(|_, value| !is_report_over(value, now_ms))?;
    sweep_tokens(tables, now_ms)?;
    tables.outboxes.retain(|_, value| !is_report_over(value, now_ms))
}

/// Removes the tokens of orders whose time is over. The orders stay.
fn sweep_tokens(tables: &mut Tables<'_>, now_ms: u64) -> Result<(), StorageError> {
    let mut changed = Vec::new();
    for found in tables.orders.iter()? {
        let (key, value) = found?;
        let (queue, number) = key.value();
        let order = serde_json::from_slice::<OperatorOrder>(value.value()).ok();
        if let Some(order) = order.filter(|order| order.has_old_tokens(now_ms))
            && let Ok(value) = serde_json::to_vec(&order.without_tokens())
        {
            changed.push((queue.to_owned(), number, value));
        }
    }
    for (queue, number, value) in changed {
        tables.orders.insert((queue.as_str(), number), value.as_slice())?;
    }
    Ok(())
}

// A record that does not parse is kept, so that the next read reports it.

fn is_entry_over(value: &[u8], now_ms: u64) -> bool {
    serde_json::from_slice::<StoredRecord>(value).is_ok_and(|record| record.delete_at_ms <= now_ms)
}

fn is_tombstone_over(value: &[u8], now_ms: u64) -> bool {
    let tombstone = serde_json::from_slice::<FileTombstone>(value).map(Tombstone::from);
    tombstone.is_ok_and(|tombstone| tombstone.delete_at_ms() <= now_ms)
}

/// Whether the time of a tally, an order or an outbox is over.
fn is_report_over(value: &[u8], now_ms: u64) -> bool {
    /// The one field that all of them have.
    #[derive(Deserialize)]
    struct Written {
        at_ms: u64,
    }
    serde_json::from_slice::<Written>(value)
        .is_ok_and(|written| written.at_ms.saturating_add(REPORT_RETAIN_MS) <= now_ms)
}

#[cfg(test)]
mod tests {
    use redb::{Database, ReadableTableMetadata};
    use serde_json::Map;
    use vestibule_domain::{
        change::Version,
        event_outbox::{EventOutbox, QueueLife},
        id::{QueueId, Salt},
        tally::{Tally, TallySnapshot},
        tombstone::TOMBSTONE_RETAIN_MS,
    };

    use super::*;

    const NOW_MS: u64 = 1_795_000_000_000;

    #[test]
    fn nothing_of_a_deleted_queue_outlasts_its_time() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let database = Database::create(directory.path().join("store")).expect("a new store file");
        let transaction = database.begin_write().expect("a transaction");
        let mut tables = Tables::open(&transaction).expect("the tables");
        let queue: QueueId = "TIMEDEAL:123".parse().expect("a queue id");
        put_all(&mut tables, &queue);

        let mut sweeper = Sweeper::default();
        let mut left_at = |ms: u64| {
            sweeper.sweep(&mut tables, ms).expect("a sweep");
            let tombstones = tables.tombstones.len().expect("a length");
            let report = [
                tables.tallies.len().expect("a length"),
                tables.orders.len().expect("a length"),
                tables.outboxes.len().expect("a length"),
            ];
            (tombstones, report)
        };
        assert_eq!(left_at(NOW_MS), (1, [1; 3]));
        assert_eq!(
            left_at(NOW_MS + TOMBSTONE_RETAIN_MS - SWEEP_INTERVAL_MS),
            (1, [1; 3])
        );
        assert_eq!(left_at(NOW_MS + TOMBSTONE_RETAIN_MS), (0, [1; 3]));
        assert_eq!(
            left_at(NOW_MS + REPORT_RETAIN_MS - SWEEP_INTERVAL_MS),
            (0, [1; 3])
        );
        assert_eq!(left_at(NOW_MS + REPORT_RETAIN_MS), (0, [0; 3]));
    }

    /// Writes all that stays of a queue after its deletion.
    fn put_all(tables: &mut Tables<'_>, queue: &QueueId) {
        let tombstone = Tombstone {
            epoch: 1,
            generation: 1,
            deleted_at_ms: NOW_MS,
        };
        tables.add_tombstone(queue, &tombstone).expect("a tombstone");
        let snapshot = TallySnapshot {
            generation: 1,
            salt: Salt::new([3; 32]),
            version: Version { epoch: 1, v: 1 },
            at_ms: NOW_MS,
            tally: Tally::default(),
        };
        tables.store_tally(queue, &snapshot).expect("a tally");
        let order = OperatorOrder {
            at_ms: NOW_MS,
            op: "pause".to_owned(),
            caller: None,
            request_id: None,
            generation: 1,
            arguments: "{}".to_owned(),
            tokens: vec!["a-token".to_owned()],
            tokens_until_ms: Some(NOW_MS + 1_000),
            settings_before: Map::new(),
            revision: None,
        };
        tables.record_order(queue, &order).expect("an order");
        let outbox = EventOutbox::new(QueueLife::new(1, &Salt::new([3; 32])));
        tables
            .replace_outbox(queue, 0, outbox, NOW_MS)
            .expect("an outbox");
    }
}
