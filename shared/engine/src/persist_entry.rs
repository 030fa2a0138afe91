//! Persists the place of a visitor who entered, unless the visitor already has a place that the
//! line lost.

use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{change::Change, entry_status::EntryStatus, record::EntryRecord};
use vestibule_line::{Line, LineError};
use vestibule_telemetry::line_limit::LineLimit;

use super::{
    agree::{Agreed, Agreement, Place, Start, agree},
    log_agreement::log_agreement,
    write_through::WRITE_DEADLINE,
};

/// While the backup is away, each visitor would have a line.
static LINES: LineLimit = LineLimit::new();

/// The place that a visitor who entered has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedEntry {
    /// The status of the entry. It is the earlier one if the line had lost that, or if the visitor
    /// missed the turn and returned within the grace.
    pub status: EntryStatus,
    /// Whether the backup holds the place. Otherwise only the line's journal does.
    pub durable: bool,
    /// The record, if it was written or read.
    pub record: Option<EntryRecord>,
    /// Whether the visitor got an earlier place back instead of the place that the line gave.
    pub is_restored: bool,
}

/// Writes to the backup the place that the line gave; `change` is the change that the line made for it.
///
/// The place is provisional until then. If the backup shows another visit that goes on, the line
/// had lost that visit: the line restores it and drops the new place. If the visitor missed the
/// turn and returns within the grace, the old place counts again.
///
/// Returns `None` if the entry has no place now: an end of a later visit had been lost, or line and
/// backup disagree. The caller then asks the line again.
///
/// # Errors
/// [`LineError`] if neither the backup nor the line's journal accepted the change.
pub async fn persist_entry(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    status: EntryStatus,
    change: &Change,
) -> Result<Option<PersistedEntry>, LineError> {
    let deadline = Instant::now() + WRITE_DEADLINE;
    match agree(line, backup, partition, Start::Write(*change), deadline).await? {
        Agreement::Reached(agreed) => {
            log_agreement(partition, change.id, &agreed);
            Ok(build_entry(agreed, status, true))
        }
        Agreement::Unwritten(agreed, unwritten, error) => {
            if let Some(left_out) = LINES.admit() {
                tracing::warn!(
                    event = "entry.place_journaled", queue = %partition.queue, entry = %change.id, %error, left_out,
                    "the backup did not accept the place of a visitor who entered; added it to the journal instead"
                );
            }
            line.append_to_journal(&partition.queue, &unwritten).await?;
            Ok(build_entry(agreed, status, false))
        }
        Agreement::EnterAgain | Agreement::Undecided => Ok(None),
    }
}

/// The place that the visitor has after an agreement; `given` is the status that the line gave.
fn build_entry(agreed: Agreed, given: EntryStatus, durable: bool) -> Option<PersistedEntry> {
    let status = match agreed.place {
        Place::Unchanged => given,
        Place::Live(status) => status,
        Place::Ended => return None,
    };
    Some(PersistedEntry {
        status,
        durable,
        record: agreed.record.filter(|_| durable),
        // Another request may have restored the visit that the line had lost.
        is_restored: agreed.has_adopted || status.visit() != given.visit(),
    })
}
