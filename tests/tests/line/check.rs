//! What a check of the line against the backup asks of a whole queue: its entries by pages, and whose turn it is.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_domain::{entry_status::StoredPosition, id::EntryId, settings::Settings, state::EntryState};
use vestibule_line::{CheckAssignment, CheckOrder, Cursor, LeaveReason, PAGE_ENTRIES, Page};
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::two_at_a_time;

const ORDER: CheckOrder = CheckOrder {
    every_ms: 300_000,
    idle_ms: 3_600_000,
    silent_ms: 60_000,
};

async fn pages(subject: &Subject) -> Vec<Page> {
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

pub(crate) async fn spots(subject: &Subject) -> BTreeMap<EntryId, StoredPosition> {
    pages(subject)
        .await
        .into_iter()
        .flat_map(|page| page.positions)
        .collect()
}

pub(crate) async fn every_entry_is_on_a_page(mut subject: Subject) {
    let settings = Settings {
        capacity: 1_500,
        batch: 1_500,
        interval_seconds: 1,
        ..Settings::default()
    };
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
    let pages = pages(&subject).await;
    for page in &pages {
        let entries = page.positions.len() + page.ends.len();
        assert!(entries <= 2 * PAGE_ENTRIES, "{entries} on one page");
    }
    let in_state = |state: EntryState| {
        let spots = pages.iter().flat_map(|page| &page.positions);
        let of_state = spots.filter(|(_, spot)| spot.state() == state);
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
        .expect("there are");
    assert_eq!(
        subject
            .line
            .unsettled_end(&subject.queue, end.id)
            .await
            .expect("end"),
        Some(*end)
    );
}

async fn turn(subject: &Subject) -> CheckAssignment {
    subject
        .line
        .take_check(&subject.queue, ORDER)
        .await
        .expect("take_check")
}

async fn note(subject: &Subject, shards: u8) {
    subject
        .line
        .record_check_progress(&subject.queue, shards)
        .await
        .expect("note_check");
}

pub(crate) async fn a_check_is_due_every_few_minutes_for_one_of_all_who_ask(mut subject: Subject) {
    let due = |from_shard| CheckAssignment::Due { from_shard };
    let early = |due_in_ms| CheckAssignment::NotDue { due_in_ms };
    subject.open(two_at_a_time()).await;
    subject.enter(visitor(1)).await;
    assert_eq!(turn(&subject).await, early(300_000), "a new queue agrees");
    subject.advance_seconds(300);
    assert_eq!(turn(&subject).await, due(0));
    subject.advance_seconds(2);
    assert_eq!(turn(&subject).await, early(58_000), "somebody is at it");
    note(&subject, 20).await;
    subject.advance_seconds(59);
    assert_eq!(turn(&subject).await, early(1_000), "and was heard of");
    subject.advance_seconds(1);
    assert_eq!(
        turn(&subject).await,
        due(20),
        "it is gone: another goes on from there"
    );
    subject.enter(visitor(2)).await;
    note(&subject, 64).await;
    subject.advance_seconds(299);
    assert_eq!(turn(&subject).await, early(1_000));
    subject.advance_seconds(1);
    assert_eq!(turn(&subject).await, due(0), "from the front");
    note(&subject, 64).await;
    // Nothing has happened since that one began.
    subject.advance_seconds(300);
    assert_eq!(turn(&subject).await, early(300_000));
    subject.advance_seconds(3_200);
    assert_eq!(turn(&subject).await, early(100_000));
    subject.enter(visitor(3)).await;
    assert_eq!(turn(&subject).await, due(0));
}
