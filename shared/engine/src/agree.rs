//! Makes the line and the backup agree about one entry: writes a change, and if the record states a
//! greater fact, lets the line take it over. `docs/adr/0016-one-order-of-truth.md` has the rule and
//! its reasons.

use tokio::time::{Instant, timeout_at};
use vestibule_backup::{Backup, BackupError, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::{Change, Event, VisitEnd},
    entry_status::EntryStatus,
    fact::Fact,
    id::EntryId,
    record::EntryRecord,
    score::Visit,
};
use vestibule_line::{AdoptBasis, AdoptOrder, AdoptOutcome, Line, LineError};

/// The most steps until line and backup agree. A step more than three means that other requests
/// change the entry at the same time.
const STEPS_MAX: usize = 6;

/// Where the agreement begins.
pub(super) enum Start {
    /// This change is to be written.
    Write(Change),
    /// The backup refused this change because of this record.
    Refused(Change, EntryRecord),
    /// This is the record of an entry, and the basis on which the line may take it over.
    Compare(EntryId, Option<EntryRecord>, AdoptBasis),
}

/// How the agreement ended.
pub(super) enum Agreement {
    /// The line and the backup agree.
    Reached(Agreed),
    /// The backup did not accept this change.
    Unwritten(Agreed, Change, BackupError),
    /// The line dropped the provisional place of a visitor who entered. The visitor has to be given
    /// a new one.
    EnterAgain,
    /// The line refused to take the record over, or other requests kept changing the entry. The
    /// caller may try again.
    Undecided,
}

/// What the line and the backup have of the entry.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    /// The place in the line.
    pub(super) place: Place,
    /// The record; `None` if the backup has none or did not return it.
    pub(super) record: Option<EntryRecord>,
    /// Whether the line took the entry over from the record.
    pub(super) has_adopted: bool,
    /// Whether the line had the entry as live, and removed it.
    pub(super) has_removed: bool,
    /// Whether the backup stored a change.
    pub(super) has_written: bool,
}

/// The place of an entry in the line after an agreement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// The line was not asked: it is as it was when it made the change.
    #[default]
    Unchanged,
    /// The entry is live.
    Live(EntryStatus),
    /// The entry has no place.
    Ended,
}

/// Whether nothing is left to do after this write: the backup has the change, or the record shows
/// an end as well.
fn is_settled(outcome: &PutOutcome, change: &Change) -> bool {
    match outcome {
        PutOutcome::Stored(_) => true,
        PutOutcome::Superseded(record) => {
            let both_ended = change.visit_end().is_some() && !record.fact.is_live();
            record.fact == change.fact() || both_ended
        }
        PutOutcome::VisitContinues(_) => false,
    }
}

/// Finds the record with which the line has to be compared after a flush wrote one of its changes;
/// `None` if there is nothing to compare.
///
/// A greater fact with a later version comes from a later change of the same line, which was
/// written first. This is common among the changes of the journal, so it is believed, although the
/// line may have lost that change and have a clock that is behind. The requests about the entry
/// find that out.
pub(super) fn conflicting_record(outcome: &PutOutcome, change: &Change) -> Option<EntryRecord> {
    let is_overtaken = matches!(outcome, PutOutcome::Superseded(record) if record.version > change.version);
    (!is_settled(outcome, change) && !is_overtaken).then(|| outcome.record().clone())
}

/// The end that the line need not keep for the backup once the backup has this change: the end that
/// the change reports, or that of the visit before the one that it begins.
pub(super) fn settled_end(change: &Change) -> Option<VisitEnd> {
    match change.event {
        Event::Entered { after, .. } | Event::FastTracked { after, .. } => after.map(|visit| VisitEnd {
            id: change.id,
            fact: Fact::ended(visit),
        }),
        _ => change.visit_end(),
    }
}

