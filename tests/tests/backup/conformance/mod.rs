//! The rules for every backup.

mod change_sequences;
mod entries;
mod lost_history;
mod missed_turn;
mod missed_visit;
mod put_place;
mod queues;

use vestibule_backup::{Backup, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::{Change, EndReason, Event},
    record::EntryRecord,
};
use vestibule_tests::entries::{change, fresh_id, now_ms, place};

pub(crate) use self::{entries::live_entries_are_listed_exactly_once, queues::stored_queue};

/// One change for every event of a visit, in order, with versions from 1.
pub(crate) fn visit_changes() -> Vec<Change> {
    let (id, score) = (fresh_id(), place(0));
    let (visit, now_ms) = (score.visit(), now_ms());
    let events = [
        Event::Entered { score },
        Event::Promoted {
            score,
            claim_by_ms: now_ms + 60_000,
        },
        Event::Claimed {
            visit,
            session_end_ms: now_ms + 300_000,
        },
        Event::Claimed {
            visit,
            session_end_ms: now_ms + 300_000,
        },
        Event::Extended {
            visit,
            session_end_ms: now_ms + 400_000,
        },
        Event::Ended {
            visit,
            how: EndReason::Completed,
        },
    ];
    (1..).zip(events).map(|(v, event)| change(id, v, event)).collect()
}

/// The record after all of these changes.
pub(crate) fn apply_all(partition: &EntryPartition, changes: &[Change]) -> Option<EntryRecord> {
    changes.iter().fold(None, |record, change| {
        EntryRecord::apply_change(record.as_ref(), change, partition.retain_hours).or(record)
    })
}

pub(crate) async fn put_change(
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
) -> PutOutcome {
    backup.put_change(partition, change).await.expect("written")
}
