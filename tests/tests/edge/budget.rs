//! How many polls a deployment holds, whatever process holds them.

use std::{pin::pin, sync::atomic::Ordering, time::Duration};

use axum::Router;
use futures_util::future::{Either, select};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use vestibule_api::config::ApiConfig;
use vestibule_line::{HoldBudget, HoldOrder, HoldOutcome};
use vestibule_tests::{
    edge::{Answer, Ask, BOUND, EdgeUnderTest, QUEUE, entry, event, local, send_to},
    lines::visitor,
    waiting::{poll_until, wait_until},
};

use crate::{Guest, enters, stranger};

/// One gets in each second, and nobody before the first promotion.
fn brisk() -> Value {
    json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 5 })
}

/// An edge of a deployment that may hold so many polls; the only place is taken.
async fn edge_that_holds(held_budget: u32, settings: Value) -> (EdgeUnderTest, ApiConfig) {
    let config = ApiConfig {
        held_polls_max: held_budget,
        ..local()
    };
    let edge = EdgeUnderTest::with(config.clone(), settings).await;
    let (_, first) = enters(&edge).await;
    assert_eq!(first.text("state"), "active");
    (edge, config)
}

fn poll(guest: &Guest) -> Ask {
    Ask::get(format!("{}?wait=20", entry(&guest.token)))
}

/// How many polls the line counts.
async fn counted(edge: &EdgeUnderTest, config: &ApiConfig) -> u64 {
    let one_more = HoldOrder {
        deployment: &config.deployment,
        id: visitor(1),
        below: u64::MAX,
        lease_ms: 1_000,
    };
    let Ok(HoldOutcome::Counted { held }) = edge.line.take_hold(&one_more).await else {
        panic!("one more is counted");
    };
    edge.line
        .release_holds(&config.deployment, &[visitor(1)])
        .await
        .expect("released");
    held - 1
}

async fn until_counted(edge: &EdgeUnderTest, config: &ApiConfig, polls: u64) {
    poll_until(BOUND, async || counted(edge, config).await, |held| *held == polls).await;
}

async fn is_answered_at_once(routes: &Router, guest: &Guest) {
    let answer = timeout(Duration::from_secs(1), send_to(routes, poll(guest))).await;
    let answer = answer.expect("answered at once");
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert!(answer.number("retry_after_ms") >= 2_000);
}

/// Sends a poll that is held until something happens.
async fn is_held_until<F: Future<Output = ()>>(
    (edge, config): (&EdgeUnderTest, &ApiConfig),
    routes: &Router,
    guest: &Guest,
    happens: F,
) -> Answer {
    let mut answer = pin!(send_to(routes, poll(guest)));
    let before = counted(edge, config).await;
    let held = pin!(until_counted(edge, config, before + 1));
    let Either::Right(_) = select(&mut answer, held).await else {
        panic!("answered before anything happened");
    };
    happens.await;
    answer.await
}

#[tokio::test]
async fn the_polls_of_all_processes_are_counted_together() {
    let (edge, config) = edge_that_holds(1, brisk()).await;
    let other = edge.beside(config.clone());
    let (first, _) = enters(&edge).await;
    let (second, _) = enters(&edge).await;
    let answer = is_held_until((&edge, &config), &edge.router, &first, async {
        is_answered_at_once(&other, &second).await;
        is_answered_at_once(&edge.router, &second).await;
        edge.pass_seconds(5);
        edge.promote().await;
    })
    .await;
    assert_eq!(answer.is(200).text("state"), "ready");
    assert_eq!(
        counted(&edge, &config).await,
        0,
        "released before it was answered"
    );
    is_held_until((&edge, &config), &other, &second, async { edge.stop() }).await;
    assert_eq!(counted(&edge, &config).await, 0);
}

#[tokio::test]
async fn whoever_hangs_up_is_held_no_more() {
    let (edge, config) = edge_that_holds(1, brisk()).await;
    let (guest, _) = enters(&edge).await;
    {
        let hung_up = pin!(send_to(&edge.router, poll(&guest)));
        let held = pin!(until_counted(&edge, &config, 1));
        assert!(matches!(select(hung_up, held).await, Either::Right(_)));
    }
    until_counted(&edge, &config, 0).await;
    is_held_until((&edge, &config), &edge.router, &guest, async { edge.stop() }).await;
}

#[tokio::test]
async fn whoever_hangs_up_while_they_are_counted_is_held_no_more() {
    let (edge, config) = edge_that_holds(1, brisk()).await;
    let (guest, _) = enters(&edge).await;
    edge.switch.slow_holds(Duration::from_millis(300));
    let hung_up = timeout(Duration::from_millis(100), send_to(&edge.router, poll(&guest))).await;
    assert!(hung_up.is_err());
    sleep(Duration::from_millis(300)).await;
    until_counted(&edge, &config, 0).await;
}

