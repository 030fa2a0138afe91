//! A Redis that freezes, dies and returns while a process keeps running: what visitors and the protected
//! service notice. The backup is the `DynamoDB` emulator.

mod cut_connection;
mod demoted_primary;
mod held_polls;
mod left_server;
mod pair;
mod process;
mod server;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use vestibule_tests::in_process::ApiRequest;

use self::{
    process::{Process, Visitor, create},
    server::Server,
};

/// The answers while the line is unavailable.
async fn expect_degraded_answers(process: &Process, active: &Visitor, waiting: &Visitor) {
    let mut slowest = Duration::ZERO;
    let mut ask = async |ask: ApiRequest| {
        let (answer, took) = process.send(ask).await;
        slowest = slowest.max(took);
        answer
    };
    for _ in 0..2 {
        let answer = ask(waiting.guest.status()).await;
        assert_eq!(answer.expect_status(200).text("state"), "waiting");
        assert_eq!(answer.body["degraded"], true);
        assert!(answer.body.get("position").is_none(), "{answer:?}");
        let answer = ask(active.guest.status()).await;
        assert_eq!(answer.expect_status(200).body["degraded"], true);
        let question = json!({ "pass": answer.text("pass") });
        let answer = ask(active.guest.of_service("validate", &question)).await;
        assert_eq!(answer.expect_status(200).body["degraded"], true);
        for change in [
            ApiRequest::post(format!("/queues/{}/entries", process.queue)),
            waiting.guest.claim(),
            waiting.guest.of_service("complete", &json!({})),
            waiting.guest.extend(&json!({ "seconds": 60 })),
        ] {
            let answer = ask(change).await;
            answer
                .expect_problem(503, "line-unavailable")
                .header("retry-after");
        }
    }
    let simultaneous = join_all((0..100).map(|_| process.send(waiting.guest.status()))).await;
    let slowest_simultaneous = simultaneous.iter().map(|(_, took)| *took).max();
    println!("slowest call {slowest:?}, of a hundred at once {slowest_simultaneous:?}");
    let (answered, others): (Vec<_>, Vec<_>) =
        simultaneous.iter().partition(|(answer, _)| answer.status == 200);
    // The emulator may be too slow for all of them. The others are told to retry.
    for (answer, _) in &others {
        answer
            .expect_problem(503, "line-unavailable")
            .header("retry-after");
    }
    println!("{} of them got their status", answered.len());
    assert!(!answered.is_empty());
}

async fn expect_normal_answers(process: &Process, active: &Visitor, waiting: &Visitor) {
    let answer = process
        .send_until(
            || waiting.guest.status(),
            |answer| answer.body["degraded"] == false,
        )
        .await;
    assert_eq!(
        answer.expect_status(200).number("position"),
        1,
        "the place was not lost"
    );
    let (answer, _) = process.send(active.guest.status()).await;
    assert_eq!(
        answer.expect_status(200).number("expires_at_ms"),
        active.entered.number("expires_at_ms")
    );
    let question = json!({ "visitor": active.guest.id });
    let (answer, _) = process.send(active.guest.of_service("validate", &question)).await;
    assert!(
        answer.expect_status(200).body.get("degraded").is_none(),
        "{answer:?}"
    );
}

async fn process_survives_outage(is_cluster: bool) {
    let mut server = Server::start(is_cluster);
    if is_cluster {
        server.assign_slots().await;
    }
    let queue = create(&server.url()).await;
    let process = Process::start(&server.url(), &queue).await;
    let (active, waiting) = (
        process.enter_and_expect_created().await,
        process.enter_and_expect_created().await,
    );
    assert_eq!(active.entered.text("state"), "active");

    server.freeze();
    expect_degraded_answers(&process, &active, &waiting).await;
    server.thaw();
    expect_normal_answers(&process, &active, &waiting).await;

    server.kill();
    expect_degraded_answers(&process, &active, &waiting).await;
    // A process that starts during the outage has never reached the line.
    let late_process = Process::start(&server.url(), &queue).await;
    expect_degraded_answers(&late_process, &active, &waiting).await;
    server.restart();
    expect_normal_answers(&process, &active, &waiting).await;
    expect_normal_answers(&late_process, &active, &waiting).await;
}

#[tokio::test]
async fn a_process_survives_a_redis_that_freezes_and_dies() {
    process_survives_outage(false).await;
}

#[tokio::test]
async fn a_process_survives_a_cluster_that_freezes_and_dies() {
    process_survives_outage(true).await;
}
