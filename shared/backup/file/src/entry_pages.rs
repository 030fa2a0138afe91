//! Parts of the entries of one shard in the store file.

use std::ops::Bound;

use redb::ReadTransaction;
use vestibule_backup::{BackupError, EntryPage, EntryPartition};
use vestibule_domain::id::EntryId;

use super::tables::{ENTRIES, decode_entry_id, decode_record, to_backup_error};

/// Reads some entries of a shard in the order of their ids.
pub(super) fn read_entry_page(
    transaction: &ReadTransaction,
    partition: &EntryPartition,
    shard: u8,
    after: Option<EntryId>,
    records_max: usize,
) -> Result<EntryPage, BackupError> {
    let entries = transaction.open_table(ENTRIES).map_err(|e| to_backup_error(&e))?;
    let (queue, generation) = (partition.queue.as_str(), partition.generation);
    let after = after.map(|id| *id.as_bytes());
    let (first, last) = ([0; 16], [u8::MAX; 16]);
    let from = match &after {
        Some(id) => Bound::Excluded((queue, generation, shard, id)),
        None => Bound::Included((queue, generation, shard, &first)),
    };
    let to = Bound::Included((queue, generation, shard, &last));
    let mut page = EntryPage::default();
    let found = entries.range((from, to)).map_err(|e| to_backup_error(&e))?;
    for (number, found) in found.enumerate() {
        if number == records_max {
            page.next_after = page.records.last().map(|record| record.id);
            break;
        }
        let (key, value) = found.map_err(|e| to_backup_error(&e))?;
        let id = decode_entry_id(key.value().3)?;
        page.records.push(decode_record(id, value.value())?);
    }
    Ok(page)
}
