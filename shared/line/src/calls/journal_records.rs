//! Reads the records that the backup does not have, due or not: those of the journal, and the dead
//! letters.

use vestibule_domain::id::QueueId;

use super::{
    Line,
    connect::Request,
    journal::{DEAD_LETTER_LIMITS, JOURNAL_LIMITS, read_deferred, read_records},
    keys::Keys,
};
use crate::{JournalRecord, LineError};

impl Line {
    /// Returns the oldest journal records, due or not, oldest first, at most `records_max`. The
    /// backup does not have their changes yet.
    pub async fn journal_records(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        require_queue(self, queue).await?;
        read_all_records(self, queue, records_max).await
    }
}

/// Reads the records of the stream, and then those that are deferred. The queue may have been dropped.
pub(super) async fn read_all_records(
    line: &Line,
    queue: &QueueId,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let mut records = read_records(line, queue, "journal", records_max, &JOURNAL_LIMITS).await?;
    let deferred = read_deferred(line, queue, records_max - records.len()).await?;
    records.extend(deferred);
    Ok(records)
}

impl Line {
    /// Returns the oldest dead letters, oldest first, at most `records_max`. Pass their keys to
    /// [`acknowledge`](Self::acknowledge) to remove them.
    pub async fn dead_lettered(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        require_queue(self, queue).await?;
        let mut records = read_records(self, queue, "dead_letters", records_max, &DEAD_LETTER_LIMITS).await?;
        for record in &mut records {
            record.key.insert_str(0, "dead-letter:");
        }
        Ok(records)
    }
}

/// Fails with [`LineError::QueueNotFound`] if Redis does not have the queue.
async fn require_queue(line: &Line, queue: &QueueId) -> Result<(), LineError> {
    let config = Keys::new(queue).key("config");
    let mut find = redis::cmd("EXISTS");
    find.arg(&config);
    let exists: bool = line.connection.send(Request::Command(&find)).await?;
    exists.then_some(()).ok_or(LineError::QueueNotFound)
}
