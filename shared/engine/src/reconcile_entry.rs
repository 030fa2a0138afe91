//! Finds out what became of an entry, and makes the line and the backup agree about it: restores an entry that the line
//! lost, removes one whose end the line lost, and writes what a killed request left unwritten.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::{
    change::Change, entry_status::EntryStatus, id::EntryId, record::EntryRecord, state::EntryState,
};
use vestibule_line::{AdoptBasis, EntryLookup, Line, LineError, NotFound};

use crate::{
    agree::{Agreement, Place, Start, agree},
    log_agreement::log_agreement,
    write_through::WRITE_DEADLINE,
};

/// How long a request waits while a lost entry is restored. The restore takes several requests to the backup, and each
/// may be slow. Cancelling it halfway has the same effect as a killed process, which is harmless. The next request finds
/// what was done so far.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(1);

/// What became of an entry that the line does not have.
#[derive(Debug)]
pub enum MissingEntryOutcome {
    /// The entry ended, as this record shows. The backup may not have that end yet.
    Ended(EntryRecord),
    /// The line says that the entry ended, but it may have lost a later change. Only the backup could tell, and it is
    /// unavailable. The client is not told of the end, because a client that is told of an end does not ask again.
    Unconfirmed(BackupError),
    /// The backup had the entry as live, and the line has it again. The caller should ask the line once more.
    Restored(EntryStatus),
    /// The backup has the entry as live, and it is not certain now whether the line should have it.
    Unclear,
    /// The entry never existed, or its record has expired.
    NeverExisted,
}

/// An entry after line and backup agree about it.
#[derive(Debug)]
pub enum ReconciledEntry {
    /// The entry has a place in the line.
    Live {
        /// Its status in the line.
        status: EntryStatus,
        /// Its record; `None` for a waiting entry, whose place says all that the record would add, and if the backup is
        /// unavailable.
        record: Option<EntryRecord>,
        /// Whether a change that an interrupted request left unwritten is in the backup now; `None` if there was none.
        durable: Option<bool>,
    },
    /// The entry has no place in the line.
    Missing(MissingEntryOutcome),
}

/// Why it is not known what became of an entry.
#[derive(Debug, thiserror::Error)]
pub enum MissingEntryError {
    /// The line failed.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup failed, and the line does not know the entry.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The restore took longer than a request may wait. The next request continues.
    #[error("the line does not have the entry, and reading it from the backup took too long")]
    Timeout,
}

/// What a request knows about the queue of an entry, and where it finds the rest.
#[derive(Clone, Copy)]
pub struct EntryContext<'a> {
    /// The line.
    pub line: &'a dyn Line,
    /// The backup.
    pub backup: &'a dyn Backup,
    /// Where the backup keeps the entries of the queue's generation.
    pub partition: &'a EntryPartition,
}

