//! The calls that serve the consistency check: reading all entries of a queue by pages, and the assignment of
//! the check to one caller.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_domain::{entry_status::StoredPosition, id::EntryId, state::EntryState};
use vestibule_line::{CheckAssignment, CheckOrder, Cursor, LeaveReason, PAGE_ENTRIES, Page};
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::{bounded, two_at_a_time};

const ORDER: CheckOrder = CheckOrder {
    every_ms: 300_000,
    idle_ms: 3_600_000,
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

pub(crate) async fn positions(subject: &Subject) -> BTreeMap<EntryId, StoredPosition> {
    read_pages(subject)
        .await
        .into_iter()
        .flat_map(|page| page.positions)
        .collect()
}

pub(crate) async fn the_pages_contain_every_entry(mut subject: Subject) {
    let settings = bounded(1_500, 1_500, 1);
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
        let entries = page.positions.len() + page.ends.len();
        assert!(entries <= 2 * PAGE_ENTRIES, "{entries} on one page");
    }
    let in_state = |state: EntryState| {
        let positions = pages.iter().flat_map(|page| &page.positions);
        let of_state = positions.filter(|(_, position)| position.state() == state);
        of_state.map(|(id, _)| *id).collect::<BTreeSet<_>>()
    };
    let visitors = |numbers: std::ops::RangeInclusive<u64>| numbers.map(visitor).collect::<BTreeSet<_>>();
    assert_eq!(in_state(EntryState::Waiting), visitors(1_501..=4_000));
    assert_eq!(in_state(EntryState::Ready), visitors(701..=1_500));
    assert_eq!(in_state(EntryState::Active), visitors(601..=700));
    let ends: BTreeSet<_> = pages
        .iter()
        .flat_map(|page| &page.ends)
        .map(|end| end.id)
        .collect();
    assert_eq!(ends, visitors(1..=600));
    let end = pages
        .iter()
        .flat_map(|page| &page.ends)
        .next()
        .expect("the pages contain ends");
    assert_eq!(
        subject
            .line
            .unsettled_end(&subject.queue, end.id)
            .await
            .expect("end"),
        Some(*end)
    );
}

async fn take_check(subject: &Subject) -> CheckAssignment {
    subject
        .line
        .take_check(&subject.queue, ORDER)
        .await
        .expect("take_check")
}

async fn record_progress(subject: &Subject, shards: u8) {
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
