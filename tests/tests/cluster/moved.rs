//! A queue moves to another primary while somebody listens to it.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use vestibule_line::Line;
use vestibule_line_redis::RedisLine;
use vestibule_tests::{
    cluster::OwnCluster,
    lines::{fresh_queue, open_queue_with_one_waiting, tick_order},
};

const BOUND: Duration = Duration::from_secs(20);

#[tokio::test]
async fn whoever_listens_is_led_to_where_the_queue_is() {
    let own = OwnCluster::start();
    let line = RedisLine::connect(&own.cluster.url()).await.expect("connects");
    let queue = fresh_queue();
    let mut changes = line.subscribe(&queue).await.expect("listens");

    let mut from = own.cluster.owner(&queue).await;
    let nodes = own.cluster.nodes().await;
    let mut others = nodes
        .into_iter()
        .filter(|node| node.follows.is_none() && node.id != from.id);
    let (mut to, mut third) = (others.next().expect("three"), others.next().expect("three"));
    let slot: u64 = from.ask(&["CLUSTER", "KEYSLOT", &format!("{{{queue}}}")]).await;
    let slot = slot.to_string();
    // As <https://redis.io/docs/latest/commands/cluster-setslot/> has it; there is no key to move.
    to.ask::<String>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from.id])
        .await;
    from.ask::<String>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to.id])
        .await;
    let new = to.id.clone();
    for node in [&mut to, &mut from, &mut third] {
        node.ask::<String>(&["CLUSTER", "SETSLOT", &slot, "NODE", &new])
            .await;
    }

    let ended = timeout(BOUND, changes.next()).await.expect("told in time");
    assert_eq!(ended, None, "nothing more is heard from there");
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
    assert_eq!(own.cluster.owner(&queue).await.id, to.id, "it moved");
    let tick = timeout(BOUND, changes.next()).await.expect("heard in time");
    tick.expect("nothing broke");
}
