//! The open store file. After an error of the disk, redb refuses every further access to a database that is open. So
//! the file is opened anew as soon as the disk lets it, for example when there is space again.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use redb::Database;
use vestibule_backup::BackupError;

use super::open::open_database;

/// The least time between two attempts to open the file anew.
const REOPEN_PAUSE: Duration = Duration::from_secs(1);
/// How often the readers of the failed database are waited for, and for how long each time.
const READERS_WAITS_MAX: u32 = 1_000;
const READERS_WAIT: Duration = Duration::from_millis(5);

/// The store file of one process.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Open(Arc<Database>),
    /// The disk failed. `tried_at` is when it did so last.
    Failed {
        tried_at: Instant,
    },
}

impl Store {
    /// Opens the file, or creates it.
    pub(super) fn open(path: &Path) -> Result<Self, redb::Error> {
        let database = open_database(path)?;
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(State::Open(Arc::new(database))),
        })
    }

    /// The open database.
    ///
    /// # Errors
    /// [`BackupError::Unavailable`] after an error of the disk, until the writer has opened the file anew.
    pub(super) fn database(&self) -> Result<Arc<Database>, BackupError> {
        match &*self.lock() {
            State::Open(database) => Ok(Arc::clone(database)),
            State::Failed { .. } => Err(unavailable()),
        }
    }

    /// The open database, for the writer. Opens the file anew after an error of the disk, once a second at most.
    pub(super) fn database_or_reopen(&self) -> Result<Arc<Database>, BackupError> {
        let mut state = self.lock();
        match &mut *state {
            State::Open(database) => return Ok(Arc::clone(database)),
            State::Failed { tried_at } if tried_at.elapsed() < REOPEN_PAUSE => return Err(unavailable()),
            State::Failed { tried_at } => *tried_at = Instant::now(),
        }
        let database = open_database(&self.path).map_err(|error| {
            tracing::debug!(event = "store.still_failed", %error, "the store file cannot be opened yet");
            unavailable()
        })?;
        let database = Arc::new(database);
        *state = State::Open(Arc::clone(&database));
        Ok(database)
    }

    /// Closes the database that an error of the disk has made useless. The caller holds no reference to it.
    pub(super) fn close_failed(&self) {
        let tried_at = Instant::now();
        let failed = std::mem::replace(&mut *self.lock(), State::Failed { tried_at });
        let State::Open(mut database) = failed else {
            return;
        };
        // The file can be opened anew only after the last reader has gone.
        for _ in 0..READERS_WAITS_MAX {
            match Arc::try_unwrap(database) {
                Ok(_) => return,
                Err(in_use) => database = in_use,
            }
            thread::sleep(READERS_WAIT);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the error is one of the disk, after which redb refuses further accesses.
pub(super) fn is_disk_error(error: &redb::Error) -> bool {
    matches!(error, redb::Error::Io(_) | redb::Error::PreviousIo)
}

fn unavailable() -> BackupError {
    BackupError::Unavailable(
        "the disk of the store file failed; the file is opened again in a moment".to_owned(),
    )
}
