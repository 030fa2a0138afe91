//! Held polls while Redis dies, and after it returns.

use serde_json::json;
use vestibule_domain::id::QueueId;
use vestibule_line::Line;
use vestibule_tests::{
    in_process::{BOUND, configuration, send_to},
    lines::tick_order,
    waiting::poll_until,
};

use crate::{
    expect_normal_answers,
    process::{Process, Visitor, create, settings},
    server::Server,
};

/// Waits until a process is subscribed to the queue.
async fn wait_until_subscribed(server: &Server, queue: &QueueId) {
    wait_for_subscribers(server, queue, 1).await;
}

/// Waits until this many processes are subscribed to the queue on this server.
pub(crate) async fn wait_for_subscribers(server: &Server, queue: &QueueId, subscribers: u64) {
    let channel = format!("vestibule:{{{queue}}}:changes");
    let mut connection = server.connect().await;
    let listeners = async || {
        let mut ask = redis::cmd("PUBSUB");
        ask.arg("SHARDNUMSUB").arg(&channel);
        let (_, listeners): (String, u64) = ask.query_async(&mut connection).await.expect("it answers");
        listeners
    };
    poll_until(BOUND, listeners, |listeners| *listeners == subscribers).await;
}

/// Lets a tick promote each second, so that the test need not wait for the pace, and lets each visitor expect the turn
/// soon, so that polls are held. The session of a visitor who is active already stays long.
pub(crate) async fn promote_each_second(line: &Line, queue: &QueueId) {
    let mut brisk = settings();
    brisk.insert("interval_seconds".to_owned(), json!(1));
    brisk.insert("session_seconds".to_owned(), json!(10));
    let changed = line.configure(queue, &configuration(&brisk, "2"), false).await;
    changed.expect("the queue exists");
}

/// A held poll is answered when the line becomes unavailable. A poll that is held after the line returned
/// learns of the turn.
async fn held_polls_survive_outage(is_cluster: bool) {
    let mut server = Server::start(is_cluster);
    if is_cluster {
        server.assign_slots().await;
    }
    let queue = create(&server.url()).await;
    let line = Line::connect(&server.url()).await.expect("it answers");
    let first = Process::start(&server.url(), &queue).await;
    let active = first.enter_and_expect_created().await;
    promote_each_second(&line, &queue).await;
    // This process has no snapshot with the earlier settings.
    let process = Process::start(&server.url(), &queue).await;
    let waiting = process.enter_and_expect_created().await;
    // The poll that was held when the line died counts until its lease ends, so the next held poll is of
    // another entry.
    let third = process.enter_and_expect_created().await;
    let hold = |visitor: &Visitor| {
        let (routes, ask) = (process.routes.clone(), visitor.guest.held_poll(20));
        tokio::spawn(async move { send_to(&routes, ask).await })
    };

    let held = hold(&third);
    wait_until_subscribed(&server, &queue).await;
    server.kill();
    let answer = held.await.expect("the poll is answered");
    assert_eq!(answer.expect_status(200).text("state"), "waiting");
    assert_eq!(answer.body["degraded"], true);

    server.restart();
    expect_normal_answers(&process, &active, &waiting).await;
    let held = hold(&waiting);
    wait_until_subscribed(&server, &queue).await;
    let done = active.guest.of_service("complete", &json!({}));
    process.send(done).await.0.expect_status(204);
    // The first connection is the one from before the outage.
    let promote = async || line.promote(&queue, tick_order(1)).await;
    let promotion = poll_until(BOUND, promote, Result::is_ok).await.expect("promotes");
    assert_eq!(promotion.promoted, 1, "{promotion:?}");
    let answer = held.await.expect("the poll is answered");
    assert_eq!(answer.expect_status(200).text("state"), "ready");
    // The table does not show the promotion yet: the message contained it.
    assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
}

#[tokio::test]
async fn held_polls_end_with_redis_and_work_after_its_return() {
    held_polls_survive_outage(false).await;
}

#[tokio::test]
async fn held_polls_end_with_a_cluster_and_work_after_its_return() {
    held_polls_survive_outage(true).await;
}
