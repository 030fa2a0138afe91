//! Polls that are held while Redis dies, and after it came back.

use serde_json::json;
use vestibule_domain::id::QueueId;
use vestibule_line::Line;
use vestibule_line_redis::RedisLine;
use vestibule_tests::{
    edge::{Ask, BOUND, configuration, send_to},
    lines::tick_order,
    servers,
    waiting::poll_until,
};

use crate::{
    goes_on,
    process::{Process, Visitor, create, settings},
    server::Server,
};

/// Waits until a process listens to the queue.
async fn until_heard(server: &Server, queue: &QueueId) {
    let address = format!("redis://127.0.0.1:{}", server.port);
    let client = redis::Client::open(address).expect("an address");
    let mut link = servers::connect_redis(client).await;
    let mut ask = redis::cmd("PUBSUB");
    ask.arg("SHARDNUMSUB")
        .arg(format!("vestibule:{{{queue}}}:changes"));
    let listeners = async || {
        let (_, listeners): (String, u64) = ask.query_async(&mut link).await.expect("it answers");
        listeners
    };
    poll_until(BOUND, listeners, |listeners| *listeners == 1).await;
}

/// Whoever is held hears that the line is away, and whoever is held when it is back hears of the turn.
async fn holds_again(is_cluster: bool) {
    let mut server = Server::start(is_cluster);
    if is_cluster {
        server.assign_slots().await;
    }
    let queue = create(&server.url()).await;
    let line = RedisLine::connect(&server.url()).await.expect("it answers");
    let mut brisk = settings();
    brisk.insert("interval_seconds".to_owned(), json!(1));
    let changed = line.configure(&queue, &configuration(&brisk, "2"), false).await;
    changed.expect("there is the queue");
    let process = Process::over(&server.url(), &queue).await;
    let (inside, waiting) = (process.enters().await, process.enters().await);
    // What died with the line is held for as long as its lease: another one is, after that.
    let behind = process.enters().await;
    let hold = |visitor: &Visitor| {
        let (routes, ask) = (
            process.routes.clone(),
            Ask::get(format!("{}?wait=20", visitor.at)),
        );
        tokio::spawn(async move { send_to(&routes, ask).await })
    };

    let held = hold(&behind);
    until_heard(&server, &queue).await;
    server.kill();
    let answer = held.await.expect("it is answered");
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(answer.body["degraded"], true);

    server.restart();
    goes_on(&process, &inside, &waiting).await;
    let held = hold(&waiting);
    until_heard(&server, &queue).await;
    let done = Ask::post(format!("{}/complete", inside.at));
    process.send(done).await.0.is(204);
    // Its link is the old one at first.
    let promote = async || line.promote(&queue, tick_order(1)).await;
    let promotion = poll_until(BOUND, promote, Result::is_ok).await.expect("promotes");
    assert_eq!(promotion.promoted, 1, "{promotion:?}");
    let answer = held.await.expect("it is answered");
    assert_eq!(answer.is(200).text("state"), "ready");
    // The table has not heard of it yet: the message said so.
    assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
}

#[tokio::test]
async fn a_hold_outlives_no_redis_and_the_next_one_is_told_again() {
    holds_again(false).await;
}

#[tokio::test]
async fn a_hold_outlives_no_cluster_and_the_next_one_is_told_again() {
    holds_again(true).await;
}
