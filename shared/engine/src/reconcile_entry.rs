//! Makes the line and the backup agree about an entry that a request found: removes one whose end
//! the line lost, and writes what a killed request left unwritten.

use vestibule_domain::{entry_status::EntryStatus, id::EntryId, record::EntryRecord, state::EntryState};
use vestibule_line::{AdoptBasis, EntryLookup};

use crate::{
    agree::{Agreement, Place},
    entry_context::EntryContext,
    missing_entry::{MissingEntryError, MissingEntryOutcome, missing_outcome},
};

/// An entry after line and backup agree about it.
#[derive(Debug)]
pub enum ReconciledEntry {
    /// The entry has a place in the line.
    Live {
        /// Its status in the line.
        status: EntryStatus,
        /// Its record; `None` for a waiting entry, whose place says all that the record would add,
        /// and if the backup is unavailable.
        record: Option<EntryRecord>,
        /// Whether a change that an interrupted request left unwritten is in the backup now; `None`
        /// if there was none.
        durable: Option<bool>,
    },
    /// The entry has no place in the line.
    Missing(MissingEntryOutcome),
}

impl EntryContext<'_> {
    /// Reads the record of an entry that the line has, and makes both agree if the record is ahead
    /// of the line, or lacks the claim of an active entry, which a killed request left unwritten. A
    /// visitor who is told to be active relies on the record from then on. A missing entry is
    /// resolved as in [`resolve_missing_entry`](Self::resolve_missing_entry). A status request
    /// writes to the backup by this step alone.
    ///
    /// A failed write is not added to the journal, which may have it already. Repeated status
    /// requests would fill the journal.
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

    /// As [`reconcile_lookup`](Self::reconcile_lookup), for an entry that the line has and whose
    /// record was read (`None`: the backup has none, or did not answer).
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
}

/// Whether the record shows a later visit, a later state or a longer session than the line. The
/// line then lost that, or changed in between.
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
