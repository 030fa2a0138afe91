//! Writing what a visitor did before it is acknowledged.

use std::time::Duration;

use tokio::time::timeout;

use super::{Backup, BackupError, Shelf, Written};
use crate::{
    domain::{change::Change, record::Record},
    line::{Line, LineError},
};

/// How long a visitor waits for the backup, attempts and pauses included.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(2);

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Through {
    /// The backup has it. Otherwise the line's journal does, until the backup takes it.
    pub durable: bool,
    /// The backup knows better: the visit is over there, or another one stands that is not.
    pub overruled: bool,
    /// The record as it stands now, where this change was written into it: not where it showed this change or a later
    /// one already.
    pub record: Option<Record>,
}

/// Writes a change within [`WRITE_DEADLINE`].
///
/// # Errors
/// [`BackupError`] where the backup did not take it by then.
pub async fn write_in_time(
    backup: &dyn Backup,
    shelf: &Shelf,
    change: &Change,
) -> Result<Written, BackupError> {
    timeout(WRITE_DEADLINE, backup.write(shelf, change))
        .await
        .unwrap_or_else(|_| Err(BackupError::Unavailable("no answer in time".to_owned())))
}

/// Writes a change before it is acknowledged. Where the backup does not take it within [`WRITE_DEADLINE`], the visitor is
/// served all the same: the change goes into the line's journal.
///
/// # Errors
/// [`LineError`] where neither the backup nor the journal took it. Whether either did is not known then.
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
        // The line had lost that one: the check decides, unless the caller knows enough.
        Ok(Written::Overruled) => Err("it knows of an end, or of another visit that is not over".to_owned()),
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
        // The line remembers the end for nothing, no more.
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
