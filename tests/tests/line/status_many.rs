//! The statuses of many entries in one call.

use vestibule_domain::{change::EndReason, entry_status::EntryStatus, settings::Settings};
use vestibule_line::{EntryLookup, LeaveReason, NotFound, STATUS_CHUNK};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    missing::{expect_end, expect_end_reason, unknown},
    subscription::two_a_second,
};

/// Covers entries that wait, are ready or active, and entries that ended in each way.
pub(crate) async fn status_many_agrees_with_status(mut subject: Subject) {
    let visitors = STATUS_CHUNK as u64 + 20;
    subject
        .open(Settings {
            capacity: 8,
            batch: 8,
            claim_seconds: 60,
            ..two_a_second()
        })
        .await;
    subject.line_up(1..=visitors).await;
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 8);
    subject.claim(visitor(1)).await;
    subject.claim(visitor(2)).await;
    subject.leave(visitor(2), LeaveReason::Complete).await;
    subject.leave(visitor(visitors - 1), LeaveReason::Leave).await;
    subject.advance_seconds(30);
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(100);

    let ids: Vec<_> = (0..=visitors).rev().map(visitor).collect();
    let lookups = subject
        .line
        .status_many(&subject.queue, &ids)
        .await
        .expect("status_many");
    assert_eq!(lookups.len(), ids.len());
    for (id, lookup) in ids.iter().zip(&lookups) {
        assert_eq!(*lookup, subject.lookup(*id).await);
    }
    let lookup_of = |number: u64| lookups[usize::try_from(visitors - number).expect("small")];
    assert!(
        matches!(lookup_of(1), EntryLookup::Found(EntryStatus::Active { .. })),
        "{:?}",
        lookup_of(1)
    );
    assert!(
        matches!(lookup_of(3), EntryLookup::Found(EntryStatus::Ready { .. })),
        "{:?}",
        lookup_of(3)
    );
    assert!(
        matches!(
            lookup_of(10),
            EntryLookup::Found(EntryStatus::Waiting { position: 2, .. })
        ),
        "{:?}",
        lookup_of(10)
    );
    assert_eq!(expect_end_reason(&subject, 2).await, EndReason::Completed);
    assert_eq!(expect_end_reason(&subject, visitors - 1).await, EndReason::Left);
    assert_eq!(lookup_of(0), EntryLookup::NotFound(unknown(&subject)));

    // An entry whose time ran out has ended, even before a tick drops it.
    subject.change_settings(|settings| settings.paused = false).await;
    subject.advance_seconds(300);
    let due = [visitor(1), visitor(3)];
    let lookups = subject
        .line
        .status_many(&subject.queue, &due)
        .await
        .expect("status_many");
    let ends = [expect_end(&subject, 1).await, expect_end(&subject, 3).await];
    assert_eq!(
        lookups,
        ends.map(|end| EntryLookup::NotFound(NotFound::Ended(end)))
    );
    assert_eq!(expect_end_reason(&subject, 1).await, EndReason::Expired);
    assert_eq!(expect_end_reason(&subject, 3).await, EndReason::NoShow);
    let none = subject.line.status_many(&subject.queue, &[]).await;
    assert_eq!(none.expect("an empty request succeeds"), []);
}
