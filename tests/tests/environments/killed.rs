//! An environment of `status` that is killed while it holds a poll.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::id::EntryId;
use vestibule_line::QueueView;
use vestibule_tests::{
    edge::Ask,
    functions::{Choices, redis_url},
    waiting::wait_until,
};

use crate::{BOUND, Guest, Stage};

/// A line that moves fast enough for its head to be held, and has no room.
async fn full_stage(choices: Choices) -> (Stage, Guest) {
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 1 });
    let stage = Stage::open(choices, settings).await;
    let (_, entered) = stage.enters().await;
    assert_eq!(entered.text("state"), "active");
    let (guest, _) = stage.enters().await;
    (stage, guest)
}

/// Everything that stands in Redis of a queue.
async fn left_in_redis(stage: &Stage) -> Vec<(String, Vec<u8>)> {
    let client = redis::Client::open(redis_url()).expect("an address");
    let mut connection = client
        .get_multiplexed_async_connection()
        .await
        .expect("Redis answers");
    let mut keys: Vec<String> = redis::cmd("KEYS")
        .arg(format!("vestibule:{{{}}}:*", stage.queue))
        .query_async(&mut connection)
        .await
        .expect("keys");
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

/// The entries whose polls the deployment counts as held.
async fn counted(stage: &Stage) -> Vec<String> {
    let client = redis::Client::open(redis_url()).expect("an address");
    let mut connection = client
        .get_multiplexed_async_connection()
        .await
        .expect("Redis answers");
    redis::cmd("ZRANGE")
        .arg(format!("vestibule:holds:{}", stage.deployment.name))
        .arg(0)
        .arg(-1)
        .query_async(&mut connection)
        .await
        .expect("the polls that are held")
}

/// Until the function says that it holds a poll.
async fn is_held(stage: &Stage) {
    wait_until(BOUND, "the poll is held", async || {
        stage.deployment.lambda.logged("status", "\"HeldPolls\":1")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_leaves_nothing_behind_when_its_time_is_over() {
    let choices = Choices {
        status_timeout: Duration::from_secs(6),
        ..Choices::default()
    };
    let (stage, guest) = full_stage(choices).await;
    let before = left_in_redis(&stage).await;
    let view: QueueView = stage.view().await;

    let held = stage.send(Ask::get(stage.of(&guest, "?wait=20")).visitor(&guest.id));
    let stop = async {
        is_held(&stage).await;
        // It would answer before its time is over. A process that is not scheduled any more cannot.
        stage.deployment.lambda.signal("status", "STOP");
    };
    let (answer, ()) = futures_util::future::join(held, stop).await;
    answer.is_problem(500, "internal");
    assert_eq!(stage.deployment.lambda.busy("status"), 0);

    assert_eq!(left_in_redis(&stage).await, before, "the line is as it was");
    assert_eq!(stage.view().await.version, view.version);
    let again = stage.looks(&guest).await;
    assert_eq!(
        (again.is(200).text("state"), again.number("position")),
        ("waiting", 1)
    );
    assert_eq!(
        stage.deployment.lambda.started("status"),
        2,
        "in another environment"
    );
}

/// What a function is told of its time it keeps: a poll that may be held for longer is answered before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_is_answered_before_the_function_is_stopped() {
    let choices = Choices {
        status_timeout: Duration::from_secs(4),
        ..Choices::default()
    };
    let (stage, guest) = full_stage(choices).await;
    let answer = stage
        .send(Ask::get(stage.of(&guest, "?wait=20")).visitor(&guest.id))
        .await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(stage.deployment.lambda.started("status"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_poll_too_many_is_refused_by_the_gateway_and_harms_nobody() {
    let choices = Choices {
        environments_max: 1,
        ..Choices::default()
    };
    let (stage, guest) = full_stage(choices).await;
    let held = stage.send(Ask::get(stage.of(&guest, "?wait=3")).visitor(&guest.id));
    let one_more = async {
        is_held(&stage).await;
        stage.looks(&guest).await
    };
    let (held, one_more) = futures_util::future::join(held, one_more).await;
    assert_eq!(held.is(200).text("state"), "waiting");
    let refused = one_more.is_problem(503, "function-unavailable");
    assert!(refused.header("retry-after").parse::<u64>().expect("seconds") >= 1);
}

/// What it held is held for others when its lease is over, and not before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_environment_held_is_free_again_in_a_moment() {
    let choices = Choices {
        status_timeout: Duration::from_secs(4),
        held_budget: Some(1),
        ..Choices::default()
    };
    let (stage, guest) = full_stage(choices).await;
    let (next, _) = stage.enters().await;
    let member = |guest: &Guest| vec![guest.token.parse::<EntryId>().expect("a token").to_member()];

    let held = stage.send(Ask::get(stage.of(&guest, "?wait=20")).visitor(&guest.id));
    let kill = async {
        wait_until(BOUND, "the poll is counted", async || {
            counted(&stage).await == member(&guest)
        })
        .await;
        assert_eq!(stage.deployment.lambda.kill("status"), 1);
    };
    let (answer, ()) = futures_util::future::join(held, kill).await;
    answer.is_problem(500, "internal");
    assert_eq!(
        counted(&stage).await,
        member(&guest),
        "nobody said that it is over"
    );

    // The budget is for the one whose turn is next.
    stage
        .send(Ask::delete(stage.of(&guest, "")).visitor(&guest.id))
        .await
        .is(204);
    wait_until(BOUND, "the next one is held", async || {
        let poll = stage.send(Ask::get(stage.of(&next, "?wait=2")).visitor(&next.id));
        let seen = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            counted(&stage).await
        };
        let (answer, seen) = futures_util::future::join(poll, seen).await;
        assert_eq!(answer.is(200).text("state"), "waiting");
        seen == member(&next)
    })
    .await;
    assert!(
        counted(&stage).await.is_empty(),
        "released before it was answered"
    );
}
