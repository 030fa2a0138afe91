//! A disk that is full for a while.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::{runner::Runner, waiting::wait_until};

use crate::{QUEUE, start_runner, temporary_folder};

const BOUND: Duration = Duration::from_mins(1);
/// So many visitors need more space than the file has.
const VISITORS_MAX: usize = 20_000;
/// A crowd that enters while the disk is full. The log has one line a second for all of them.
const CROWD: usize = 300;

async fn stats(runner: &Runner) -> Value {
    runner.run_command(json!({ "op": "stats", "queue": QUEUE })).await
}

#[tokio::test]
async fn places_given_while_the_disk_is_full_are_stored_once_it_has_space() {
    let dir = temporary_folder();
    let runner =
        Runner::start_for_full_disk(dir.path(), &["--demo-visitors", "0"]).expect("the runner starts");
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3600, "session_seconds": 3600 });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let store = std::fs::metadata(dir.path().join("backup.redb")).expect("the store exists");
    runner.limit_files(Some(store.len()));
    let began = Instant::now();
    let mut tokens = Vec::new();
    let mut not_durable = 0;
    while not_durable < 20 {
        assert!(tokens.len() < VISITORS_MAX, "the disk is never full");
        let entry = runner.enter(QUEUE, &Uuid::new_v4().to_string()).await;
        tokens.push(entry["token"].as_str().expect("a token").to_owned());
        not_durable += usize::from(entry["durable"] == json!(false));
    }

    let crowd = (0..CROWD).map(async |_| runner.enter(QUEUE, &Uuid::new_v4().to_string()).await);
    join_all(crowd).await;
    let full_seconds = began.elapsed().as_secs();

    runner.limit_files(None);
    wait_until(BOUND, "places are stored again", async || {
        let entry = runner.enter(QUEUE, &Uuid::new_v4().to_string()).await;
        entry["durable"] == json!(true)
    })
    .await;
    wait_until(BOUND, "the journal is written", async || {
        stats(&runner).await["journal"] == json!(0)
    })
    .await;

    // Nothing is lost with the process.
    let log = runner.stop("KILL", BOUND).await;
    let told = log.lines().filter(|line| line.contains("entry.")).count() as u64;
    assert!(told <= full_seconds + 2, "{told} lines in {full_seconds} s");
    let runner = start_runner(&dir);
    for token in tokens {
        let status = runner.entry_status(QUEUE, &token).await.expect("answered");
        assert_eq!(status["token"], json!(token), "{status}");
    }
}
