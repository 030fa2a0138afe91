//! The calls that serve the consistency check: reading all entries of a queue by pages, and the assignment of
//! the check to one caller.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_domain::{
    entry_status::StoredEntry,
    fact::{Fact, Step, Turn},
    id::EntryId,
};
use vestibule_line::{CheckAssignment, CheckOrder, Cursor, LeaveReason, PAGE_ENTRIES, Page};
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::{bounded, in_turn, two_at_a_time};

const ORDER: CheckOrder = CheckOrder {
    every_ms: 300_000,
    idle_ms: 3_600_000,
    loss_ms: 60_000,
    silent_ms: 60_000,
};

async fn read_pages(subject: &Subject) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut next = Some(Cursor::default());
    while let Some(from) = &next {
        let page = subject
            .line
            .read_page(&subject.queue, from)
            .await
            .expect("a page");
        next.clone_from(&page.next);
        pages.push(page);
    }
    pages
}

/// All entries as the line stores them.
pub(crate) async fn stored_entries(subject: &Subject) -> BTreeMap<EntryId, StoredEntry> {
    read_pages(subject)
        .await
        .into_iter()
        .flat_map(|page| page.entries)
        .collect()
}

pub(crate) async fn the_pages_contain_every_entry(mut subject: Subject) {
    let settings = in_turn(bounded(1_500, 1_500, 1));
    subject.open(settings).await;
    subject.line_up(1..=4_000).await;
    subject.advance_seconds(1);
    while subject.tick().await.has_more {}
    for number in 1..=700 {
        subject.claim(visitor(number)).await;
    }
    for number in 1..=600 {
        subject.leave(visitor(number), LeaveReason::Complete).await;
    }
    let pages = read_pages(&subject).await;
    for page in &pages {
        let entries = page.entries.len() + page.ends.len();
        assert!(entries <= 2 * PAGE_ENTRIES, "{entries} on one page");
    }
    let at_step = |step: Step| {
        let entries = pages.iter().flat_map(|page| &page.entries);
        let at_step = entries.filter(|(_, entry)| entry.fact.step == step);
        at_step.map(|(id, _)| *id).collect::<BTreeSet<_>>()
    };
    let visitors = |numbers: std::ops::RangeInclusive<u64>| numbers.map(visitor).collect::<BTreeSet<_>>();
    assert_eq!(at_step(Step::Waiting), visitors(1_501..=4_000));
    assert_eq!(at_step(Step::Ready), visitors(701..=1_500));
    assert_eq!(at_step(Step::Active), visitors(601..=700));
    let ends: BTreeSet<_> = pages
        .iter()
        .flat_map(|page| &page.ends)
        .map(|end| end.id)
        .collect();
    assert_eq!(ends, visitors(1..=600));
}

pub(crate) async fn a_page_shows_what_the_line_knows_of_each_entry(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    subject.line_up(1..=4).await;
    let mut visits = BTreeMap::new();
    for number in 1..=4 {
        visits.insert(number, subject.status(visitor(number)).await.visit());
    }
    subject.tick().await;
    subject.claim(visitor(1)).await;
    subject.leave(visitor(4), LeaveReason::Leave).await;
    // A pause moves the claim deadline: the claim clock stands still, and the page shows line time.
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(7);
    subject.change_settings(|settings| settings.paused = false).await;
    let now_ms = subject.clock.now_ms();
    let stored = stored_entries(&subject).await;
    let facts: Vec<_> = stored.values().map(|entry| entry.fact).collect();
    let expected = [
        (1, Fact::active(visits[&1], now_ms + 293_000)),
        (2, Fact::ready(visits[&2], Turn::First, now_ms + 60_000)),
        (3, Fact::waiting(visits[&3], Turn::First)),
    ];
    assert_eq!(facts.len(), expected.len());
    for (number, fact) in expected {
        let place = (fact.step == Step::Waiting).then(|| fact.visit.place());
        let entry = StoredEntry { fact, place };
        assert_eq!(stored.get(&visitor(number)), Some(&entry), "visitor {number}");
    }
    // A settled end is no longer on a page, although the line still knows it.
    assert_eq!(subject.unsettled_ends().await.len(), 1);
    subject.acknowledge_journal(&[visitor(4)]).await;
    assert_eq!(subject.unsettled_ends().await, []);
}

pub(crate) async fn take_check(subject: &Subject) -> CheckAssignment {
    subject
        .line
        .take_check(&subject.queue, ORDER)
        .await
        .expect("take_check")
}

pub(crate) async fn record_progress(subject: &Subject, shards: u8) {
    subject
        .line
        .record_check_progress(&subject.queue, shards)
        .await
        .expect("record_check_progress");
}

pub(crate) async fn a_check_is_assigned_to_one_caller_every_few_minutes(mut subject: Subject) {
    let due = |from_shard| CheckAssignment::Due { from_shard };
    let early = |due_in_ms| CheckAssignment::NotDue { due_in_ms };
    subject.open(two_at_a_time()).await;
    subject.enter(visitor(1)).await;
    assert_eq!(
        take_check(&subject).await,
        early(300_000),
        "a new queue needs no check"
    );
    subject.advance_seconds(300);
    assert_eq!(take_check(&subject).await, due(0));
    subject.advance_seconds(2);
    assert_eq!(
        take_check(&subject).await,
        early(58_000),
        "another caller runs the check"
    );
    record_progress(&subject, 20).await;
    subject.advance_seconds(59);
    assert_eq!(
        take_check(&subject).await,
        early(1_000),
        "the progress of that caller extends its turn"
    );
    subject.advance_seconds(1);
    assert_eq!(
        take_check(&subject).await,
        due(20),
        "that caller went silent: another continues from its progress"
    );
    subject.enter(visitor(2)).await;
    record_progress(&subject, 64).await;
    subject.advance_seconds(299);
    assert_eq!(take_check(&subject).await, early(1_000));
    subject.advance_seconds(1);
    assert_eq!(
        take_check(&subject).await,
        due(0),
        "the next check starts at the first shard"
    );
    record_progress(&subject, 64).await;
    // The queue is idle since that check began.
    subject.advance_seconds(300);
    assert_eq!(take_check(&subject).await, early(300_000));
    subject.advance_seconds(3_200);
    assert_eq!(take_check(&subject).await, early(100_000));
    subject.enter(visitor(3)).await;
    assert_eq!(take_check(&subject).await, due(0));
}
