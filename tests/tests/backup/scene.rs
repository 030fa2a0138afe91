//! A queue in memory before a backup with moods.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId},
    settings::Settings,
    state::EntryState,
};
use vestibule_engine::flush::{FlushError, FlushOutcome, flush_journal};
use vestibule_line::{JournalLimits, Line, QueueView};
use vestibule_line_memory::MemoryLine;
use vestibule_tests::{
    entries::fresh_id,
    lines::{
        ManualClock, configuration, enter_without_backup, fresh_queue, leave_without_backup, tick_order,
    },
};

use crate::picky::{Mood, Picky};

/// One queue whose time stands still until it is told to go on, and a backup with moods.
pub(crate) struct Scene {
    pub(crate) line: MemoryLine,
    pub(crate) clock: ManualClock,
    pub(crate) backup: Arc<Picky>,
    pub(crate) queue: QueueId,
    pub(crate) shelf: EntryPartition,
}

impl Scene {
    pub(crate) async fn new(limits: JournalLimits) -> Self {
        let clock = ManualClock::new();
        let line = MemoryLine::with_clock(clock.as_clock()).with_journal_limits(limits);
        let configuration = configuration(&Settings {
            capacity: 10_000,
            batch: 1_000,
            interval_seconds: 1,
            paused: true,
            ..Settings::default()
        });
        let queue = fresh_queue();
        let configured = line.configure(&queue, &configuration, true).await;
        configured.expect("created");
        Self {
            shelf: EntryPartition::from_configuration(&queue, &configuration),
            line,
            clock,
            backup: Arc::new(Picky::new(Mood::Takes)),
            queue,
        }
    }

    /// So many come and wait, and all of it is written.
    pub(crate) async fn come(&self, visitors: usize) -> Vec<EntryId> {
        let mut ids = Vec::new();
        for _ in 0..visitors {
            let change = enter_without_backup(&self.line, &self.queue, fresh_id()).await;
            self.backup
                .put_change(&self.shelf, &change)
                .await
                .expect("written");
            ids.push(change.id);
        }
        ids
    }

    /// As many are promoted as the pace lets go: one record of the journal.
    pub(crate) async fn promote(&self) {
        let mut settings = self.view().await.configuration;
        settings.settings.paused = false;
        settings.revision.push('+');
        let configured = self.line.configure(&self.queue, &settings, false).await;
        configured.expect("configured");
        self.pass(1);
        let promotion = self.line.promote(&self.queue, tick_order(1_000)).await;
        assert!(promotion.expect("an answer").promoted > 0);
    }

    pub(crate) async fn leaves(&self, id: EntryId) -> Change {
        leave_without_backup(&self.line, &self.queue, id).await
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn drain(&self) -> Result<FlushOutcome, FlushError> {
        let until = Instant::now() + Duration::from_mins(1);
        flush_journal(&self.line, &*self.backup, &self.shelf, 100, until).await
    }

    /// Drains for an hour, now and then.
    pub(crate) async fn drain_for_an_hour(&self) {
        for _ in 0..120 {
            // What comes of each is seen in the view.
            let _ = self.drain().await;
            self.pass(30);
        }
    }

    pub(crate) async fn view(&self) -> QueueView {
        self.line.queue_view(&self.queue).await.expect("an answer")
    }

    pub(crate) fn state(&self, id: EntryId) -> Option<EntryState> {
        self.backup.record(id).map(|record| record.state)
    }

    /// Every change that the line keeps for the backup.
    pub(crate) async fn kept(&self) -> HashSet<EntryId> {
        self.pass(3_600);
        let journal = self
            .line
            .due_journal_records(&self.queue, 10_000)
            .await
            .expect("an answer");
        let aside = self
            .line
            .dead_lettered(&self.queue, 10_000)
            .await
            .expect("an answer");
        let records = journal.into_iter().chain(aside);
        records
            .flat_map(|record| record.changes)
            .map(|change| change.id)
            .collect()
    }
}