impl EntryContext<'_> {
    /// Finds out what became of an entry that the line does not have, and restores it if the line lost it. If the line
    /// knows an end that the backup may lack, this writes the end first, because the request that ended the entry may
    /// have been killed before it wrote.
    ///
    /// # Errors
    /// [`MissingEntryError`] if the line or the backup did not answer, or not in time.
    pub async fn resolve_missing_entry(
        self,
        id: EntryId,
        missing: NotFound,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        // The box keeps this rare case from enlarging the future of every request.
        let resolved = Box::pin(async {
            match missing {
                NotFound::Ended(end) => self.resolve_end(end).await,
                NotFound::Unknown { at_ms } => self.resolve_unknown(id, at_ms).await,
            }
        });
        timeout(RECOVERY_TIMEOUT, resolved)
            .await
            .unwrap_or(Err(MissingEntryError::Timeout))
    }

    /// Reads the record of an entry that the line has, and makes both agree if the record is ahead of the line, or lacks
    /// the claim of an active entry, which a killed request left unwritten. A visitor who is told to be active relies on
    /// the record from then on. A missing entry is resolved as in
    /// [`resolve_missing_entry`](Self::resolve_missing_entry). A status request writes to the backup by this step alone.
    ///
    /// A failed write is not added to the journal, which may have it already. Repeated status requests would fill the
    /// journal.
    ///
    /// # Errors
    /// [`MissingEntryError`] if the line or the backup did not answer, or not in time.
    pub async fn reconcile_lookup(
        self,
        id: EntryId,
        lookup: EntryLookup,
    ) -> Result<ReconciledEntry, MissingEntryError> {
        match lookup {
            EntryLookup::Found(status @ EntryStatus::Waiting { .. }) => Ok(ReconciledEntry::Live {
                status,
                record: None,
                durable: None,
            }),
            EntryLookup::Found(status) => {
                let record = self.read_record(id).await;
                self.reconcile_status(id, status, record).await
            }
            EntryLookup::NotFound(missing) => match self.resolve_missing_entry(id, missing).await? {
                MissingEntryOutcome::Restored(status) => Ok(ReconciledEntry::Live {
                    status,
                    record: self.read_record(id).await,
                    durable: None,
                }),
                outcome => Ok(ReconciledEntry::Missing(outcome)),
            },
        }
    }

    /// As [`reconcile_lookup`](Self::reconcile_lookup), for an entry that the line has and whose record was read
    /// (`None`: the backup has none, or did not answer).
    ///
    /// # Errors
    /// [`MissingEntryError`] if the line did not answer.
    pub async fn reconcile_status(
        self,
        id: EntryId,
        status: EntryStatus,
        record: Option<EntryRecord>,
    ) -> Result<ReconciledEntry, MissingEntryError> {
        let needs_agreement = record
            .as_ref()
            .is_some_and(|record| is_ahead(record, &status) || lacks_claim(record, &status));
        if !needs_agreement {
            return Ok(ReconciledEntry::Live {
                status,
                record,
                durable: None,
            });
        }
        match Box::pin(self.agree(id, record, AdoptBasis::Known)).await? {
            Agreement::Reached(agreed) => Ok(match agreed.place {
                Place::Ended => ReconciledEntry::Missing(missing_outcome(agreed.record)),
                place => ReconciledEntry::Live {
                    status: place.status().unwrap_or(status),
                    durable: agreed.has_written.then_some(true),
                    record: agreed.record,
                },
            }),
            Agreement::Unwritten(agreed, change, error) => {
                tracing::warn!(
                    event = "entry.claim_write_failed", queue = %self.partition.queue, entry = %id, cause = %error,
                    "could not write a change of an entry to the backup; the next status request tries again"
                );
                Ok(match agreed.place {
                    Place::Ended => ReconciledEntry::Missing(self.ended_by(agreed.record.as_ref(), &change)),
                    place => ReconciledEntry::Live {
                        status: place.status().unwrap_or(status),
                        record: agreed.record,
                        durable: Some(false),
                    },
                })
            }
            Agreement::EnterAgain | Agreement::Undecided => {
                Ok(ReconciledEntry::Missing(MissingEntryOutcome::Unclear))
            }
        }
    }

    /// Reads the record of an entry, for a request that can do without it. Returns `None` if the backup is unavailable.
    pub async fn read_record(self, id: EntryId) -> Option<EntryRecord> {
        match self.backup.read_entry(self.partition, id).await {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(
                    event = "entry.record_unavailable", cause = %error,
                    "continued a request without the record of the entry because the backup did not return it"
                );
                None
            }
        }
    }

    async fn agree(
        self,
        id: EntryId,
        record: Option<EntryRecord>,
        basis: AdoptBasis,
    ) -> Result<Agreement, LineError> {
        let start = Start::Compare(id, record, basis);
        let deadline = Instant::now() + WRITE_DEADLINE;
        let agreement = agree(self.line, self.backup, self.partition, start, deadline).await?;
        if let Agreement::Reached(agreed) | Agreement::Unwritten(agreed, ..) = &agreement {
            log_agreement(self.partition, id, agreed);
        }
        Ok(agreement)
    }

    /// Writes an end that the line knows. If the record states a greater fact, the line had lost that.
    async fn resolve_end(self, end: Change) -> Result<MissingEntryOutcome, MissingEntryError> {
        let deadline = Instant::now() + WRITE_DEADLINE;
        let start = Start::Write(end);
        match agree(self.line, self.backup, self.partition, start, deadline).await? {
            Agreement::Reached(agreed) => {
                log_agreement(self.partition, end.id, &agreed);
                Ok(match agreed.place.status() {
                    Some(status) => MissingEntryOutcome::Restored(status),
                    None => missing_outcome(agreed.record),
                })
            }
            // The backup may still answer reads.
            Agreement::Unwritten(_, change, error) => {
                match self.backup.read_entry(self.partition, end.id).await {
                    Ok(Some(record)) if record.fact > change.fact() => {
                        self.take_over(record, AdoptBasis::Known).await
                    }
                    Ok(record) => Ok(self.ended_by(record.as_ref(), &change)),
                    Err(_) => Ok(MissingEntryOutcome::Unconfirmed(error)),
                }
            }
            Agreement::EnterAgain | Agreement::Undecided => Ok(MissingEntryOutcome::Unclear),
        }
    }

    /// Reads the record of an entry that the line did not know at `at_ms`, and restores the entry if it is live.
    async fn resolve_unknown(
        self,
        id: EntryId,
        at_ms: u64,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        match self.backup.read_entry(self.partition, id).await? {
            None => Ok(MissingEntryOutcome::NeverExisted),
            Some(record) if !record.fact.is_live() => Ok(MissingEntryOutcome::Ended(record)),
            Some(record) => self.take_over(record, AdoptBasis::UnknownAt(at_ms)).await,
        }
    }

    async fn take_over(
        self,
        record: EntryRecord,
        basis: AdoptBasis,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        let id = record.id;
        Ok(match self.agree(id, Some(record), basis).await? {
            Agreement::Reached(agreed) => match agreed.place.status() {
                Some(status) => MissingEntryOutcome::Restored(status),
                None => missing_outcome(agreed.record),
            },
            Agreement::Unwritten(agreed, change, error) => {
                // The line has the change, and its journal keeps it for the backup.
                self.line
                    .append_to_journal(&self.partition.queue, &change)
                    .await?;
                tracing::warn!(
                    event = "entry.change_journaled", queue = %self.partition.queue, entry = %id, %error,
                    "the backup did not accept a change of an entry; added the change to the journal instead"
                );
                match agreed.place.status() {
                    Some(status) => MissingEntryOutcome::Restored(status),
                    None => self.ended_by(agreed.record.as_ref(), &change),
                }
            }
            Agreement::EnterAgain | Agreement::Undecided => MissingEntryOutcome::Unclear,
        })
    }

    /// The record as it will be when the backup has this end.
    fn ended_by(self, record: Option<&EntryRecord>, end: &Change) -> MissingEntryOutcome {
        MissingEntryOutcome::Ended(EntryRecord::with_end(record, end, self.partition.put_rules()))
    }
}

