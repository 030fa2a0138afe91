//! Reads what the backup does not have, whenever it may be due: the whole journal, and what was set aside.

use vestibule_domain::id::QueueId;
use vestibule_line::{JournalRecord, LineError};

use super::{RedisLine, journal::page};

/// How many records are read at once: everybody else waits for that long.
const PAGE_RECORDS: usize = 1_000;

pub(super) async fn read(
    line: &RedisLine,
    queue: &QueueId,
    most: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (mut records, mut from) = (Vec::new(), "-".to_owned());
    while records.len() < most {
        let count = PAGE_RECORDS.min(most - records.len());
        let page = page(line, queue, "journal", &from, count).await?;
        let Some(last) = page.last() else {
            break;
        };
        from = format!("({}", last.key);
        records.extend(page);
    }
    Ok(records)
}

/// The oldest of those that were set aside. `settle.lua` tells them by their keys.
pub(super) async fn read_aside(
    line: &RedisLine,
    queue: &QueueId,
    most: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let mut records = page(line, queue, "aside", "-", most).await?;
    for record in &mut records {
        record.key.insert_str(0, "aside:");
    }
    Ok(records)
}
