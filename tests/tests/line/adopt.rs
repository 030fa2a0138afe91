//! Comparing one entry of the line with its record in the backup: the greater fact wins.

mod known;
mod provisional;
mod removed;
mod second_turn;
mod unknown;

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    entry_status::EntryStatus,
    fact::{Fact, Turn},
    record::{EntryRecord, PutDecision},
    score::{Visit, WaitScore},
};
use vestibule_line::{AdoptBasis, AdoptOrder, AdoptOutcome};
use vestibule_tests::lines::{Subject, visitor};

pub(crate) use self::{known::*, provisional::*, removed::*, second_turn::*, unknown::*};
use crate::{check::stored_entries, restore::PUT_RULES, settings::two_at_a_time};

/// Opens a queue in which visitor 1 is active, 2 is ready, and 3 and 4 wait.
async fn open_with_every_state(subject: &mut Subject) {
    subject.open(two_at_a_time()).await;
    subject.line_up(1..=4).await;
    subject.tick().await;
    subject.claim(visitor(1)).await;
}

pub(crate) async fn adopt(
    subject: &Subject,
    number: u64,
    record: Option<EntryRecord>,
    basis: AdoptBasis,
) -> AdoptOutcome {
    let order = AdoptOrder {
        id: visitor(number),
        generation: 1,
        record,
        basis,
    };
    let outcome = subject.line.adopt(&subject.queue, &order).await.expect("adopt");
    require_conservation(subject).await;
    outcome
}

/// Each visit that was counted when it began is in the line, or was counted when it ended.
async fn require_conservation(subject: &Subject) {
    let view = subject.view().await;
    let totals = view.totals;
    let in_line = view.waiting + view.ready + view.active;
    let ended = totals.no_shows + totals.completed + totals.left + totals.evicted + totals.expired;
    assert_eq!(totals.entered + totals.returned, in_line + ended, "{view:?}");
}

fn expect_live(outcome: AdoptOutcome) -> (EntryStatus, Option<Change>, bool) {
    match outcome {
        AdoptOutcome::Live {
            status,
            change,
            has_adopted,
        } => (status, change, has_adopted),
        other => panic!("not live: {other:?}"),
    }
}

/// The record of a visitor after this event, at the current version of the queue.
async fn record_after(subject: &Subject, number: u64, event: Event) -> EntryRecord {
    let change = Change {
        id: visitor(number),
        version: subject.view().await.version,
        at_ms: subject.clock.now_ms(),
        event,
        source: None,
    };
    EntryRecord::of_change(&change, PUT_RULES)
}

/// The record of a visitor with this live fact.
pub(crate) async fn live_record(subject: &Subject, number: u64, fact: Fact) -> EntryRecord {
    let event = Event::repeat(fact, None).expect("the fact is live");
    record_after(subject, number, event).await
}

/// The record of a visitor whose visit ended in this way.
pub(crate) async fn ended_record(subject: &Subject, number: u64, fact: Fact, how: EndReason) -> EntryRecord {
    record_after(subject, number, Event::Ended { fact, how }).await
}

/// What the line knows of an entry that is in it.
async fn stored_fact(subject: &Subject, number: u64) -> Fact {
    stored_entries(subject).await[&visitor(number)].fact
}

/// Writes a change over a record, as the backup does.
fn write(record: Option<&EntryRecord>, change: &Change) -> EntryRecord {
    match EntryRecord::decide_put(record, change, PUT_RULES) {
        PutDecision::Store(record) => record,
        other => panic!("the backup does not store {change:?}: {other:?}"),
    }
}

/// A version of this epoch, lower than any that a test's line gives.
fn version_of_epoch(epoch: u32) -> Version {
    Version { epoch, v: 1 }
}

/// The place of a visitor who entered this many milliseconds before now.
pub(crate) fn place_before(subject: &Subject, ms: u64) -> WaitScore {
    WaitScore::next(0, subject.clock.now_ms() - ms)
}

/// The fact of a first turn that the visitor missed, and that ended this many milliseconds before now.
fn missed_turn(subject: &Subject, visit: Visit, ago_ms: u64) -> Fact {
    Fact::ready(visit, Turn::First, subject.clock.now_ms() - ago_ms).timed_out()
}
