//! Reads entries of the store file.

use redb::ReadTransaction;
use vestibule_backup::{BackupError, EntryPartition};
use vestibule_domain::{id::EntryId, record::EntryRecord};

use super::tables::{ENTRIES, decode_entry_id, decode_record, to_backup_error};

/// Reads one entry.
pub(super) fn read_entry(
    transaction: &ReadTransaction,
    partition: &EntryPartition,
    id: EntryId,
) -> Result<Option<EntryRecord>, BackupError> {
    let entries = transaction.open_table(ENTRIES).map_err(|e| to_backup_error(&e))?;
    let key = (
        partition.queue.as_str(),
        partition.generation,
        id.shard(),
        id.as_bytes(),
    );
    let value = entries.get(key).map_err(|e| to_backup_error(&e))?;
    value.map(|value| decode_record(id, value.value())).transpose()
}

/// Reads all entries of a shard.
pub(super) fn read_shard(
    transaction: &ReadTransaction,
    partition: &EntryPartition,
    shard: u8,
) -> Result<Vec<EntryRecord>, BackupError> {
    let entries = transaction.open_table(ENTRIES).map_err(|e| to_backup_error(&e))?;
    let (queue, generation) = (partition.queue.as_str(), partition.generation);
    let whole = (queue, generation, shard, &[0; 16])..=(queue, generation, shard, &[u8::MAX; 16]);
    let mut records = Vec::new();
    for found in entries.range(whole).map_err(|e| to_backup_error(&e))? {
        let (key, value) = found.map_err(|e| to_backup_error(&e))?;
        let id = decode_entry_id(key.value().3)?;
        records.push(decode_record(id, value.value())?);
    }
    Ok(records)
}
