//! The rules for every backup.

mod change_sequences;
mod deletion;
mod entering;
mod entries;
mod fact_order;
mod outboxes;
mod queue_listing;
mod queues;
mod report;

use vestibule_backup::{Backup, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::{Change, EndReason, Event},
    fact::{Fact, Turn},
    id::EntryId,
    record::{EntryRecord, PutDecision, PutRules},
    score::WaitScore,
};
use vestibule_tests::entries::{change, fresh_id, fresh_partition, now_ms, place};

pub(crate) use self::{entries::live_entries_are_listed_exactly_once, queues::stored_queue};

/// A new entry of a new queue, and the backup with its record.
pub(crate) struct BackedUpEntry<'a> {
    pub(crate) backup: &'a dyn Backup,
    pub(crate) partition: EntryPartition,
    pub(crate) id: EntryId,
}

impl<'a> BackedUpEntry<'a> {
    pub(crate) fn new(backup: &'a dyn Backup) -> Self {
        Self {
            backup,
            partition: fresh_partition(),
            id: fresh_id(),
        }
    }

    /// Writes the event as a change with this version.
    pub(crate) async fn put(&self, v: u64, event: Event) -> PutOutcome {
        self.put_change(&change(self.id, v, event)).await
    }

    /// Writes a change, and checks that the outcome and the record are as decided by the domain.
    pub(crate) async fn put_change(&self, change: &Change) -> PutOutcome {
        let before = self.record().await;
        let outcome = self.put_unchecked(change).await;
        let expected = decided_outcome(before.as_ref(), change, self.partition.put_rules());
        assert_eq!(outcome, expected, "{before:?}, then {change:?}");
        assert_eq!(self.record().await.as_ref(), Some(outcome.record()), "{change:?}");
        outcome
    }

    /// Writes a change while other writers may change the record.
    pub(crate) async fn put_unchecked(&self, change: &Change) -> PutOutcome {
        let put = self.backup.put_change(&self.partition, change).await;
        put.expect("an answer")
    }

    pub(crate) async fn record(&self) -> Option<EntryRecord> {
        let read = self.backup.read_entry(&self.partition, self.id).await;
        read.expect("an answer")
    }
}

/// The outcome of writing a change, as [`EntryRecord::decide_put`] decides.
pub(crate) fn decided_outcome(stored: Option<&EntryRecord>, change: &Change, rules: PutRules) -> PutOutcome {
    let kept = || stored.cloned().expect("a change is stored if there is no record");
    match EntryRecord::decide_put(stored, change, rules) {
        PutDecision::Store(record) => PutOutcome::Stored(record),
        PutDecision::FillGaps(filled) => PutOutcome::Superseded(filled),
        PutDecision::Superseded => PutOutcome::Superseded(kept()),
        PutDecision::VisitContinues => PutOutcome::VisitContinues(kept()),
    }
}

/// The events of a visit that reaches every step: the visitor misses the first turn and comes back.
pub(crate) fn visit_events(place: WaitScore) -> Vec<Event> {
    let (visit, joined_ms) = (place.visit(), place.joined_at_ms());
    let promoted = |turn, claim_by_ms| Event::Promoted {
        place,
        turn,
        claim_by_ms,
    };
    vec![
        Event::Entered { place, after: None },
        promoted(Turn::First, joined_ms + 60_000),
        no_show(Fact::ready(visit, Turn::First, joined_ms + 60_000)),
        Event::CameBack { place },
        promoted(Turn::Second, joined_ms + 120_000),
        Event::Claimed {
            visit,
            session_end_ms: joined_ms + 300_000,
        },
        Event::Extended {
            visit,
            session_end_ms: joined_ms + 400_000,
        },
        ended(place, EndReason::Completed),
    ]
}

/// A visit that reaches every step, with versions from 1.
pub(crate) fn visit_changes() -> Vec<Change> {
    let id = fresh_id();
    let events = visit_events(place(0));
    (1..).zip(events).map(|(v, event)| change(id, v, event)).collect()
}

/// The record after all of these changes, in a backup with the default settings.
pub(crate) fn record_after(partition: &EntryPartition, changes: &[Change]) -> Option<EntryRecord> {
    changes.iter().fold(None, |record, change| {
        let outcome = decided_outcome(record.as_ref(), change, partition.put_rules());
        Some(outcome.record().clone())
    })
}

/// The end of a turn that ran out.
pub(crate) fn no_show(ready: Fact) -> Event {
    Event::Ended {
        fact: ready.timed_out(),
        how: EndReason::NoShow,
    }
}

/// The end of a visit by the visitor or an operator.
pub(crate) fn ended(place: WaitScore, how: EndReason) -> Event {
    let fact = Fact::ended(place.visit());
    Event::Ended { fact, how }
}

pub(crate) async fn put_change(
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
) -> PutOutcome {
    backup.put_change(partition, change).await.expect("written")
}

/// The time at which the visitors of a test enter, in Unix milliseconds: an hour ago, so that all deadlines are over.
pub(crate) fn hour_ago_ms() -> u64 {
    now_ms() - 3_600_000
}
