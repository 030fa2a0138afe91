//! The most entries that one call promotes, whatever the pace allows.

use vestibule_domain::{entry_status::EntryStatus, pace::LimitedBy};
use vestibule_line::{PROMOTE_CHUNK, PromoteOrder};
use vestibule_tests::lines::{Subject, tick_order, visitor};

use crate::settings::{in_turn, with_pace};

pub(crate) async fn a_long_line_is_promoted_in_chunks(mut subject: Subject) {
    subject.open(in_turn(with_pace(1_000_000, 1))).await;
    subject.line_up(1..=2_500).await;
    let mut ticks = Vec::new();
    for _ in 0..3 {
        let tick = subject.tick().await;
        ticks.push((tick.promoted, tick.has_more, tick.waiting, tick.ready));
    }
    assert_eq!(
        ticks,
        [
            (1_000, true, 1_500, 1_000),
            (1_000, true, 500, 2_000),
            (500, false, 0, 2_500)
        ]
    );
    let records = subject.journal().await;
    let promoted: Vec<_> = records
        .iter()
        .flat_map(|record| record.changes.iter().map(|change| change.id))
        .collect();
    let entered: Vec<_> = (1..=2_500).map(visitor).collect();
    assert_eq!(records.len(), 3);
    assert!(
        promoted == entered,
        "each entry was promoted once, in the order of entering"
    );
}

pub(crate) async fn dropped_entries_count_towards_the_chunk(mut subject: Subject) {
    subject.open(in_turn(with_pace(1_000_000, 1))).await;
    subject.line_up(1..=1_300).await;
    while subject.tick().await.has_more {}
    for number in 1..=100 {
        subject.claim(visitor(number)).await;
    }
    subject.advance_seconds(300);
    subject.line_up(2_001..=2_900).await;
    let first = subject.tick().await;
    assert_eq!(
        (first.no_shows, first.expired, first.promoted),
        (PROMOTE_CHUNK, 0, 0)
    );
    assert!(first.has_more);
    let second = subject.tick().await;
    assert_eq!(
        (second.no_shows, second.expired, second.promoted),
        (200, 100, 700)
    );
    assert!(second.has_more);
    let third = subject.tick().await;
    assert_eq!((third.no_shows, third.expired, third.promoted), (0, 0, 200));
    assert!(!third.has_more);
    assert_eq!(subject.view().await.unsettled_ends, 1_300);
}

pub(crate) async fn no_more_entries_are_promoted_than_requested(mut subject: Subject) {
    subject.open(with_pace(100, 1)).await;
    subject.line_up(1..=5).await;
    for (asked, promoted, by) in [
        (0, 0, LimitedBy::Requested),
        (2, 2, LimitedBy::Requested),
        (10, 3, LimitedBy::Line),
    ] {
        let order = PromoteOrder {
            is_promoter: false,
            ..tick_order(asked)
        };
        let tick = subject
            .line
            .promote(&subject.queue, order)
            .await
            .expect("promote");
        assert_eq!((tick.promoted, tick.limited_by), (promoted, by), "asked {asked}");
        assert!(!tick.has_more);
    }
    assert_eq!(
        subject.view().await.heartbeat_ms,
        0,
        "only a promoter's tick is a heartbeat"
    );
    subject.tick().await;
    assert_eq!(subject.view().await.heartbeat_ms, subject.clock.now_ms());
    assert!(matches!(
        subject.status(visitor(5)).await,
        EntryStatus::Ready { .. }
    ));
}