impl Place {
    fn status(self) -> Option<EntryStatus> {
        match self {
            Self::Live(status) => Some(status),
            Self::Unchanged | Self::Ended => None,
        }
    }
}

fn missing_outcome(record: Option<EntryRecord>) -> MissingEntryOutcome {
    match record {
        Some(record) if record.fact.is_live() => MissingEntryOutcome::Unclear,
        Some(record) => MissingEntryOutcome::Ended(record),
        None => MissingEntryOutcome::NeverExisted,
    }
}

/// Whether the record shows a later visit, a later state or a longer session than the line. The line then lost that, or
/// changed in between.
pub fn is_ahead(record: &EntryRecord, status: &EntryStatus) -> bool {
    let fact = record.fact;
    if fact.visit != status.visit() {
        return fact.visit > status.visit();
    }
    match (fact.live_state(), status) {
        (Some(EntryState::Active), EntryStatus::Active { session_end_ms, .. }) => {
            fact.step_ms > *session_end_ms
        }
        (None | Some(EntryState::Active), _) => true,
        (Some(state), status) => state == EntryState::Ready && status.state() == EntryState::Waiting,
    }
}

/// Whether the entry is active in the line, and the record does not show that.
fn lacks_claim(record: &EntryRecord, status: &EntryStatus) -> bool {
    let is_behind = record.fact.visit < status.visit() || record.state != EntryState::Active;
    status.state() == EntryState::Active && is_behind
}
