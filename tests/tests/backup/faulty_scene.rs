//! A queue with its line inside the process and a faulty backup.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tempfile::TempDir;
use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId},
    record::EntryRecord,
    settings::Settings,
    state::EntryState,
};
use vestibule_engine::flush::{FlushError, FlushOutcome, flush_journal};
use vestibule_faults::{Faults, FaultyBackup};
use vestibule_line::{JournalLimits, Line, OperatorView};
use vestibule_tests::{
    entries::{fresh_id, now_ms},
    lines::{ManualClock, configuration, end_without_backup, enter_without_backup, fresh_queue, tick_order},
};

use crate::faulty_backup::WriteBehavior;

/// One queue whose clock moves only when a test moves it, and a faulty backup.
pub(crate) struct FaultyScene {
    pub(crate) line: Line,
    pub(crate) clock: ManualClock,
    pub(crate) backup: Arc<FaultyBackup>,
    file: Arc<FileBackup>,
    _directory: TempDir,
    pub(crate) queue: QueueId,
    pub(crate) partition: EntryPartition,
}

impl FaultyScene {
    pub(crate) async fn new(limits: JournalLimits) -> Self {
        let clock = ManualClock::new();
        // The file drops records whose time to live has passed by the machine's clock.
        clock.set_ms(now_ms());
        let line = Line::in_process_with_clock(clock.as_clock()).with_journal_limits(limits);
        let configuration = configuration(&Settings {
            capacity: 10_000,
            batch: 1_000,
            interval_seconds: 1,
            paused: true,
            presence_seconds: 0,
            ..Settings::default()
        });
        let queue = fresh_queue();
        let directory = tempfile::tempdir().expect("a directory");
        let file = Arc::new(FileBackup::open(directory.path().join("backup")).expect("a file"));
        let configured = line.configure(&queue, &configuration, true).await;
        configured.expect("created");
        Self {
            partition: EntryPartition::from_configuration(&queue, &configuration),
            line,
            clock,
            backup: FaultyBackup::new(file.clone(), Faults::default()),
            file,
            _directory: directory,
            queue,
        }
    }

    /// Lets this many visitors enter and writes their places to the backup.
    pub(crate) async fn enter_and_write(&self, visitors: usize) -> Vec<EntryId> {
        let mut ids = Vec::new();
        for _ in 0..visitors {
            let change = enter_without_backup(&self.line, &self.queue, fresh_id()).await;
            self.backup
                .put_change(&self.partition, &change)
                .await
                .expect("written");
            ids.push(change.id);
        }
        ids
    }

    /// Promotes as many entries as the pace allows, which adds one journal record.
    pub(crate) async fn promote(&self) {
        let mut settings = self.view().await.view.configuration;
        settings.settings.paused = false;
        settings.revision.push('+');
        let configured = self.line.configure(&self.queue, &settings, false).await;
        configured.expect("configured");
        self.pass_seconds(1);
        let promotion = self.line.promote(&self.queue, tick_order(1_000)).await;
        assert!(promotion.expect("an answer").promoted > 0);
    }

    pub(crate) async fn end_without_backup(&self, id: EntryId) -> Change {
        end_without_backup(&self.line, &self.queue, id).await
    }

    pub(crate) fn pass_seconds(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn flush(&self) -> Result<FlushOutcome, FlushError> {
        let until = Instant::now() + Duration::from_mins(1);
        flush_journal(&self.line, &*self.backup, &self.partition, 100, until).await
    }

    /// Flushes every 30 seconds for an hour of the line's clock.
    pub(crate) async fn flush_for_an_hour(&self) {
        for _ in 0..120 {
            // The test reads the result from the queue view.
            let _ = self.flush().await;
            self.pass_seconds(30);
        }
    }

    pub(crate) async fn view(&self) -> OperatorView {
        self.line.queue_view(&self.queue).await.expect("an answer")
    }

    pub(crate) fn set_write_behavior(&self, behavior: WriteBehavior) {
        behavior.apply(self.backup.faults());
    }

    /// The record of an entry, whatever the backup does at the moment.
    pub(crate) async fn record(&self, id: EntryId) -> Option<EntryRecord> {
        self.file.read_entry(&self.partition, id).await.expect("a record")
    }

    pub(crate) async fn stored_state(&self, id: EntryId) -> Option<EntryState> {
        self.record(id).await.map(|record| record.state)
    }

    /// The entries of all changes in the journal and in the dead letters.
    pub(crate) async fn kept_ids(&self) -> HashSet<EntryId> {
        self.pass_seconds(3_600);
        let journal = self
            .line
            .due_journal_records(&self.queue, 10_000)
            .await
            .expect("an answer");
        let dead_letters = self
            .line
            .dead_lettered(&self.queue, 10_000)
            .await
            .expect("an answer");
        let records = journal.into_iter().chain(dead_letters);
        records
            .flat_map(|record| record.changes)
            .map(|change| change.id)
            .collect()
    }
}
