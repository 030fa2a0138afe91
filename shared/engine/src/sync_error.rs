//! Why a sync failed.

use vestibule_backup::BackupError;
use vestibule_domain::settings::SettingsError;
use vestibule_line::LineError;

use crate::restore;

/// Why a sync failed.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The line gave no usable answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup gave no usable answer.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The line has lost the queue, and the restore failed.
    #[error("the queue could not be restored from the backup: {0}")]
    Restore(#[from] restore::RestoreError),
    /// The stored queue has an earlier epoch than the line, because an old item was written back to
    /// the table.
    #[error(
        "the stored queue has epoch {stored}, but the line has epoch {line}: an old item was written back to the \
         table; set its epoch to {line} if its entries are those of the line"
    )]
    EpochBehind {
        /// The epoch of the line.
        line: u32,
        /// The epoch of the stored queue.
        stored: u32,
    },
    /// The line has lost the queue, and the stored settings are invalid, so there are no settings
    /// to restore it with.
    #[error(
        "the line has lost the queue, and it cannot be restored until the stored settings are corrected: {0}"
    )]
    NotRestorable(SettingsError),
}
