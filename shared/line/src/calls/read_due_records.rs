//! Reads the journal records that are due: sends `read_due_records.lua`.

use vestibule_domain::id::QueueId;

use super::{
    Line,
    journal::{RECORDS_BYTES_MAX, parse_records},
    script::script,
};
use crate::{JournalRecord, LineError};

script!(READ_DUE_RECORDS, "journal/read_due_records");

impl Line {
    /// Returns the oldest journal records that are due, oldest first, at most `records_max`. A line
    /// may return fewer, but at least one if there is one, so that the answer stays within about a
    /// megabyte.
    pub async fn due_journal_records(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        let call = self.begin_call(&READ_DUE_RECORDS, queue);
        let mut reply = call.arg(records_max).arg(RECORDS_BYTES_MAX).send(self).await?;
        let records = redis::from_redis_value(reply.next_value()?)
            .map_err(|_| reply.protocol_error("records of a stream"))?;
        Ok(parse_records(records))
    }
}
