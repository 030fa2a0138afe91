//! The backup in one file, for one process on a laptop: stopping and starting it keeps the line, and so does killing it.

mod queues;
mod store;
mod writer;

use std::{
    io,
    panic::catch_unwind,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable};
use serde_json::{Map, Value};
use tokio::time::Instant;
use uuid::Uuid;

use self::{
    store::{ENTRIES, QUEUES, Tables, unavailable},
    writer::Writer,
};
use super::{
    Backup, BackupError, Lease, Leased, LinePart, Placing, Shelf, StoredQueue, StoredSettings, Written,
};
use crate::{
    domain::{
        change::Change,
        id::{EntryId, QueueId, Salt},
        record::Record,
    },
    system_clock,
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
    Tables::open(&transaction)?.sweep_all(system_clock::now_ms())?;
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

#[async_trait]
impl Backup for FileBackup {
    async fn write(&self, shelf: &Shelf, change: &Change) -> Result<Written, BackupError> {
        let (shelf, change) = (shelf.clone(), *change);
        self.writer
            .commit(move |tables| tables.write(&shelf, &change))
            .await
    }

    async fn write_place(&self, shelf: &Shelf, change: &Change) -> Result<Placing, BackupError> {
        let (shelf, change) = (shelf.clone(), *change);
        self.writer
            .commit(move |tables| tables.write_place(&shelf, &change))
            .await
    }

    /// In one transaction: one wait for the disk, and none of them is ever throttled.
    async fn write_each(
        &self,
        shelf: &Shelf,
        changes: &[Change],
        _until: Instant,
    ) -> Vec<Result<Written, BackupError>> {
        let (shelf, written) = (shelf.clone(), changes.to_vec());
        let write = move |tables: &mut Tables<'_>| {
            let write = |change| tables.write(&shelf, change);
            Ok(written.iter().map(write).collect())
        };
        match self.writer.commit(write).await {
            Ok(outcomes) => outcomes,
            Err(error) => changes.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn takes_writes(&self, _: &Shelf) -> Result<(), BackupError> {
        self.writer.commit(|_| Ok(())).await
    }

    async fn entry(&self, shelf: &Shelf, id: EntryId) -> Result<Option<Record>, BackupError> {
        let shelf = shelf.clone();
        self.read(move |transaction| {
            let entries = transaction.open_table(ENTRIES).map_err(|e| unavailable(&e))?;
            let key = (shelf.queue.as_str(), shelf.generation, id.shard(), id.as_bytes());
            let value = entries.get(key).map_err(|e| unavailable(&e))?;
            value.map(|value| store::decode(id, value.value())).transpose()
        })
        .await
    }

    async fn live_entries(&self, shelf: &Shelf, shard: u8) -> Result<Vec<Record>, BackupError> {
        let shelf = shelf.clone();
        self.read(move |transaction| {
            let entries = transaction.open_table(ENTRIES).map_err(|e| unavailable(&e))?;
            let (queue, generation) = (shelf.queue.as_str(), shelf.generation);
            let whole = (queue, generation, shard, &[0; 16])..=(queue, generation, shard, &[u8::MAX; 16]);
            let mut records = Vec::new();
            for found in entries.range(whole).map_err(|e| unavailable(&e))? {
                let (key, value) = found.map_err(|e| unavailable(&e))?;
                let id = store::entry_id(key.value().3)?;
                records.push(store::decode(id, value.value())?);
            }
            records.retain(|record| record.state.is_live());
            Ok(records)
        })
        .await
    }

    async fn queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        let queue = queue.clone();
        self.read(move |transaction| {
            let queues = transaction.open_table(QUEUES).map_err(|e| unavailable(&e))?;
            let value = queues.get(queue.as_str()).map_err(|e| unavailable(&e))?;
            value.map(|value| queues::decode_queue(value.value())).transpose()
        })
        .await
    }

    async fn queues(&self) -> Result<Vec<QueueId>, BackupError> {
        self.read(|transaction| {
            let queues = transaction.open_table(QUEUES).map_err(|e| unavailable(&e))?;
            let all = queues.iter().map_err(|e| unavailable(&e))?;
            all.map(|found| {
                let (key, _) = found.map_err(|e| unavailable(&e))?;
                let nonsense = |e| BackupError::Nonsense(format!("the queue {:?}: {e}", key.value()));
                key.value().parse().map_err(nonsense)
            })
            .collect()
        })
        .await
    }

    async fn create_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError> {
        let (queue, stored) = (queue.clone(), stored.clone());
        self.writer
            .commit(move |tables| tables.create_queue(&queue, &stored))
            .await
    }

    async fn replace_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        let (queue, expected, settings) = (queue.clone(), expected.clone(), settings.clone());
        self.writer
            .commit(move |tables| tables.replace_settings(&queue, &expected, &settings))
            .await
    }

    async fn take_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<Leased, BackupError> {
        let queue = queue.clone();
        self.writer
            .commit(move |tables| tables.take_lease(&queue, epoch, lease, now_ms))
            .await
    }

    async fn renew_lease(&self, queue: &QueueId, epoch: u32, lease: Lease) -> Result<bool, BackupError> {
        let renewed = self.change_part(queue, epoch, move |part| {
            let is_ours = part.lease.is_some_and(|held| held.holder == lease.holder);
            if is_ours {
                part.lease = Some(lease);
            }
            is_ours
        });
        Ok(renewed.await?.is_some())
    }

    async fn release_lease(&self, queue: &QueueId, epoch: u32, holder: Uuid) -> Result<(), BackupError> {
        let released = self.change_part(queue, epoch, move |part| {
            part.lease.take_if(|held| held.holder == holder).is_some()
        });
        released.await.map(drop)
    }

    async fn raise_fence(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError> {
        let raised = self.change_part(queue, epoch, move |part| {
            let is_higher = fence > part.fence;
            part.fence = part.fence.max(fence);
            is_higher
        });
        raised.await.map(drop)
    }

    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<LinePart>, BackupError> {
        self.change_part(queue, epoch, move |part| {
            *part = part.next_generation(salt);
            true
        })
        .await
    }

    async fn ping(&self) -> Result<(), BackupError> {
        self.read(|_| Ok(())).await
    }
}
