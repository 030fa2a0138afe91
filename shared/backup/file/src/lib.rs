//! The backup in one file, for one process on a laptop. The line survives a restart of the process, and also a kill.

mod backup;
mod queues;
mod store;
mod writer;

use std::{
    io,
    panic::catch_unwind,
    path::{Path, PathBuf},
    sync::Arc,
};

use redb::{Database, ReadTransaction, ReadableDatabase};
use vestibule_backup::{BackupError, LinePart};
use vestibule_domain::id::QueueId;

use self::{
    store::{Tables, unavailable},
    writer::Writer,
};

/// The memory that redb uses as a cache of the file, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// Why a store file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file is not a store file, or is damaged.
    #[error(
        "{path} is not a store file of Vestibule, or is damaged ({reason}): move it away to start with an empty one"
    )]
    Broken {
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
    Unwritable {
        /// The path of the file, whether it exists or not.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The backup in one file. Dropping it commits everything that it accepted, and closes the file.
#[derive(Debug)]
pub struct FileBackup {
    // Declared before the database, because fields drop in order and the writer has to end first.
    writer: Writer,
    database: Arc<Database>,
}

impl FileBackup {
    /// Opens a store file, or creates it if it does not exist. Removes the records whose retention is over.
    ///
    /// # Errors
    /// [`FileError`], with one variant for each failure that the caller can do something about.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        // redb panics on some corrupt pages that its checksums do not cover.
        let opened = catch_unwind(|| open_and_sweep(path)).unwrap_or_else(|_| {
            let reason = "its pages are corrupt".to_owned();
            Err(redb::Error::Corrupted(reason))
        });
        let database = opened.map_err(|error| failure(path, error))?;

        let database = Arc::new(database);
        let writer = Writer::start(Arc::clone(&database)).map_err(|source| FileError::Unwritable {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { writer, database })
    }

    async fn change_part(
        &self,
        queue: &QueueId,
        epoch: u32,
        change: impl FnOnce(&mut LinePart) -> bool + Send + 'static,
    ) -> Result<Option<LinePart>, BackupError> {
        let queue = queue.clone();
        self.writer
            .commit(move |tables| tables.change_part(&queue, epoch, change))
            .await
    }

    /// Reads what the last commit left. Runs concurrently with the writer.
    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&ReadTransaction) -> Result<T, BackupError> + Send + 'static,
    ) -> Result<T, BackupError> {
        let database = Arc::clone(&self.database);
        let reading = tokio::task::spawn_blocking(move || {
            let transaction = database.begin_read().map_err(|e| unavailable(&e))?;
            look(&transaction)
        });
        reading.await.map_err(|e| unavailable(&e))?
    }
}

/// Opens the file and reads every record in it, so that corruption is found here and not later.
fn open_and_sweep(path: &Path) -> Result<Database, redb::Error> {
    let database = Database::builder().set_cache_size(CACHE_BYTES).create(path)?;
    let transaction = database.begin_write()?;
    Tables::open(&transaction)?.sweep_all(vestibule_clock::now_ms())?;
    transaction.commit()?;
    Ok(database)
}

fn failure(path: &Path, error: redb::Error) -> FileError {
    let path = path.to_owned();
    match error {
        redb::Error::DatabaseAlreadyOpen => FileError::InUse { path },
        redb::Error::Io(source) if !is_about_content(&source) => FileError::Unwritable { path, source },
        error => FileError::Broken {
            path,
            reason: error.to_string(),
        },
    }
}

/// Whether the error means that the file is too short or does not begin as a store file does.
fn is_about_content(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}
