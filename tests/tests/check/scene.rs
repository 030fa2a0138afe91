//! A queue with a line and a backup, each of which a test can change alone.

use std::{sync::Arc, time::Duration};

use tempfile::TempDir;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    entry_status::EntryStatus,
    id::QueueId,
    record::EntryRecord,
    score::WaitScore,
    settings::Settings,
    state::EntryState,
};
use vestibule_engine::{
    check::{CheckConfig, CheckSummary, check_queue},
    write_through::write_through,
};
use vestibule_line::{EntryLookup, Line, NotFound, OperatorView, RequeueOrder};
use vestibule_tests::{
    entries::now_ms,
    lines::{
        Backend, configuration, end_without_backup, enter_without_backup, fresh_queue, tick_order, visitor,
    },
};

/// A check without pauses and without a delay before the second read.
pub(crate) const NO_PAUSES: CheckConfig = CheckConfig {
    page_pause: Duration::ZERO,
    second_read_after: Duration::ZERO,
    entries_per_pass: 200_000,
};

pub(crate) struct Scene {
    pub(crate) line: Line,
    pub(crate) backup: Arc<FileBackup>,
    pub(crate) queue: QueueId,
    pub(crate) partition: EntryPartition,
    _folder: TempDir,
}

impl Scene {
    /// Opens a queue with a capacity of two that promotes two entries per hour.
    pub(crate) async fn open(backend: Backend) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let backup = FileBackup::open(folder.path().join("store")).expect("a store");
        let line = backend.connect_line(None).await;
        let queue = fresh_queue();
        let settings = Settings {
            capacity: 2,
            batch: 2,
            interval_seconds: 3_600,
            ..Settings::default()
        };
        let configuration = configuration(&settings);
        line.configure(&queue, &configuration, true)
            .await
            .expect("configured");
        Self {
            line,
            backup: Arc::new(backup),
            partition: EntryPartition::from_configuration(&queue, &configuration),
            queue,
            _folder: folder,
        }
    }

    /// Enters the line only, as if the function was killed before it wrote to the backup.
    pub(crate) async fn enter_without_backup(&self, number: u64) -> Change {
        enter_without_backup(&self.line, &self.queue, visitor(number)).await
    }

    pub(crate) async fn enter(&self, number: u64) -> Change {
        let change = self.enter_without_backup(number).await;
        self.write_through(&change).await;
        change
    }

    /// Enters these visitors in order. The first two of the queue are active at once, the others wait.
    pub(crate) async fn enter_all(&self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.enter(number).await;
        }
    }

    pub(crate) async fn write_through(&self, change: &Change) {
        let outcome = write_through(&self.line, &*self.backup, &self.partition, change).await;
        assert!(outcome.expect("written").durable);
    }

    /// Writes a change to the backup without telling the line.
    pub(crate) async fn write_to_backup_only(&self, change: &Change) {
        self.backup
            .put_change(&self.partition, change)
            .await
            .expect("written");
    }

    /// Writes an event to the backup that the line does not know, as after a failover that lost it.
    pub(crate) async fn write_lost_event(&self, number: u64, event: Event) -> Version {
        let last_version = self.record(number).await.map_or(0, |record| record.version.v);
        let version = Version {
            epoch: 1,
            v: self.view().await.version.v.max(last_version) + 1,
        };
        let change = Change {
            id: visitor(number),
            version,
            at_ms: now_ms(),
            event,
            source: None,
        };
        self.write_to_backup_only(&change).await;
        version
    }

    /// Puts a change into the journal as refused by the backup, with a backoff of an hour.
    pub(crate) async fn requeue_as_refused(&self, change: &Change) {
        self.line
            .append_to_journal(&self.queue, change)
            .await
            .expect("recorded");
        let journal = self
            .line
            .due_journal_records(&self.queue, 100)
            .await
            .expect("a journal");
        let requeue = RequeueOrder {
            key: journal.last().expect("the record").key.clone(),
            untried: Vec::new(),
            rejected: vec![*change],
            attempts: 1,
            backoff_ms: 3_600_000,
        };
        self.line
            .requeue_with_backoff(&self.queue, &requeue)
            .await
            .expect("requeued");
    }

    pub(crate) async fn end_without_backup(&self, number: u64) -> Change {
        end_without_backup(&self.line, &self.queue, visitor(number)).await
    }

    pub(crate) async fn promote(&self) {
        self.line
            .promote(&self.queue, tick_order(u64::MAX))
            .await
            .expect("promoted");
    }

    pub(crate) async fn view(&self) -> OperatorView {
        self.line.queue_view(&self.queue).await.expect("an answer")
    }

    pub(crate) async fn lookup(&self, number: u64) -> EntryLookup {
        self.line
            .status(&self.queue, visitor(number))
            .await
            .expect("an answer")
    }

    pub(crate) async fn status(&self, number: u64) -> EntryStatus {
        match self.lookup(number).await {
            EntryLookup::Found(status) => status,
            missing @ EntryLookup::NotFound(_) => {
                panic!("the entry of visitor {number} was not found: {missing:?}")
            }
        }
    }

    /// Asserts that the line knows the end of the entry.
    pub(crate) async fn expect_ended(&self, number: u64, how: EndReason) {
        match self.lookup(number).await {
            EntryLookup::NotFound(NotFound::Ended(end)) => {
                assert!(
                    matches!(end.event, Event::Ended { how: ended, .. } if ended == how),
                    "{end:?}"
                );
            }
            other => panic!("the entry of visitor {number} has not ended: {other:?}"),
        }
    }

    pub(crate) async fn score(&self, number: u64) -> WaitScore {
        match self.status(number).await {
            EntryStatus::Waiting { score, .. } => score,
            other => panic!("visitor {number} is not waiting: {other:?}"),
        }
    }

    /// The positions of these visitors, who must be waiting.
    pub(crate) async fn positions(&self, numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut positions = Vec::new();
        for number in numbers {
            match self.status(number).await {
                EntryStatus::Waiting { position, .. } => positions.push(position),
                other => panic!("visitor {number} is not waiting: {other:?}"),
            }
        }
        positions
    }

    pub(crate) async fn record(&self, number: u64) -> Option<EntryRecord> {
        self.backup
            .read_entry(&self.partition, visitor(number))
            .await
            .expect("an answer")
    }

    pub(crate) async fn state_in_backup(&self, number: u64) -> Option<EntryState> {
        self.record(number).await.map(|record| record.state)
    }

    /// Runs a check of the whole queue.
    pub(crate) async fn check(&self) -> CheckSummary {
        let checked = check_queue(&self.line, &*self.backup, &self.partition, 0, NO_PAUSES)
            .await
            .expect("checked");
        assert_eq!(checked.next_shard, None);
        checked
    }

    /// Asserts that one more check finds no difference.
    pub(crate) async fn assert_consistent(&self) {
        let checked = self.check().await;
        assert_eq!((checked.repaired_count(), checked.skipped), (0, 0), "{checked:?}");
        assert_eq!(checked.checked_line, checked.checked_table);
        assert_eq!(self.view().await.unsettled_ends, 0);
    }
}
