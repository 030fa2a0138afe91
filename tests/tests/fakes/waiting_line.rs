//! Fakes behind a line of honest visitors. Two queues of the same runner run at the same time, one without fakes.

use std::time::Duration;

use futures_util::future::join;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::scene::{Queue, Scene};

const CAPACITY: u32 = 10;
const WAIT_BOUND: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread")]
async fn behind_fakes_a_visitor_waits_a_tenth_longer_at_most() {
    compare_waits(2_000, 50, Duration::from_secs(8)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_100_000_fakes_a_visitor_waits_a_tenth_longer_at_most() {
    compare_waits(100_000, 160, Duration::from_secs(30)).await;
}

/// Presence a tenth as long as by default, as the sessions are. A larger rate of polls keeps the size of the window.
fn settings() -> Value {
    json!({
        "capacity": CAPACITY, "batch": CAPACITY, "interval_seconds": 1, "session_seconds": 3_600, "claim_seconds": 10,
        "presence_seconds": 9, "call_seconds": 3, "check_in_seconds": 10, "polls_per_second_max": 5_000,
    })
}

async fn compare_waits(fakes: usize, honest: u32, stay: Duration) {
    let scene = Scene::start();
    let (calm, attacked) = (
        scene.create_queue(settings()).await,
        scene.create_queue(settings()).await,
    );
    let (mut calm_visits, mut attacked_visits) = join(
        calm.add_honest_visitors(honest, CAPACITY, stay),
        attacked.add_honest_visitors(honest, CAPACITY, stay),
    )
    .await;
    attacked.add_fakes(fakes).await;
    let wait = async |queue: &Queue<'_>| queue.wait_for_turn(queue.new_visitor(false)).await;
    let with = async {
        // Far more than a tenth longer: without the rules of presence it would be hours.
        let with = timeout(WAIT_BOUND, wait(&attacked)).await;
        with.unwrap_or_else(|_| panic!("no turn behind {fakes} fakes within {WAIT_BOUND:?}"))
    };
    let (without, with) = join(wait(&calm), with).await;
    for visits in [&mut calm_visits, &mut attacked_visits] {
        while let Some(ended) = visits.try_join_next() {
            ended.expect("every honest visitor has a turn");
        }
    }
    println!("without fakes: {without:?}, behind {fakes} fakes: {with:?}");
    assert!(
        without.position > 10 && with.position > fakes as u64,
        "the visitors were not in line behind the others: {without:?}, {with:?}"
    );
    assert!(
        with.wait <= without.wait.mul_f64(1.1),
        "{:?} instead of {:?}",
        with.wait,
        without.wait
    );
}
