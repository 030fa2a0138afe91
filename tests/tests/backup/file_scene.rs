//! A queue with its line inside the process and its backup in a file.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::Change,
    configuration::Configuration,
    id::{EntryId, QueueId},
    settings::Settings,
    state::EntryState,
};
use vestibule_engine::write_through::{self, WriteOutcome};
use vestibule_line::{ClaimOutcome, Line};
use vestibule_tests::{
    entries::{fresh_id, now_ms},
    lines::{configuration, end_without_backup, enter_without_backup, fresh_queue, tick_order},
    servers,
};

/// One queue in a line whose clock moves only when a test moves it, and a file as the backup.
pub(crate) struct FileScene {
    pub(crate) line: Line,
    pub(crate) clock_us: Arc<AtomicU64>,
    pub(crate) backup: FileBackup,
    pub(crate) queue: QueueId,
    pub(crate) configuration: Configuration,
    pub(crate) partition: EntryPartition,
    _directory: TempDir,
}

impl FileScene {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let backup = FileBackup::open(directory.path().join("store")).expect("a store");
        let settings = Settings {
            capacity: 5,
            batch: 5,
            ..Settings::default()
        };
        let (queue, configuration) = (fresh_queue(), configuration(&settings));
        let clock_us = Arc::new(AtomicU64::new(now_ms() * 1_000));
        let read = Arc::clone(&clock_us);
        let line = Line::in_process_with_clock(Arc::new(move || read.load(Ordering::SeqCst)));
        line.configure(&queue, &configuration, true)
            .await
            .expect("created");
        Self {
            partition: EntryPartition::from_configuration(&queue, &configuration),
            line,
            clock_us,
            backup,
            queue,
            configuration,
            _directory: directory,
        }
    }

    pub(crate) fn pass_seconds(&self, seconds: u64) {
        self.clock_us.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub(crate) async fn enter_without_backup(&self) -> Change {
        enter_without_backup(&self.line, &self.queue, fresh_id()).await
    }

    pub(crate) async fn claim_unwritten(&self, id: EntryId) -> Change {
        match self.line.claim(&self.queue, id).await.expect("an answer") {
            ClaimOutcome::Active { change, .. } => change,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn end_without_backup(&self, id: EntryId) -> Change {
        end_without_backup(&self.line, &self.queue, id).await
    }

    pub(crate) async fn promote(&self) -> u64 {
        let promotion = self
            .line
            .promote(&self.queue, tick_order(100))
            .await
            .expect("an answer");
        promotion.promoted
    }

    pub(crate) async fn write_through(&self, change: &Change) -> WriteOutcome {
        write_through::write_through(&self.line, &self.backup, &self.partition, change)
            .await
            .expect("an answer")
    }

    pub(crate) async fn stored_state(&self, id: EntryId) -> Option<EntryState> {
        let record = self
            .backup
            .read_entry(&self.partition, id)
            .await
            .expect("an answer");
        record.map(|record| record.state)
    }

    /// The number of journal records, and the number of ends that the backup has not acknowledged.
    pub(crate) async fn unsettled_counts(&self) -> (u64, u64) {
        let view = self.line.queue_view(&self.queue).await.expect("an answer");
        (view.journal_len, view.unsettled_ends)
    }
}

pub(crate) async fn unavailable_backup() -> DynamoDbBackup {
    DynamoDbBackup::connect(Connection {
        endpoint_url: Some(servers::closed_port_url()),
        tables: TableNames::default(),
    })
    .await
}

/// A deadline later than the end of any flush in these tests.
pub(crate) fn far_deadline() -> Instant {
    Instant::now() + Duration::from_mins(1)
}
