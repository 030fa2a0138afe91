//! Hearing of promotions, and looking at many at once.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_domain::{change::Event, entry_status::EntryStatus, settings::Settings};
use vestibule_line::{EntryLookup, LeaveReason, NotFound, STATUS_CHUNK, Tick, TickSubscription};
use vestibule_tests::lines::{Subject, visitor};

const BOUND: Duration = Duration::from_secs(10);

fn two_a_second() -> Settings {
    Settings {
        capacity: 5,
        batch: 2,
        interval_seconds: 1,
        ..Settings::default()
    }
}

async fn heard(changes: &mut TickSubscription) -> Tick {
    let tick = timeout(BOUND, changes.next()).await.expect("in time");
    tick.expect("nothing broke")
}

pub(crate) async fn a_tick_is_heard_by_all_who_listen_to_its_queue(mut subject: Subject) {
    subject.open(two_a_second()).await;
    let other = subject.open_sibling(two_a_second()).await;
    let listen = async || subject.line.subscribe(&subject.queue).await.expect("listens");
    let (mut first, mut second) = (listen().await, listen().await);
    let mut elsewhere = other.line.subscribe(&other.queue).await.expect("listens");
    subject.line_up(1..=3).await;
    subject.advance_seconds(2);
    let waiting = subject.status(visitor(2)).await;
    let EntryStatus::Waiting { score, .. } = waiting else {
        panic!("{waiting:?}")
    };
    assert_eq!(subject.tick().await.promoted, 2);
    let tick = heard(&mut first).await;
    assert_eq!((tick.through, tick.at_ms), (score, subject.clock.now_ms()));
    assert_eq!(heard(&mut second).await, tick, "both hear it");

    // It says all that the journal does.
    let journal = subject.journal().await;
    let changes: Vec<_> = journal.iter().flat_map(|record| &record.changes).collect();
    assert_eq!(changes.len(), 2, "{changes:?}");
    for change in changes {
        let Event::Promoted { score, .. } = change.event else {
            panic!("{change:?}")
        };
        assert_eq!(tick.change_for_entry(change.id, score), Some(*change));
    }
    let last = subject.status(visitor(3)).await;
    let EntryStatus::Waiting { score, .. } = last else {
        panic!("{last:?}")
    };
    assert_eq!(
        tick.change_for_entry(visitor(3), score),
        None,
        "who stands behind was not called"
    );
    let ready = subject.status(visitor(1)).await;
    assert!(
        matches!(ready, EntryStatus::Ready { claim_by_ms, .. } if claim_by_ms == tick.claim_by_ms),
        "{ready:?}"
    );

    // One may stop, and nobody heard of another queue; where nobody went, there is nothing to hear.
    drop(first);
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(heard(&mut second).await.at_ms, subject.clock.now_ms());
    let nothing = timeout(Duration::from_millis(50), elsewhere.next()).await;
    assert!(nothing.is_err(), "{nothing:?}");
}

/// Waiting, ready, active; gone in each way: the same as one by one.
pub(crate) async fn many_are_looked_at_as_each_is_alone(mut subject: Subject) {
    let crowd = STATUS_CHUNK as u64 + 20;
    subject
        .open(Settings {
            capacity: 8,
            batch: 8,
            claim_seconds: 60,
            ..two_a_second()
        })
        .await;
    subject.line_up(1..=crowd).await;
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 8);
    subject.claim(visitor(1)).await;
    subject.claim(visitor(2)).await;
    subject.leave(visitor(2), LeaveReason::Complete).await;
    subject.leave(visitor(crowd - 1), LeaveReason::Leave).await;
    subject.advance_seconds(30);
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(100);

    let ids: Vec<_> = (0..=crowd).rev().map(visitor).collect();
    let looks = subject
        .line
        .status_many(&subject.queue, &ids)
        .await
        .expect("looks");
    assert_eq!(looks.len(), ids.len());
    for (id, look) in ids.iter().zip(&looks) {
        assert_eq!(*look, subject.lookup(*id).await);
    }
    let of = |number: u64| looks[usize::try_from(crowd - number).expect("small")];
    assert!(
        matches!(of(1), EntryLookup::Found(EntryStatus::Active { .. })),
        "{:?}",
        of(1)
    );
    assert!(
        matches!(of(3), EntryLookup::Found(EntryStatus::Ready { .. })),
        "{:?}",
        of(3)
    );
    assert!(
        matches!(
            of(10),
            EntryLookup::Found(EntryStatus::Waiting { position: 2, .. })
        ),
        "{:?}",
        of(10)
    );
    assert_eq!(of(2), EntryLookup::NotFound(NotFound::RecentlyEnded));
    assert_eq!(of(crowd - 1), EntryLookup::NotFound(NotFound::RecentlyEnded));
    assert_eq!(of(0), EntryLookup::NotFound(NotFound::Unknown));

    // What timed out is gone, though nobody dropped it yet.
    subject.change_settings(|settings| settings.paused = false).await;
    subject.advance_seconds(300);
    let due = [visitor(1), visitor(3)];
    let looks = subject
        .line
        .status_many(&subject.queue, &due)
        .await
        .expect("looks");
    assert_eq!(looks, [EntryLookup::NotFound(NotFound::RecentlyEnded); 2]);
    let none = subject.line.status_many(&subject.queue, &[]).await;
    assert_eq!(none.expect("nothing to ask"), []);
}
