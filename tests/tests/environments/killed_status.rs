//! A process of the function `status` that is killed while it holds a poll.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::id::EntryId;
use vestibule_line::OperatorView;
use vestibule_tests::{
    api::Guest,
    functions::{DeploymentConfig, redis_url},
    lines::tick_order,
    servers::connect_redis,
    waiting::wait_until,
};

use crate::{BOUND, Stage};

/// A full queue that moves fast enough for polls at its head to be held.
async fn full_stage(config: DeploymentConfig) -> (Stage, Guest) {
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 25,
        "presence_seconds": 0 });
    let stage = Stage::open(config, settings).await;
    let (_, entered) = stage.enter().await;
    assert_eq!(entered.text("state"), "active");
    let (visitor, _) = stage.enter().await;
    (stage, visitor)
}

/// Dumps all keys of the queue in Redis.
async fn dump_keys(stage: &Stage) -> Vec<(String, Vec<u8>)> {
    let (mut connection, mut keys) = stage.find_keys().await;
    keys.sort();
    let mut dumps = Vec::new();
    for key in keys {
        let dump = redis::cmd("DUMP")
            .arg(&key)
            .query_async(&mut connection)
            .await
            .expect("a dump");
        dumps.push((key, dump));
    }
    dumps
}

/// The entries whose polls Redis counts as held.
async fn read_held_entries(stage: &Stage) -> Vec<String> {
    let client = redis::Client::open(redis_url()).expect("an address");
    let mut connection = connect_redis(client).await;
    redis::cmd("ZRANGE")
        .arg(format!("vestibule:holds:{}", stage.deployment.name))
        .arg(0)
        .arg(-1)
        .query_async(&mut connection)
        .await
        .expect("the held polls")
}

/// Waits until the function reports that it holds a poll.
async fn wait_until_held(stage: &Stage) {
    wait_until(BOUND, "the poll is held", async || {
        stage.deployment.lambda.has_logged("status", "\"HeldPolls\":1")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn process_killed_at_its_timeout_changes_nothing() {
    let config = DeploymentConfig {
        status_timeout: Duration::from_secs(6),
        ..DeploymentConfig::default()
    };
    let (stage, visitor) = full_stage(config).await;
    // A heartbeat keeps the poll from running a fallback tick, which would change keys.
    let heartbeat = stage.line.promote(&stage.queue, tick_order(0)).await;
    heartbeat.expect("the queue exists");
    let before = dump_keys(&stage).await;
    let view: OperatorView = stage.view().await;

    let held = stage.send(visitor.held_poll(20));
    let stop = async {
        wait_until_held(&stage).await;
        // The function answers before its timeout. A stopped process cannot, so Lambda kills it.
        stage.deployment.lambda.signal("status", "STOP");
    };
    let (answer, ()) = futures_util::future::join(held, stop).await;
    answer.expect_problem(500, "internal");
    assert_eq!(stage.deployment.lambda.busy_count("status"), 0);

    assert_eq!(dump_keys(&stage).await, before, "the keys in Redis are unchanged");
    assert_eq!(stage.view().await.version, view.version);
    let answer_after = stage.get_status(&visitor).await;
    assert_eq!(
        (
            answer_after.expect_status(200).text("state"),
            answer_after.number("position")
        ),
        ("waiting", 1)
    );
    assert_eq!(
        stage.deployment.lambda.started_count("status"),
        2,
        "a second process answers the next request"
    );
}

/// The function knows its timeout from Lambda and answers before it, even if the client asked for a longer hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_poll_is_answered_before_the_function_times_out() {
    let config = DeploymentConfig {
        status_timeout: Duration::from_secs(4),
        ..DeploymentConfig::default()
    };
    let (stage, visitor) = full_stage(config).await;
    let answer = stage.send(visitor.held_poll(20)).await;
    assert_eq!(answer.expect_status(200).text("state"), "waiting");
    assert_eq!(stage.deployment.lambda.started_count("status"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poll_beyond_the_concurrency_limit_gets_a_503() {
    let config = DeploymentConfig {
        environments_max: 1,
        ..DeploymentConfig::default()
    };
    let (stage, visitor) = full_stage(config).await;
    let held = stage.send(visitor.held_poll(3));
    let second_poll = async {
        wait_until_held(&stage).await;
        stage.get_status(&visitor).await
    };
    let (held, second_poll) = futures_util::future::join(held, second_poll).await;
    assert_eq!(held.expect_status(200).text("state"), "waiting");
    let refused = second_poll.expect_problem(503, "function-unavailable");
    assert!(refused.header("retry-after").parse::<u64>().expect("seconds") >= 1);
}

/// The killed process cannot release its held poll, so another poll is held only after the lease has expired.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_poll_of_a_killed_process_is_freed_by_its_lease() {
    let config = DeploymentConfig {
        status_timeout: Duration::from_secs(4),
        held_polls_max: Some(1),
        ..DeploymentConfig::default()
    };
    let (stage, visitor) = full_stage(config).await;
    let (next, _) = stage.enter().await;
    let member = |visitor: &Guest| vec![visitor.token.parse::<EntryId>().expect("a token").to_member()];

    let held = stage.send(visitor.held_poll(20));
    let kill = async {
        wait_until(BOUND, "the poll is counted", async || {
            read_held_entries(&stage).await == member(&visitor)
        })
        .await;
        assert_eq!(stage.deployment.lambda.kill("status"), 1);
    };
    let (answer, ()) = futures_util::future::join(held, kill).await;
    answer.expect_problem(500, "internal");
    assert_eq!(
        read_held_entries(&stage).await,
        member(&visitor),
        "the killed process did not release the poll"
    );

    // The first visitor leaves, so the next visitor is at the head of the line and may be held.
    stage.send(visitor.leave()).await.expect_status(204);
    wait_until(BOUND, "the next visitor's poll is held", async || {
        let poll = stage.send(next.held_poll(2));
        let held_entries = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            read_held_entries(&stage).await
        };
        let (answer, held_entries) = futures_util::future::join(poll, held_entries).await;
        assert_eq!(answer.expect_status(200).text("state"), "waiting");
        held_entries == member(&next)
    })
    .await;
    assert!(
        read_held_entries(&stage).await.is_empty(),
        "the poll is released before its answer"
    );
}
