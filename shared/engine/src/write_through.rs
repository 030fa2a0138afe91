//! Writes what a visitor did before the request is acknowledged.

use std::time::Duration;

use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{change::Change, record::EntryRecord};
use vestibule_line::{Line, LineError};
use vestibule_telemetry::line_limit::LineLimit;

use super::{
    agree::{Agreed, Agreement, Place, Start, agree},
    log_agreement::log_agreement,
};

/// While the backup is away, each visitor would have a line.
static LINES: LineLimit = LineLimit::new();

/// How long a visitor's request waits for the backup, including all attempts and pauses.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(2);

/// The outcome of a write-through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    /// Whether the backup holds the change. Otherwise the line's journal holds it until the backup
    /// accepts it.
    pub durable: bool,
    /// Whether the change does not count: the record states a greater fact that the line had lost,
    /// or the same end by an earlier change. The line has taken the record over, so a caller that
    /// needs the entry asks again.
    pub is_superseded: bool,
    /// The record after the write; `None` if the backup did not return it.
    pub record: Option<EntryRecord>,
}

/// Writes a change before the request is acknowledged. If the backup does not accept it within
/// [`WRITE_DEADLINE`], the visitor is served all the same: the change goes to the line's journal.
///
/// # Errors
/// [`LineError`] if neither the backup nor the journal accepted the change. It is then unknown
/// whether one of them did.
pub async fn write_through(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
) -> Result<WriteOutcome, LineError> {
    let deadline = Instant::now() + WRITE_DEADLINE;
    match agree(line, backup, partition, Start::Write(*change), deadline).await? {
        Agreement::Reached(agreed) => {
            log_agreement(partition, change.id, &agreed);
            Ok(WriteOutcome {
                durable: true,
                is_superseded: is_superseded(&agreed, change),
                record: agreed.record,
            })
        }
        Agreement::Unwritten(agreed, unwritten, error) => {
            if let Some(left_out) = LINES.admit() {
                tracing::warn!(
                    event = "entry.change_journaled", queue = %partition.queue, entry = %change.id, %error, left_out,
                    "the backup did not accept a change of an entry; added the change to the journal instead"
                );
            }
            line.append_to_journal(&partition.queue, &unwritten).await?;
            Ok(WriteOutcome {
                durable: false,
                is_superseded: agreed.place != Place::Unchanged,
                record: None,
            })
        }
        Agreement::EnterAgain | Agreement::Undecided => Ok(WriteOutcome {
            durable: false,
            is_superseded: true,
            record: None,
        }),
    }
}

fn is_superseded(agreed: &Agreed, change: &Change) -> bool {
    let is_repeated_end = change.visit_end().is_some()
        && !agreed.has_written
        && agreed
            .record
            .as_ref()
            .is_some_and(|record| record.version != change.version);
    agreed.place != Place::Unchanged || is_repeated_end
}
