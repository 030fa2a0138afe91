//! Writes what a killed request left unwritten about an entry: a claim that the line has and the
//! backup lacks, or an end that the line still remembers.

use vestibule_backup::PutOutcome;
use vestibule_domain::{
    entry_status::{EntryStatus, StoredPosition},
    id::EntryId,
    record::EntryRecord,
    score::DeadlineScore,
    state::EntryState,
};
use vestibule_line::{EntryLookup, RepairOrder, RepairOutcome};

use crate::{
    missing_entry::{EntryContext, MissingEntryError, MissingEntryOutcome},
    write_through::write_before_deadline,
};

/// An entry after every change is written that an interrupted request left unwritten.
#[derive(Debug)]
pub enum PersistedLookup {
    /// The entry has a place in the line.
    Live {
        /// Its status in the line.
        status: EntryStatus,
        /// Its record; `None` for a waiting entry, whose place says all that the record would add,
        /// and if the backup is unavailable.
        record: Option<EntryRecord>,
        /// Whether the unwritten claim is in the backup now; `None` if there was nothing to write.
        durable: Option<bool>,
    },
    /// The entry has no place in the line.
    Missing(MissingEntryOutcome),
}

impl EntryContext<'_> {
    /// Writes what a killed request left unwritten about an entry: a claim that the line has and
    /// the backup lacks, or an end that the line still remembers. An entry that the line lost is
    /// restored first. This is the only step of a status request that writes to the backup.
    ///
    /// A failed write of a claim is not added to the journal, which may have it already. Repeated
    /// status requests would fill the journal.
    ///
    /// # Errors
    /// [`MissingEntryError`] if the line or the backup did not answer, or not in time.
    pub async fn persist_interrupted_change(
        self,
        id: EntryId,
        lookup: EntryLookup,
    ) -> Result<PersistedLookup, MissingEntryError> {
        let missing = match lookup {
            EntryLookup::Found(status) => return self.persist_interrupted_claim(id, status).await,
            EntryLookup::NotFound(missing) => missing,
        };
        match self.resolve_missing_entry(id, missing).await? {
            MissingEntryOutcome::Restored => match self.line.status(&self.partition.queue, id).await? {
                EntryLookup::Found(status) => self.persist_interrupted_claim(id, status).await,
                EntryLookup::NotFound(missing) => Ok(PersistedLookup::Missing(
                    self.resolve_missing_entry(id, missing).await?,
                )),
            },
            outcome => Ok(PersistedLookup::Missing(outcome)),
        }
    }

    /// Reads the record of an entry that was promoted, and writes its claim if the record lacks it.
    /// A visitor who is told to be active relies on the record from then on.
    async fn persist_interrupted_claim(
        self,
        id: EntryId,
        status: EntryStatus,
    ) -> Result<PersistedLookup, MissingEntryError> {
        let live = |record, durable| PersistedLookup::Live {
            status,
            record,
            durable,
        };
        if matches!(status, EntryStatus::Waiting { .. }) {
            return Ok(live(None, None));
        }
        let Some(record) = self.read_record(id).await else {
            return Ok(live(None, None));
        };
        let EntryStatus::Active {
            visit,
            session_end_ms,
            ..
        } = status
        else {
            return Ok(live(Some(record), None));
        };
        if record.visit != visit || !matches!(record.state, EntryState::Waiting | EntryState::Ready) {
            return Ok(live(Some(record), None));
        }
        let order = RepairOrder {
            id,
            observed: StoredPosition::Active(DeadlineScore::new(session_end_ms, visit)),
            generation: self.partition.generation,
            record: Some(record.clone()),
        };
        let RepairOutcome::Live { change, .. } = self.line.repair(&self.partition.queue, &order).await?
        else {
            // The entry moved on meanwhile.
            return Ok(live(Some(record), None));
        };
        match write_before_deadline(self.backup, self.partition, &change).await {
            Ok(PutOutcome::Stored(record)) => Ok(live(Some(record), Some(true))),
            Ok(PutOutcome::Superseded | PutOutcome::Conflicting) => Ok(live(Some(record), None)),
            Err(error) => {
                tracing::warn!(
                    event = "entry.claim_write_failed", queue = %self.partition.queue, entry = %id, cause = %error,
                    "could not write a claim to the backup; the next status request tries again"
                );
                Ok(live(Some(record), Some(false)))
            }
        }
    }
}
