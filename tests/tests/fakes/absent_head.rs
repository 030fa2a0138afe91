//! Absent entries at the head of the line do not delay the visitors who are present. A tick is a second.

use vestibule_domain::entry_status::EntryStatus;
use vestibule_line::EntryLookup;
use vestibule_tests::{absent_head::AbsentHead, lines::visitor, servers::server_url};

const ABSENT: u64 = 100_000;
const PRESENT: u64 = 20;

#[tokio::test]
async fn the_next_tick_promotes_the_present_behind_the_absent() {
    let mut head = AbsentHead::open(&server_url("TEST_REDIS_URL"), ABSENT).await;
    head.add_present_visitors(PRESENT).await;
    assert_eq!(head.tick(u64::MAX).await.promoted, PRESENT);
}

#[tokio::test]
async fn the_next_tick_promotes_an_absent_visitor_first_who_returns() {
    let mut head = AbsentHead::open(&server_url("TEST_REDIS_URL"), ABSENT).await;
    head.add_present_visitors(PRESENT).await;
    head.return_absent_visitor(ABSENT / 2).await;
    assert_eq!(head.tick(1).await.promoted, 1);
    let first = head.line.status(&head.queue, visitor(ABSENT / 2)).await;
    let is_ready = matches!(first, Ok(EntryLookup::Found(EntryStatus::Ready { .. })));
    assert!(is_ready, "{first:?}");
}
