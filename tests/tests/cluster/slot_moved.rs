//! A queue moves to another primary while a process is subscribed to it.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use vestibule_line::Line;
use vestibule_tests::{
    cluster::OwnCluster,
    lines::{fresh_queue, open_queue_with_one_waiting, tick_order},
};

const BOUND: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_subscription_follows_a_queue_to_another_primary() {
    let own = OwnCluster::start();
    let line = Line::connect(&own.cluster.url()).await.expect("connects");
    let queue = fresh_queue();
    let mut changes = line.subscribe(&queue).await.expect("subscribe");

    let mut from = own.cluster.primary_of(&queue).await;
    let nodes = own.cluster.live_nodes().await;
    let mut others = nodes
        .into_iter()
        .filter(|node| node.primary_id.is_none() && node.id != from.id);
    let (mut to, mut third) = (
        others.next().expect("three primaries"),
        others.next().expect("three primaries"),
    );
    let slot: u64 = from.query(&["CLUSTER", "KEYSLOT", &format!("{{{queue}}}")]).await;
    let slot = slot.to_string();
    // The steps of <https://redis.io/docs/latest/commands/cluster-setslot/>. There is no key to move.
    to.query::<String>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from.id])
        .await;
    from.query::<String>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to.id])
        .await;
    let new = to.id.clone();
    for node in [&mut to, &mut from, &mut third] {
        node.query::<String>(&["CLUSTER", "SETSLOT", &slot, "NODE", &new])
            .await;
    }

    let ended = timeout(BOUND, changes.next())
        .await
        .expect("the subscription ends in time");
    assert_eq!(ended, None, "the old primary sends no further tick");
    let end = Instant::now() + BOUND;
    let mut changes = loop {
        match line.subscribe(&queue).await {
            Ok(changes) => break changes,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        sleep(Duration::from_millis(100)).await;
    };
    open_queue_with_one_waiting(&line, &queue).await;
    assert_eq!(
        line.promote(&queue, tick_order(1))
            .await
            .expect("promotes")
            .promoted,
        1
    );
    assert_eq!(
        own.cluster.primary_of(&queue).await.id,
        to.id,
        "the queue is on the new primary"
    );
    let tick = timeout(BOUND, changes.next())
        .await
        .expect("the tick arrives in time");
    tick.expect("the subscription stays open");
}
