//! The backup in one file, for one process on a laptop: stopping and starting it keeps the line, and so does killing it.

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

/// How much of the file is kept in memory.
const CACHE_BYTES: usize = 64 << 20;

/// Why a store file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is no store file, or a damaged one.
    #[error(
        "{path} is not a store file of Vestibule, or is damaged ({reason}): move it away to start with an empty one"
    )]
    Broken {
        /// Where it is.
        path: PathBuf,
        /// What was wrong with it.
        reason: String,
    },
    /// Another process has it open.
    #[error("{path} is in use by another process: stop that one, or name another file")]
    InUse {
        /// Where it is.
        path: PathBuf,
    },
    /// It cannot be created, read or written.
    #[error("{path} cannot be written: {source}")]
    Unwritable {
        /// Where it is, or was to be.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The backup in one file. Dropping it commits everything that was accepted, and closes the file.
#[derive(Debug)]
pub struct FileBackup {
    // Before the database, so that dropping ends the writer first.
    writer: Writer,
    database: Arc<Database>,
}

impl FileBackup {
    /// Opens a store file, or creates it where there is none; removes what may be deleted by now.
    ///
    /// # Errors
    /// [`FileError`], one for each thing that somebody can do something about.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        // redb panics on some garbled pages, where its checksums are not looked at.
        let opened = catch_unwind(|| open_and_sweep(path)).unwrap_or_else(|_| {
            let reason = "its pages are garbled".to_owned();
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

    /// Reads what the last commit left, beside the writer.
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

/// Opens the file and looks at every record in it, so that what is garbled is found here.
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

/// Whether it says that the file is too short, or no store file from its first byte on.
fn is_about_content(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}
