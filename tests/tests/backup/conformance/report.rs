//! What the report of a queue shows: its tallies, the orders that it got, and its entries page by page.

use serde_json::Map;
use vestibule_backup::{Backup, ORDERS_KEPT, OperatorOrder};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::{Event, Version},
    id::{QueueId, SHARD_COUNT, Salt},
    tally::{PeakWaiting, QueueTotals, Tally, TallySnapshot},
};
use vestibule_tests::{
    entries::{change, fresh_id, fresh_partition, now_ms, place},
    lines::fresh_queue,
    servers,
};

use super::put_change;

on_both_backups! {
    a_stored_tally_reads_back_unchanged
    an_older_tally_never_replaces_a_later_one
    the_tally_of_a_queue_created_again_begins_anew
    each_generation_has_its_own_tally
    the_order_log_keeps_the_last_orders
    pages_hold_each_entry_once
}

fn snapshot(generation: u32, version: (u32, u64), entered: u64) -> TallySnapshot {
    let mut tally = Tally {
        totals: QueueTotals {
            entered,
            ..QueueTotals::default()
        },
        ..Tally::default()
    };
    for wait_ms in [0, 5, 1_000, 86_400_000] {
        tally.waits.record(wait_ms);
        tally.stays.record(2 * wait_ms);
    }
    tally.peak = PeakWaiting {
        waiting: 17,
        at_ms: 1_700_000_000_000,
    };
    TallySnapshot {
        generation,
        salt: Salt::new([3; 32]),
        version: Version {
            epoch: version.0,
            v: version.1,
        },
        at_ms: now_ms(),
        tally,
    }
}

async fn store(backup: &dyn Backup, queue: &QueueId, snapshot: &TallySnapshot) -> bool {
    backup.store_tally(queue, snapshot).await.expect("stored")
}

async fn read(backup: &dyn Backup, queue: &QueueId, generation: Option<u32>) -> Option<TallySnapshot> {
    backup.read_tally(queue, generation).await.expect("read")
}

async fn a_stored_tally_reads_back_unchanged(backup: &dyn Backup) {
    let queue = fresh_queue();
    assert_eq!(read(backup, &queue, None).await, None);
    let first = snapshot(1, (1, 50), 9);
    assert!(store(backup, &queue, &first).await);
    assert_eq!(read(backup, &queue, Some(1)).await.as_ref(), Some(&first));
    // An attempt whose answer was lost may be repeated.
    assert!(store(backup, &queue, &first).await);
    assert_eq!(
        read(backup, &fresh_queue(), None).await,
        None,
        "a tally is of one queue"
    );
    // A queue is not listed because it has a tally.
    assert!(!backup.list_queues().await.expect("listed").contains(&queue));
}

async fn an_older_tally_never_replaces_a_later_one(backup: &dyn Backup) {
    let queue = fresh_queue();
    assert!(store(backup, &queue, &snapshot(1, (2, 50), 9)).await);
    for (version, entered) in [((2, 49), 1), ((1, 90), 2)] {
        assert!(
            !store(backup, &queue, &snapshot(1, version, entered)).await,
            "{version:?}"
        );
    }
    assert_eq!(
        read(backup, &queue, None)
            .await
            .expect("a tally")
            .tally
            .totals
            .entered,
        9
    );
    for (version, entered) in [((2, 51), 10), ((3, 1), 11)] {
        assert!(
            store(backup, &queue, &snapshot(1, version, entered)).await,
            "{version:?}"
        );
    }
    assert_eq!(
        read(backup, &queue, None)
            .await
            .expect("a tally")
            .tally
            .totals
            .entered,
        11
    );
}

async fn the_tally_of_a_queue_created_again_begins_anew(backup: &dyn Backup) {
    let queue = fresh_queue();
    assert!(store(backup, &queue, &snapshot(1, (8, 50), 9)).await);
    let again = TallySnapshot {
        salt: Salt::new([4; 32]),
        ..snapshot(1, (1, 60), 0)
    };
    assert!(store(backup, &queue, &again).await);
    assert_eq!(read(backup, &queue, Some(1)).await, Some(again));
}

async fn each_generation_has_its_own_tally(backup: &dyn Backup) {
    let queue = fresh_queue();
    for generation in [2, 10, 9] {
        let of_generation = snapshot(generation, (generation, 50), generation.into());
        assert!(store(backup, &queue, &of_generation).await);
    }
    let last = read(backup, &queue, None).await.expect("a tally");
    assert_eq!((last.generation, last.tally.totals.entered), (10, 10));
    let earlier = read(backup, &queue, Some(2)).await.expect("a tally");
    assert_eq!((earlier.generation, earlier.tally.totals.entered), (2, 2));
    assert_eq!(read(backup, &queue, Some(3)).await, None);
}

async fn the_order_log_keeps_the_last_orders(backup: &dyn Backup) {
    let queue = fresh_queue();
    assert_eq!(backup.read_orders(&queue).await.expect("read").count, 0);
    let order = |number: usize| OperatorOrder {
        at_ms: now_ms(),
        op: "update".to_owned(),
        caller: number.is_multiple_of(2).then(|| "ops@example.com".to_owned()),
        request_id: number.is_multiple_of(3).then(|| format!("request {number}")),
        generation: 4,
        arguments: format!("{{\"settings\":{{\"batch\":{number}}}}}"),
        tokens: vec![format!("token {number}"); usize::from(number.is_multiple_of(7))],
        tokens_until_ms: number.is_multiple_of(7).then(|| (now_ms() / 1_000 + 60) * 1_000),
        // The log is longer than one answer of DynamoDB.
        settings_before: Map::from_iter([("message".to_owned(), "가".repeat(4_000).into())]),
        revision: number.is_multiple_of(5).then(|| "abcd".to_owned()),
    };
    let orders: Vec<_> = (1..=ORDERS_KEPT + 5).map(order).collect();
    for order in &orders {
        backup.record_order(&queue, order).await.expect("recorded");
    }
    let log = backup.read_orders(&queue).await.expect("read");
    assert_eq!(log.count, ORDERS_KEPT as u64 + 5);
    assert_eq!(log.orders, orders[5..]);
}

async fn pages_hold_each_entry_once(backup: &dyn Backup) {
    let partition = fresh_partition();
    let mut ids: Vec<_> = (0..300).map(|_| fresh_id()).collect();
    for (v, id) in (1..).zip(&ids) {
        let entered = Event::Entered {
            place: place(0),
            after: None,
        };
        put_change(backup, &partition, &change(*id, v, entered)).await;
    }
    let mut found = Vec::new();
    for shard in 0..SHARD_COUNT {
        let mut after = None;
        loop {
            let page = backup.read_entry_page(&partition, shard, after, 3).await;
            let page = page.expect("a page");
            assert!(page.records.len() <= 3);
            found.extend(page.records.iter().map(|record| record.id));
            after = page.next_after;
            if after.is_none() {
                break;
            }
        }
    }
    let is_sorted = found
        .chunk_by(|a, b| a.shard() == b.shard())
        .all(<[_]>::is_sorted);
    assert!(is_sorted, "the entries of a shard are in the order of their ids");
    found.sort_unstable();
    ids.sort_unstable();
    assert_eq!(found, ids);
}
