//! A queue on one line and one backup, both of which a test may change alone.

use std::{sync::Arc, time::Duration};

use tempfile::TempDir;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Change, Event, Version},
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    record::EntryRecord,
    score::WaitScore,
    settings::Settings,
    state::EntryState,
};
use vestibule_engine::{
    check::{CheckConfig, CheckSummary, check_queue},
    write_through::write_through,
};
use vestibule_line::{EntryLookup, Line, QueueView, RequeueOrder};
use vestibule_tests::{
    entries::now_ms,
    lines::{
        Backend, configuration, enter_without_backup, fresh_queue, leave_without_backup, tick_order, visitor,
    },
};

/// At once, and the second look with the first.
pub(crate) const HASTY: CheckConfig = CheckConfig {
    page_pause: Duration::ZERO,
    second_read_after: Duration::ZERO,
    entries_per_pass: 200_000,
};

pub(crate) struct Scene {
    pub(crate) line: Arc<dyn Line>,
    pub(crate) backup: Arc<FileBackup>,
    pub(crate) queue: QueueId,
    pub(crate) shelf: EntryPartition,
    _folder: TempDir,
}

impl Scene {
    /// Two at a time are let in, and once in an hour.
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
            shelf: EntryPartition::from_configuration(&queue, &configuration),
            queue,
            _folder: folder,
        }
    }

    /// Enters, and is killed before it is written.
    pub(crate) async fn enter_without_backup(&self, number: u64) -> Change {
        enter_without_backup(&*self.line, &self.queue, visitor(number)).await
    }

    pub(crate) async fn enter(&self, number: u64) -> Change {
        let change = self.enter_without_backup(number).await;
        self.write_through(&change).await;
        change
    }

    /// Of these, the first two go in at once; the others wait, in this order.
    pub(crate) async fn enter_all(&self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            self.enter(number).await;
        }
    }

    pub(crate) async fn write_through(&self, change: &Change) {
        let through = write_through(&*self.line, &*self.backup, &self.shelf, change).await;
        assert!(through.expect("written").durable);
    }

    /// The backup has it, and the line was never told.
    pub(crate) async fn write_alone(&self, change: &Change) {
        self.backup
            .put_change(&self.shelf, change)
            .await
            .expect("written");
    }

    /// The backup knows what the line has lost.
    pub(crate) async fn only_the_backup_knows(&self, number: u64, event: Event) -> Version {
        let known = self.record(number).await.map_or(0, |record| record.version.v);
        let version = Version {
            epoch: 1,
            v: self.view().await.version.v.max(known) + 1,
        };
        let change = Change {
            id: visitor(number),
            version,
            at_ms: now_ms(),
            event,
        };
        self.write_alone(&change).await;
        version
    }

    /// It is in the journal, since the backup refused it, and is tried again in an hour.
    pub(crate) async fn refuse(&self, change: &Change) {
        self.line
            .append_to_journal(&self.queue, change)
            .await
            .expect("recorded");
        let journal = self
            .line
            .due_journal_records(&self.queue, 100)
            .await
            .expect("a journal");
        let deferral = RequeueOrder {
            key: journal.last().expect("the record").key.clone(),
            untried: Vec::new(),
            rejected: vec![*change],
            attempts: 1,
            backoff_ms: 3_600_000,
        };
        self.line
            .requeue_with_backoff(&self.queue, &deferral)
            .await
            .expect("deferred");
    }

    pub(crate) async fn leave_without_backup(&self, number: u64) -> Change {
        leave_without_backup(&*self.line, &self.queue, visitor(number)).await
    }

    pub(crate) async fn promote(&self) {
        self.line
            .promote(&self.queue, tick_order(u64::MAX))
            .await
            .expect("promoted");
    }

    pub(crate) async fn view(&self) -> QueueView {
        self.line.queue_view(&self.queue).await.expect("a view")
    }

    pub(crate) async fn look(&self, number: u64) -> EntryLookup {
        self.line
            .status(&self.queue, visitor(number))
            .await
            .expect("a look")
    }

    pub(crate) async fn standing(&self, number: u64) -> EntryStatus {
        match self.look(number).await {
            EntryLookup::Found(standing) => standing,
            gone @ EntryLookup::NotFound(_) => panic!("{number}: {gone:?}"),
        }
    }

    pub(crate) async fn score(&self, number: u64) -> WaitScore {
        match self.standing(number).await {
            EntryStatus::Waiting { score, .. } => score,
            other => panic!("{number} does not wait: {other:?}"),
        }
    }

    /// The positions of those who wait.
    pub(crate) async fn positions(&self, numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut positions = Vec::new();
        for number in numbers {
            match self.standing(number).await {
                EntryStatus::Waiting { position, .. } => positions.push(position),
                other => panic!("{number} does not wait: {other:?}"),
            }
        }
        positions
    }

    pub(crate) async fn record(&self, number: u64) -> Option<EntryRecord> {
        self.record_of(visitor(number)).await
    }

    pub(crate) async fn record_of(&self, id: EntryId) -> Option<EntryRecord> {
        self.backup.read_entry(&self.shelf, id).await.expect("an answer")
    }

    pub(crate) async fn state_in_backup(&self, number: u64) -> Option<EntryState> {
        self.record(number).await.map(|record| record.state)
    }

    /// A whole check.
    pub(crate) async fn check(&self) -> CheckSummary {
        let checked = check_queue(&*self.line, &*self.backup, &self.shelf, 0, HASTY)
            .await
            .expect("checked");
        assert_eq!(checked.next_shard, None);
        checked
    }

    /// A check that finds what was mended to be as it should.
    pub(crate) async fn agrees(&self) {
        let checked = self.check().await;
        assert_eq!((checked.repaired_count(), checked.skipped), (0, 0), "{checked:?}");
        assert_eq!(checked.checked_line, checked.checked_table);
        assert_eq!(self.view().await.unsettled_ends, 0);
    }
}
