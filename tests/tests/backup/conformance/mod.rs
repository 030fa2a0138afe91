//! What holds for every backup.

mod any_sequence;
mod entries;
mod grace;
mod lost;
mod places;
mod queues;

use vestibule_backup::{Backup, Shelf, Written};
use vestibule_domain::{
    change::{Change, End, Event},
    record::Record,
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
            how: End::Completed,
        },
    ];
    (1..).zip(events).map(|(v, event)| change(id, v, event)).collect()
}

/// What stands after all of these.
pub(crate) fn folded(shelf: &Shelf, changes: &[Change]) -> Option<Record> {
    changes.iter().fold(None, |standing, change| {
        Record::after(standing.as_ref(), change, shelf.retain_hours).or(standing)
    })
}

pub(crate) async fn written(backup: &dyn Backup, shelf: &Shelf, change: &Change) -> Written {
    backup.write(shelf, change).await.expect("written")
}
