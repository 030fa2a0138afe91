//! Fakes in a queue that has no other visitors, with free slots.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_domain::state::EntryState;

use crate::scene::Scene;

/// Seven minutes by default settings, in times of `call_seconds`.
const WAIT_MAX_CALLS: u32 = 14;

#[tokio::test(flavor = "multi_thread")]
async fn behind_fakes_in_an_idle_queue_a_visitor_waits_minutes_at_most() {
    let settings = json!({
        "claim_seconds": 10, "presence_seconds": 9, "call_seconds": 3, "check_in_seconds": 10,
        "polls_per_second_max": 5_000,
    });
    wait_behind_fakes(3_000, settings, Duration::from_secs(3), false).await;
}

/// With the default settings and the rules of the shipped client.
#[tokio::test(flavor = "multi_thread")]
async fn behind_100_000_fakes_in_an_idle_queue_a_visitor_waits_minutes_at_most() {
    wait_behind_fakes(100_000, json!({}), Duration::from_secs(30), true).await;
}

async fn wait_behind_fakes(fakes: usize, settings: Value, call: Duration, reads_documents: bool) {
    let scene = Scene::start();
    let queue = scene.create_queue(settings).await;
    queue.add_fakes(fakes).await;
    let turn = queue.wait_for_turn(queue.new_visitor(reads_documents)).await;
    println!("behind {fakes} fakes: {turn:?}");
    assert!(
        turn.wait <= call * WAIT_MAX_CALLS,
        "the visitor at position {} waited {:?}",
        turn.position,
        turn.wait
    );

    // All who are still in line are absent, and do not shut the fast track.
    let mut next = queue.new_visitor(reads_documents);
    queue.step(&mut next).await;
    assert_eq!(next.state(), Some(EntryState::Active), "{}", queue.stats().await);
}
