//! Subscriptions to the ticks of a queue.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_domain::{change::Event, entry_status::EntryStatus, settings::Settings};
use vestibule_line::{Tick, TickSubscription};
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::bounded;

const BOUND: Duration = Duration::from_secs(10);

pub(crate) fn two_a_second() -> Settings {
    bounded(5, 2, 1)
}

pub(crate) async fn next_tick(ticks: &mut TickSubscription) -> Tick {
    let tick = timeout(BOUND, ticks.next())
        .await
        .expect("the tick arrives in time");
    tick.expect("the subscription stays open")
}

pub(crate) async fn every_subscriber_of_a_queue_receives_its_ticks(mut subject: Subject) {
    subject.open(two_a_second()).await;
    let other = subject.open_sibling(two_a_second()).await;
    let listen = async || subject.line.subscribe(&subject.queue).await.expect("subscribe");
    let (mut first, mut second) = (listen().await, listen().await);
    let mut elsewhere = other.line.subscribe(&other.queue).await.expect("subscribe");
    subject.line_up(1..=3).await;
    subject.advance_seconds(2);
    let waiting = subject.status(visitor(2)).await;
    let EntryStatus::Waiting { score, .. } = waiting else {
        panic!("{waiting:?}")
    };
    assert_eq!(subject.tick().await.promoted, 2);
    let tick = next_tick(&mut first).await;
    assert_eq!((tick.through, tick.at_ms), (score, subject.clock.now_ms()));
    assert_eq!(
        next_tick(&mut second).await,
        tick,
        "both subscribers receive the same tick"
    );

    // The tick contains all that the journal says.
    let journal = subject.journal().await;
    let changes: Vec<_> = journal.iter().flat_map(|record| &record.changes).collect();
    assert_eq!(changes.len(), 2, "{changes:?}");
    for change in changes {
        let Event::Promoted { place, .. } = change.event else {
            panic!("{change:?}")
        };
        assert_eq!(tick.change_for_entry(change.id, place), Some(*change));
    }
    let last = subject.status(visitor(3)).await;
    let EntryStatus::Waiting { score, .. } = last else {
        panic!("{last:?}")
    };
    assert_eq!(
        tick.change_for_entry(visitor(3), score),
        None,
        "an entry behind the tick was not promoted"
    );
    let ready = subject.status(visitor(1)).await;
    assert!(
        matches!(ready, EntryStatus::Ready { claim_by_ms, .. } if claim_by_ms == tick.claim_by_ms),
        "{ready:?}"
    );

    // One subscriber may stop without an effect on the other. Ticks of this queue do not reach a subscriber of
    // another queue, and a tick that promotes no entry sends no message.
    drop(first);
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(next_tick(&mut second).await.at_ms, subject.clock.now_ms());
    let next = timeout(Duration::from_millis(50), elsewhere.next()).await;
    assert!(next.is_err(), "{next:?}");
}
