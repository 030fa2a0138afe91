//! What holds for every backup.

mod any_sequence;
mod entries;
mod grace;
mod lost;
mod places;
mod queues;

use vestibule_backup::{Backup, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::{Change, EndReason, Event},
    record::EntryRecord,
};
use vestibule_tests::entries::{change, fresh_id, now_ms, place};

pub(crate) use self::{entries::the_live_entries_are_exactly_the_live_ones, queues::stored};

/// Every event of one visit, in order, with versions from 1 on.
pub(crate) fn one_visit() -> Vec<Change> {
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

/// What stands after all of these.
pub(crate) fn folded(shelf: &EntryPartition, changes: &[Change]) -> Option<EntryRecord> {
    changes.iter().fold(None, |standing, change| {
        EntryRecord::apply_change(standing.as_ref(), change, shelf.retain_hours).or(standing)
    })
}

pub(crate) async fn written(backup: &dyn Backup, shelf: &EntryPartition, change: &Change) -> PutOutcome {
    backup.put_change(shelf, change).await.expect("written")
}
