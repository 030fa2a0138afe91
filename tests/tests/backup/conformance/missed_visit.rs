//! A visitor who missed the turn, for the cases of [`missed_turn`](super::missed_turn).

use vestibule_backup::{Backup, EntryPartition, PlacePutOutcome};
use vestibule_domain::{
    change::{Change, EndReason, Event},
    id::EntryId,
    record::EntryRecord,
    score::WaitScore,
};
use vestibule_tests::entries::{change, fresh_id, fresh_partition, now_ms};

use super::put_change;

/// A visitor who missed the turn: the old place, and the place that the line gives on return.
pub(super) struct MissedTurn {
    pub(super) partition: EntryPartition,
    pub(super) id: EntryId,
    pub(super) old: WaitScore,
    pub(super) new: WaitScore,
    pub(super) missed_ms: u64,
}

impl MissedTurn {
    /// An hour ago the visitor entered, was promoted a second later and did not claim within a minute. The visitor
    /// returns ten seconds after the turn was missed.
    pub(super) fn new() -> Self {
        let entered_ms = now_ms() - 3_600_000;
        let missed_ms = entered_ms + 61_000;
        Self {
            partition: fresh_partition(),
            id: fresh_id(),
            old: WaitScore::next(0, entered_ms),
            new: WaitScore::next(0, missed_ms + 10_000),
            missed_ms,
        }
    }

    pub(super) fn change_at(&self, v: u64, at_ms: u64, event: Event) -> Change {
        Change {
            at_ms,
            ..change(self.id, v, event)
        }
    }

    pub(super) fn promotion(&self, v: u64, at_ms: u64) -> Change {
        let (score, claim_by_ms) = (self.old, at_ms + 60_000);
        self.change_at(v, at_ms, Event::Promoted { score, claim_by_ms })
    }

    pub(super) fn end(&self, v: u64, at_ms: u64, how: EndReason) -> Change {
        let visit = self.old.visit();
        self.change_at(v, at_ms, Event::Ended { visit, how })
    }

    /// The change that the line makes when the visitor enters again.
    pub(super) fn enter_again(&self, v: u64) -> Change {
        self.change_at(v, self.missed_ms + 10_000, Event::Entered { score: self.new })
    }

    /// The changes of the visit that missed its turn, with versions 1 to 3.
    pub(super) fn first_visit(&self) -> [Change; 3] {
        [
            self.change_at(1, self.missed_ms - 61_000, Event::Entered { score: self.old }),
            self.promotion(2, self.missed_ms - 60_000),
            self.end(3, self.missed_ms, EndReason::NoShow),
        ]
    }

    pub(super) async fn write_all(&self, backup: &dyn Backup, changes: &[Change]) {
        for change in changes {
            put_change(backup, &self.partition, change).await;
        }
    }

    pub(super) async fn read_record(&self, backup: &dyn Backup) -> EntryRecord {
        let record = backup
            .read_entry(&self.partition, self.id)
            .await
            .expect("an answer");
        record.expect("a record")
    }

    pub(super) async fn put_place(&self, backup: &dyn Backup, change: &Change) -> PlacePutOutcome {
        backup
            .put_place(&self.partition, change)
            .await
            .expect("an answer")
    }
}