/// However a hold ends: nothing of a function runs after its answer.
#[tokio::test]
async fn who_is_answered_was_counted_out() {
    let (edge, config) = edge_that_holds(10, brisk()).await;
    let (guest, _) = enters(&edge).await;
    edge.switch.slow_releases(Duration::from_millis(300));
    let at_its_end = Ask::get(format!("{}?wait=1", entry(&guest.token)));
    edge.send(at_its_end).await.is(200);
    assert_eq!(counted(&edge, &config).await, 0, "at its end");

    let watched = (&edge, &config);
    let leave = async {
        let leave = Ask::delete(entry(&guest.token)).visitor(&guest.id);
        edge.send(leave).await.is(204);
    };
    let answer = is_held_until(watched, &edge.router, &guest, leave).await;
    answer.is_problem(410, "left");
    assert_eq!(counted(&edge, &config).await, 0, "by who left");

    let (guest, _) = enters(&edge).await;
    let promote = async {
        edge.pass_seconds(5);
        edge.promote().await;
    };
    let answer = is_held_until(watched, &edge.router, &guest, promote).await;
    assert_eq!(answer.is(200).text("state"), "ready");
    assert_eq!(counted(&edge, &config).await, 0, "by a turn");

    let (guest, _) = enters(&edge).await;
    let answer = is_held_until(watched, &edge.router, &guest, async { edge.stop() }).await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(counted(&edge, &config).await, 0, "by a shut-down");
}

#[tokio::test]
async fn whoever_hangs_up_while_they_are_counted_out_is_held_no_more() {
    let (edge, config) = edge_that_holds(1, brisk()).await;
    let (guest, _) = enters(&edge).await;
    edge.switch.slow_releases(Duration::from_millis(300));
    let releases = || edge.switch.releases.load(Ordering::SeqCst);
    {
        let hung_up = pin!(send_to(&edge.router, poll(&guest)));
        let turn = pin!(async {
            until_counted(&edge, &config, 1).await;
            edge.pass_seconds(5);
            edge.promote().await;
            wait_until(BOUND, "it is being counted out", async || releases() > 0).await;
        });
        assert!(matches!(select(hung_up, turn).await, Either::Right(_)));
    }
    until_counted(&edge, &config, 0).await;
}

#[tokio::test]
async fn one_poll_of_an_entry_is_held() {
    let (edge, config) = edge_that_holds(10, brisk()).await;
    let (guest, _) = enters(&edge).await;
    is_held_until((&edge, &config), &edge.router, &guest, async {
        is_answered_at_once(&edge.router, &guest).await;
        assert_eq!(counted(&edge, &config).await, 1, "the first one still is");
        edge.stop();
    })
    .await;
}

#[tokio::test]
async fn where_nobody_counts_nobody_is_held() {
    let (edge, config) = edge_that_holds(10, brisk()).await;
    let (guest, _) = enters(&edge).await;
    edge.switch.count_no_holds();
    is_answered_at_once(&edge.router, &guest).await;
    assert_eq!(counted(&edge, &config).await, 0);
    let (none, _) = edge_that_holds(0, brisk()).await;
    let (guest, _) = enters(&none).await;
    is_answered_at_once(&none.router, &guest).await;
}

#[tokio::test]
async fn counting_takes_nothing_from_the_time_to_answer() {
    let (edge, config) = edge_that_holds(10, brisk()).await;
    let (guest, _) = enters(&edge).await;
    edge.switch.slow_holds(Duration::from_millis(600));
    let resource = "/queues/{queue}/entries/{token}";
    let mut look = event("GET", resource, &json!({ "queue": QUEUE, "token": guest.token }));
    look["multiValueQueryStringParameters"] = json!({ "wait": ["20"] });
    for limit_ms in [2_500, 1_800] {
        let since = Instant::now();
        let answer = edge
            .send_event_within(&look, Duration::from_millis(limit_ms))
            .await;
        assert_eq!(answer.is(200).text("state"), "waiting");
        // What is left by then was left for a look and for the answer: the line took none of it.
        let took = since.elapsed();
        assert!(took < Duration::from_millis(limit_ms - 800), "{took:?}");
        assert_eq!(counted(&edge, &config).await, 0);
    }
}

/// Two queues share a budget that is not enough for both: the head of each is held, whichever line came first.
#[tokio::test]
async fn the_tail_of_one_line_leaves_room_for_the_head_of_another() {
    let (edge, config) = edge_that_holds(20, brisk()).await;
    let another = "TIMEDEAL:124";
    edge.create(another, brisk()).await;
    let mut tail = Vec::new();
    for _ in 0..20 {
        tail.push(enters(&edge).await.0);
    }
    let enter = async || {
        let answer = edge
            .send(Ask::post(format!("/queues/{another}/entries")).visitor(&stranger()))
            .await;
        answer.is(201).text("token").to_owned()
    };
    enter().await;
    let head = enter().await;
    let polls: Vec<_> = tail
        .iter()
        .map(|guest| tokio::spawn(send_at(edge.router.clone(), poll(guest))))
        .collect();
    wait_until(BOUND, "the last one is answered at once", async || {
        polls.iter().filter(|poll| poll.is_finished()).count() == 1
    })
    .await;
    until_counted(&edge, &config, 19).await;
    let ask = Ask::get(format!("/queues/{another}/entries/{head}?wait=20"));
    let head = tokio::spawn(send_at(edge.router.clone(), ask));
    until_counted(&edge, &config, 20).await;
    assert!(!head.is_finished());
    edge.stop();
    for poll in polls {
        poll.await.expect("answered").is(200);
    }
    assert_eq!(head.await.expect("answered").is(200).number("position"), 1);
    assert_eq!(counted(&edge, &config).await, 0);
}

async fn send_at(routes: Router, ask: Ask) -> Answer {
    send_to(&routes, ask).await
}
