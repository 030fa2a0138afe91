//! The backup in one file, for one process on a laptop. The line survives a restart of the process,
//! and also a kill.

mod backup;
mod defaults;
mod entry_pages;
mod entry_reads;
mod open;
mod outboxes;
mod queues;
mod report;
mod store;
mod sweep;
mod tables;
mod tombstones;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use redb::{ReadTransaction, ReadableDatabase};
use vestibule_backup::{BackupError, QueueMetadata};
use vestibule_domain::id::QueueId;

use self::{store::Store, tables::to_backup_error, writer::Writer};

/// Why a store file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file is not a store file, or is damaged.
    #[error(
        "{path} is not a store file of Vestibule, or is damaged ({reason}): move it away to start with an empty one"
    )]
    Corrupt {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with the file.
        reason: String,
    },
    /// Another process has the file open.
    #[error("{path} is in use by another process: stop that process, or name another file")]
    InUse {
        /// The path of the file.
        path: PathBuf,
    },
    /// The file cannot be created, read or written.
    #[error("the store file {path} cannot be created, read or written: {source}")]
    Inaccessible {
        /// The path of the file, whether it exists or not.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The backup in one file. Dropping it commits everything that it accepted, and closes the file.
#[derive(Debug)]
pub struct FileBackup {
    // Declared before the store, because fields drop in order and the writer has to end first.
    writer: Writer,
    store: Arc<Store>,
}

impl FileBackup {
    /// Opens a store file, or creates it if it does not exist. Removes the records whose retention
    /// is over.
    ///
    /// # Errors
    /// [`FileError`], with one variant for each failure that the caller can do something about.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let store = Arc::new(Store::open(path).map_err(|error| to_file_error(path, error))?);
        let writer = Writer::start(Arc::clone(&store)).map_err(|source| FileError::Inaccessible {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { writer, store })
    }

    /// Records that the process stopped in order, under a name. When the call returns, everything that the file accepted
    /// before survives a crash.
    ///
    /// # Errors
    /// [`BackupError`] if the file cannot be written. It then has no stop.
    pub async fn record_stop(&self, name: String) -> Result<(), BackupError> {
        self.writer.commit(move |tables| tables.put_stop(&name)).await
    }

    /// Removes the name of the last orderly stop, and returns it. `None` if a process has opened the file since then. When
    /// the call returns, the removal survives a crash. So what was saved at that stop is used once at most, and no later
    /// run takes it for the newest state.
    ///
    /// # Errors
    /// [`BackupError`] if the file cannot be read or written. What was saved must not be used then.
    // The path of the method has the lifetime of one transaction.
    #[allow(clippy::redundant_closure_for_method_calls)]
    pub async fn take_stop(&self) -> Result<Option<String>, BackupError> {
        self.writer.commit(|tables| tables.take_stop()).await
    }

    async fn update_metadata(
        &self,
        queue: &QueueId,
        epoch: u32,
        change: impl FnOnce(&mut QueueMetadata) -> bool + Send + 'static,
    ) -> Result<Option<QueueMetadata>, BackupError> {
        let queue = queue.clone();
        self.writer
            .commit(move |tables| tables.update_metadata(&queue, epoch, change))
            .await
    }

    /// Reads what the last commit left. Runs concurrently with the writer.
    async fn run_read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&ReadTransaction) -> Result<T, BackupError> + Send + 'static,
    ) -> Result<T, BackupError> {
        let store = Arc::clone(&self.store);
        let reading = tokio::task::spawn_blocking(move || {
            let database = store.database()?;
            let transaction = database.begin_read().map_err(|e| to_backup_error(&e))?;
            query(&transaction)
        });
        reading.await.map_err(|e| to_backup_error(&e))?
    }
}

fn to_file_error(path: &Path, error: redb::Error) -> FileError {
    let path = path.to_owned();
    match error {
        redb::Error::DatabaseAlreadyOpen => FileError::InUse { path },
        redb::Error::Io(source) if !is_content_error(&source) => FileError::Inaccessible { path, source },
        error => FileError::Corrupt {
            path,
            reason: error.to_string(),
        },
    }
}

/// Whether the error means that the file is too short or does not begin as a store file does.
fn is_content_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}
