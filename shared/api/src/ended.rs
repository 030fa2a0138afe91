//! Removes an entry that the line still lists although its visit has ended.
//!
//! The line can lose the end of a visit, for example in a failover. A request that reads the record
//! anyway then believes the record. See `docs/adr/0006-failover-losses.md`.

use vestibule_domain::{change::Change, entry_status::EntryStatus, id::EntryId, record::EntryRecord};
use vestibule_engine::{ended::remove_if_ended, write_through::WriteOutcome};
use vestibule_line::EntryLookup;

use super::{ApiState, problem::Problem, queue_cache::QueueSnapshot};

impl ApiState {
    /// Removes the entry from the line if the record proves that this visit has ended, that is, if both
    /// refer to the same visit. Returns whether it did. The caller then asks the line again, because the
    /// visitor may have a new visit by now.
    pub(super) async fn remove_if_ended(
        &self,
        snapshot: &QueueSnapshot,
        status: &EntryStatus,
        record: &EntryRecord,
    ) -> Result<bool, Problem> {
        let (partition, claim_ms) = (snapshot.partition(), snapshot.settings().claim_ms());
        let removed = remove_if_ended(&*self.line, &*self.backup, &partition, status, record, claim_ms).await;
        self.entry_notifier.wake(record.id);
        match removed {
            Ok(removed) => Ok(removed),
            Err(error) => Err(self.line_problem(&snapshot.queue, error).await),
        }
    }

    /// Returns the status and the record as they are if the visit has not ended. If the record
    /// proves that it has, removes the entry and returns the status that the line has now. If the
    /// entry has no place any more, returns the problem that says why.
    pub(super) async fn recheck(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        status: EntryStatus,
        record: Option<EntryRecord>,
    ) -> Result<(EntryStatus, Option<EntryRecord>), Problem> {
        let is_over = match &record {
            Some(record) => self.remove_if_ended(snapshot, &status, record).await?,
            None => false,
        };
        if !is_over {
            return Ok((status, record));
        }
        match self.look_up_status(snapshot, id).await? {
            EntryLookup::Found(status) => Ok((status, None)),
            EntryLookup::NotFound(missing) => Err(self.missing_entry_problem(snapshot, id, missing).await),
        }
    }

    /// Refuses a request that let a visitor in, or consumed the session, although the visit had already
    /// ended. The backup shows that by rejecting the change.
    pub(super) async fn reject_superseded(
        &self,
        snapshot: &QueueSnapshot,
        status: &EntryStatus,
        change: &Change,
        write: &WriteOutcome,
    ) -> Result<(), Problem> {
        let passed_over = write.is_conflicting || (write.durable && write.record.is_none());
        if !passed_over {
            return Ok(());
        }
        let Some(record) = self.read_record(snapshot, change.id).await else {
            return Ok(());
        };
        if change.visit_end().is_some() {
            // The first of two ends of one visit counts. Here the line had lost the first one.
            let is_another = record.version != change.version;
            return if is_another && record.is_end_of(status, snapshot.settings().claim_ms()) {
                Err(Problem::ended(&record, None))
            } else {
                Ok(())
            };
        }
        self.recheck(snapshot, change.id, *status, Some(record))
            .await
            .map(drop)
    }
}
