//! A client fills a queue to its limit with fakes. Honest visitors get in as soon as the fakes are passed over.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use vestibule_tests::waiting::wait_until;

use crate::scene::Scene;

const CAPACITY: u64 = 10;
const LIMIT: u64 = 1_000;
const ABSENT_LIMIT: u64 = 300;
const BOUND: Duration = Duration::from_mins(5);

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_full_of_fakes_takes_an_honest_visitor_in() {
    let scene = Scene::start();
    let settings = json!({
        "capacity": CAPACITY, "batch": CAPACITY, "interval_seconds": 1, "session_seconds": 3_600,
        "claim_seconds": 10, "presence_seconds": 9, "call_seconds": 3, "check_in_seconds": 10,
        "polls_per_second_max": 5_000, "queue_limit": LIMIT, "absent_limit": ABSENT_LIMIT,
    });
    let queue = scene.create_queue(settings).await;
    // The first fakes take all slots, so none behind them is passed over.
    let entered = queue.try_fakes(3 * 1_024).await;
    assert_eq!(entered, CAPACITY + LIMIT);
    let stats = queue.stats().await;
    assert_eq!((&stats["waiting"], &stats["full"]), (&json!(LIMIT), &json!(true)));
    let mut honest = queue.new_visitor(false);
    queue.step(&mut honest).await;
    let tries_again = honest.state().is_none() && honest.next().is_some();
    assert!(tries_again, "the client tries again later");

    wait_until(BOUND, "no fake is present", async || {
        queue.stats().await["present"] == 0
    })
    .await;
    queue.update(json!({ "capacity": CAPACITY + 1 })).await;
    let turn = timeout(BOUND, queue.follow_to_turn(&mut honest)).await;
    turn.expect("the fakes keep the queue full");
    wait_until(BOUND, "the oldest absences end", async || {
        let stats = queue.stats().await;
        stats["absent"]
            .as_u64()
            .is_some_and(|absent| absent <= ABSENT_LIMIT)
            && stats["totals"]["absences"].as_u64() >= Some(LIMIT - ABSENT_LIMIT)
    })
    .await;
    let stats = queue.stats().await;
    assert_eq!(stats["full"], false);
    let promoted = stats["totals"]["promoted"].as_u64();
    assert!(promoted <= Some(1), "no fake has a turn: {stats}");
}