/// Makes the line and the backup agree about one entry.
///
/// # Errors
/// [`LineError`] if the line failed to answer.
pub(super) async fn agree(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    start: Start,
    deadline: Instant,
) -> Result<Agreement, LineError> {
    let mut agreed = Agreed::default();
    let mut provisional = None;
    let mut step = start;
    for _ in 0..STEPS_MAX {
        step = match step {
            Start::Write(change) => {
                let outcome = match put_before(deadline, backup, partition, &change).await {
                    Ok(outcome) => outcome,
                    Err(error) => return Ok(Agreement::Unwritten(agreed, change, error)),
                };
                if is_settled(&outcome, &change) {
                    agreed.has_written |= matches!(outcome, PutOutcome::Stored(_));
                    agreed.record = Some(outcome.record().clone());
                    acknowledge_end(line, partition, settled_end(&change)).await;
                    return Ok(Agreement::Reached(agreed));
                }
                Start::Refused(change, outcome.record().clone())
            }
            Start::Refused(change, record) => {
                let basis = provisional_basis(&change, partition).unwrap_or(AdoptBasis::Known);
                provisional = Some(change);
                Start::Compare(change.id, Some(record), basis)
            }
            Start::Compare(id, record, basis) => {
                agreed.record.clone_from(&record);
                let order = AdoptOrder {
                    id,
                    generation: partition.generation,
                    record,
                    basis,
                };
                let unwritten = match line.adopt(&partition.queue, &order).await? {
                    AdoptOutcome::Live {
                        status,
                        change,
                        has_adopted,
                    } => {
                        agreed.place = Place::Live(status);
                        agreed.has_adopted |= has_adopted;
                        change
                    }
                    AdoptOutcome::Ended { change, has_removed } => {
                        agreed.place = Place::Ended;
                        agreed.has_removed |= has_removed;
                        change
                    }
                    AdoptOutcome::Stands { after } => provisional.map(|change| follow(change, after)),
                    AdoptOutcome::EnterAgain => return Ok(Agreement::EnterAgain),
                    AdoptOutcome::Rejected => return Ok(Agreement::Undecided),
                    AdoptOutcome::FromTheFuture => {
                        log_future_record(partition, id);
                        return Ok(Agreement::Undecided);
                    }
                };
                match unwritten {
                    Some(change) => Start::Write(change),
                    None => return Ok(Agreement::Reached(agreed)),
                }
            }
        };
    }
    Ok(Agreement::Undecided)
}

fn log_future_record(partition: &EntryPartition, id: EntryId) {
    tracing::error!(
        event = "entry.future_record_refused", queue = %partition.queue, entry = %id,
        "refused the record of an entry whose visit began more than a minute after the current time; correct or delete \
         its item in the table"
    );
}

/// Writes a change before the deadline.
///
/// # Errors
/// [`BackupError`] if the backup did not accept the change by then.
async fn put_before(
    deadline: Instant,
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
) -> Result<PutOutcome, BackupError> {
    timeout_at(deadline, backup.put_change(partition, change))
        .await
        .unwrap_or_else(|_| Err(BackupError::Unavailable("it did not answer in time".to_owned())))
}

fn provisional_basis(change: &Change, partition: &EntryPartition) -> Option<AdoptBasis> {
    let place = change.event.place().filter(|_| change.event.is_provisional())?;
    Some(AdoptBasis::Provisional {
        place,
        grace_seconds: change.event.grace_seconds(partition.grace_seconds),
    })
}

/// The same change of a visitor who entered, after the line learned which earlier visit is over.
fn follow(mut change: Change, known: Option<Visit>) -> Change {
    if let Event::Entered { after, .. } | Event::FastTracked { after, .. } = &mut change.event {
        *after = (*after).max(known);
    }
    change
}

/// Tells the line that the backup need not get an end any more. A failure is harmless: the line
/// only remembers the end longer than it needs to.
pub(super) async fn acknowledge_end(line: &Line, partition: &EntryPartition, end: Option<VisitEnd>) {
    let Some(end) = end else {
        return;
    };
    if let Err(error) = line.acknowledge(&partition.queue, &[], &[end]).await {
        tracing::warn!(
            event = "entry.end_acknowledgement_failed", queue = %partition.queue, entry = %end.id, %error,
            "could not tell Redis that the backup holds an end; the consistency check acknowledges it later"
        );
    }
}
