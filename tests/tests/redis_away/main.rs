//! A Redis that stops, dies and comes back under a process that goes on: what visitors and the protected service notice.
//! Behind it is the `DynamoDB` emulator.

mod holds;
mod process;
mod server;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use vestibule_tests::edge::Ask;

use self::{
    process::{Process, Visitor, create, look},
    server::Server,
};

/// What everybody notices while the line is away.
async fn is_degraded(process: &Process, inside: &Visitor, waiting: &Visitor) {
    let mut slowest = Duration::ZERO;
    let mut ask = async |ask: Ask| {
        let (answer, took) = process.send(ask).await;
        slowest = slowest.max(took);
        answer
    };
    for _ in 0..2 {
        let answer = ask(look(waiting)).await;
        assert_eq!(answer.is(200).text("state"), "waiting");
        assert_eq!(answer.body["degraded"], true);
        assert!(answer.body.get("position").is_none(), "{answer:?}");
        let answer = ask(look(inside)).await;
        assert_eq!(answer.is(200).body["degraded"], true);
        let question = json!({ "pass": answer.text("pass") });
        let answer = ask(Ask::post(format!("{}/validate", inside.at)).json(&question)).await;
        assert_eq!(answer.is(200).body["degraded"], true);
        for change in [
            Ask::post(format!("/queues/{}/entries", process.queue)),
            Ask::post(format!("{}/claim", waiting.at)).visitor(&waiting.id),
            Ask::post(format!("{}/complete", waiting.at)),
            Ask::post(format!("{}/extend", waiting.at))
                .visitor(&waiting.id)
                .json(&json!({ "seconds": 60 })),
        ] {
            let answer = ask(change).await;
            answer.is_problem(503, "line-unavailable").header("retry-after");
        }
    }
    let crowd = join_all((0..100).map(|_| process.send(look(waiting)))).await;
    let slowest_of_crowd = crowd.iter().map(|(_, took)| *took).max();
    println!("slowest call {slowest:?}, of a hundred at once {slowest_of_crowd:?}");
    let (answered, others): (Vec<_>, Vec<_>) = crowd.iter().partition(|(answer, _)| answer.status == 200);
    // The emulator may be too slow for all of them: those are told to come again.
    for (answer, _) in &others {
        answer.is_problem(503, "line-unavailable").header("retry-after");
    }
    println!("{} of them hear where they stand", answered.len());
    assert!(answered.len() > others.len());
}

async fn goes_on(process: &Process, inside: &Visitor, waiting: &Visitor) {
    let answer = process
        .in_time(|| look(waiting), |answer| answer.body["degraded"] == false)
        .await;
    assert_eq!(answer.is(200).number("position"), 1, "nobody lost a place");
    let (answer, _) = process.send(look(inside)).await;
    assert_eq!(
        answer.is(200).number("expires_at_ms"),
        inside.entered.number("expires_at_ms")
    );
    let question = json!({ "visitor": inside.id });
    let (answer, _) = process
        .send(Ask::post(format!("{}/validate", inside.at)).json(&question))
        .await;
    assert!(answer.is(200).body.get("degraded").is_none(), "{answer:?}");
}

async fn survives(is_cluster: bool) {
    let mut server = Server::start(is_cluster);
    if is_cluster {
        server.assign_slots().await;
    }
    let queue = create(&server.url()).await;
    let process = Process::over(&server.url(), &queue).await;
    let (inside, waiting) = (process.enters().await, process.enters().await);
    assert_eq!(inside.entered.text("state"), "active");

    server.freeze();
    is_degraded(&process, &inside, &waiting).await;
    server.thaw();
    goes_on(&process, &inside, &waiting).await;

    server.kill();
    is_degraded(&process, &inside, &waiting).await;
    // A process that starts meanwhile has never seen the line.
    let late = Process::over(&server.url(), &queue).await;
    is_degraded(&late, &inside, &waiting).await;
    server.restart();
    goes_on(&process, &inside, &waiting).await;
    goes_on(&late, &inside, &waiting).await;
}

#[tokio::test]
async fn a_redis_that_stops_and_dies_is_missed_and_used_again() {
    survives(false).await;
}

#[tokio::test]
async fn a_cluster_that_stops_and_dies_is_missed_and_used_again() {
    survives(true).await;
}
