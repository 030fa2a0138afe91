//! Reads the records that the backup does not have, due or not: those of the journal, and the dead
//! letters.

use vestibule_domain::id::QueueId;
use vestibule_line::{JournalRecord, LineError};

use super::{RedisLine, journal::read_records};

/// The number of records in one read. Redis serves no other command during a read, so this bounds
/// the wait of other callers.
const PAGE_RECORDS: usize = 1_000;

pub(super) async fn read_journal_records(
    line: &RedisLine,
    queue: &QueueId,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (mut records, mut from) = (Vec::new(), "-".to_owned());
    while records.len() < records_max {
        let count = PAGE_RECORDS.min(records_max - records.len());
        let page = read_records(line, queue, "journal", &from, count).await?;
        let Some(last) = page.last() else {
            break;
        };
        from = format!("({}", last.key);
        records.extend(page);
    }
    Ok(records)
}

/// Reads the oldest dead letters. Their keys get the prefix `dead-letter:`, by which
/// `acknowledge.lua` tells them from the records of the journal.
pub(super) async fn read_dead_letters(
    line: &RedisLine,
    queue: &QueueId,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let mut records = read_records(line, queue, "dead_letters", "-", records_max).await?;
    for record in &mut records {
        record.key.insert_str(0, "dead-letter:");
    }
    Ok(records)
}
