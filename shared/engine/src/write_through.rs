//! Writes what a visitor did before the request is acknowledged.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_backup::{Backup, BackupError, Shelf, Written};
use vestibule_domain::{change::Change, record::Record};
use vestibule_line::{Line, LineError};

/// How long a visitor's request waits for the backup, including all attempts and pauses.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(2);

/// The outcome of a write-through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Through {
    /// Whether the backup holds the change. Otherwise the line's journal holds it until the backup accepts it.
    pub durable: bool,
    /// Whether the change conflicts with the record: there the visit has ended, or another visit is live.
    pub overruled: bool,
    /// The record after this change was written into it; `None` if the record already showed this change or a later
    /// one.
    pub record: Option<Record>,
}

/// Writes a change within [`WRITE_DEADLINE`].
///
/// # Errors
/// [`BackupError`] if the backup did not accept the change by then.
pub async fn write_in_time(
    backup: &dyn Backup,
    shelf: &Shelf,
    change: &Change,
) -> Result<Written, BackupError> {
    timeout(WRITE_DEADLINE, backup.write(shelf, change))
        .await
        .unwrap_or_else(|_| Err(BackupError::Unavailable("it did not answer in time".to_owned())))
}

/// Writes a change before the request is acknowledged. If the backup does not accept it within [`WRITE_DEADLINE`], the
/// visitor is served all the same: the change goes to the line's journal.
///
/// # Errors
/// [`LineError`] if neither the backup nor the journal accepted the change. It is then unknown whether one of them did.
pub async fn write_through(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    change: &Change,
) -> Result<Through, LineError> {
    let queue = &shelf.queue;
    let written = write_in_time(backup, shelf, change).await;
    let overruled = matches!(written, Ok(Written::Overruled));
    let refused = match written {
        Ok(Written::Stored(record)) => Ok(Some(record)),
        Ok(Written::Older) => Ok(None),
        // The line had lost the end or the other visit. The consistency check decides, unless the caller knows enough.
        Ok(Written::Overruled) => {
            Err("its record shows that the visit ended, or another live visit".to_owned())
        }
        Err(error) => Err(error.to_string()),
    };
    let record = match refused {
        Ok(record) => record,
        Err(reason) => {
            tracing::warn!(
                event = "entry.change_journaled", %queue, entry = %change.id, reason,
                "the backup did not accept a change of an entry; added the change to the journal instead"
            );
            line.record(queue, change).await?;
            return Ok(Through {
                durable: false,
                overruled,
                record: None,
            });
        }
    };
    if let Some(ending) = change.ending()
        && let Err(error) = line.settle(queue, &[], &[ending]).await
    {
        // Harmless: the line only remembers the end longer than it needs to.
        tracing::warn!(
            event = "entry.end_acknowledgement_failed", %queue, entry = %change.id, %error,
            "could not tell Redis that the backup holds an end; the consistency check acknowledges it later"
        );
    }
    Ok(Through {
        durable: true,
        overruled,
        record,
    })
}
