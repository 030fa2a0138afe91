//! What the report of a queue shows, in the store file: its tallies and the orders that it got, in JSON.

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};
use vestibule_backup::{BackupError, ORDERS_KEPT, OperatorOrder, OrderLog};
use vestibule_domain::{
    change::Version,
    id::{QueueId, Salt},
    tally::{Tally, TallySnapshot},
};

use super::tables::{ORDERS, TALLIES, Tables, to_backup_error};

/// A tally as the file stores it. Its key has the generation.
#[derive(Serialize, Deserialize)]
struct FileTally {
    salt: String,
    epoch: u32,
    v: u64,
    at_ms: u64,
    tally: Tally,
}

impl Tables<'_> {
    /// Stores a tally, unless a later one is stored.
    pub(super) fn store_tally(
        &mut self,
        queue: &QueueId,
        snapshot: &TallySnapshot,
    ) -> Result<bool, BackupError> {
        let key = (queue.as_str(), snapshot.generation);
        let stored = self.tallies.get(key).map_err(|e| to_backup_error(&e))?;
        let stored = stored.map(|value| decode_tally(snapshot.generation, value.value()));
        if let Some(stored) = stored.transpose()?
            && !snapshot.supersedes(&stored)
        {
            return Ok(false);
        }
        let value = FileTally {
            salt: snapshot.salt.to_text(),
            epoch: snapshot.version.epoch,
            v: snapshot.version.v,
            at_ms: snapshot.at_ms,
            tally: snapshot.tally.clone(),
        };
        let value = serde_json::to_vec(&value).map_err(|e| to_backup_error(&e))?;
        let put = self.tallies.insert(key, value.as_slice());
        put.map(|_| true).map_err(|e| to_backup_error(&e))
    }

    /// Adds an order to the log of a queue, and removes the one that falls out.
    pub(super) fn record_order(&mut self, queue: &QueueId, order: &OperatorOrder) -> Result<(), BackupError> {
        let queue = queue.as_str();
        let last = self.orders.range((queue, 0)..=(queue, u64::MAX));
        let last = last.map_err(|e| to_backup_error(&e))?.next_back().transpose();
        let last = last.map_err(|e| to_backup_error(&e))?;
        let number = last.map_or(0, |(key, _)| key.value().1) + 1;
        let value = serde_json::to_vec(order).map_err(|e| to_backup_error(&e))?;
        let put = self.orders.insert((queue, number), value.as_slice());
        put.map_err(|e| to_backup_error(&e))?;
        if let Some(fallen_out) = number.checked_sub(ORDERS_KEPT as u64) {
            let removed = self.orders.remove((queue, fallen_out));
            removed.map_err(|e| to_backup_error(&e))?;
        }
        Ok(())
    }
}

/// The tally of a generation, or of the last one that has a tally.
pub(super) fn read_tally(
    transaction: &ReadTransaction,
    queue: &QueueId,
    generation: Option<u32>,
) -> Result<Option<TallySnapshot>, BackupError> {
    let table = transaction.open_table(TALLIES).map_err(|e| to_backup_error(&e))?;
    let (first, last) = generation.map_or((0, u32::MAX), |generation| (generation, generation));
    let queue = queue.as_str();
    let found = table.range((queue, first)..=(queue, last));
    let found = found.map_err(|e| to_backup_error(&e))?.next_back().transpose();
    match found.map_err(|e| to_backup_error(&e))? {
        Some((key, value)) => decode_tally(key.value().1, value.value()).map(Some),
        None => Ok(None),
    }
}

/// The last orders of a queue.
pub(super) fn read_orders(transaction: &ReadTransaction, queue: &QueueId) -> Result<OrderLog, BackupError> {
    let table = transaction.open_table(ORDERS).map_err(|e| to_backup_error(&e))?;
    let queue = queue.as_str();
    let mut log = OrderLog::default();
    for found in table
        .range((queue, 0)..=(queue, u64::MAX))
        .map_err(|e| to_backup_error(&e))?
    {
        let (key, value) = found.map_err(|e| to_backup_error(&e))?;
        let unreadable = |e| BackupError::Unreadable(format!("an order to {queue}: {e}"));
        log.orders
            .push(serde_json::from_slice(value.value()).map_err(unreadable)?);
        log.count = key.value().1;
    }
    Ok(log)
}

fn decode_tally(generation: u32, value: &[u8]) -> Result<TallySnapshot, BackupError> {
    let unreadable = |what: String| BackupError::Unreadable(format!("the tally of a queue: {what}"));
    let stored: FileTally = serde_json::from_slice(value).map_err(|e| unreadable(e.to_string()))?;
    Ok(TallySnapshot {
        generation,
        salt: Salt::from_text(&stored.salt).ok_or_else(|| unreadable("salt".to_owned()))?,
        version: Version {
            epoch: stored.epoch,
            v: stored.v,
        },
        at_ms: stored.at_ms,
        tally: stored.tally,
    })
}
