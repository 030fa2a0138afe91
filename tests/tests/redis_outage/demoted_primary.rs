//! A planned failover of a server and its replica. The address then leads to the new primary, and the old one
//! stays up: it keeps its connections and answers reads, but refuses writes.

use std::time::Duration;

use futures_util::future::join_all;
use redis::RedisResult;
use serde_json::json;
use tokio::time::{Instant, timeout};
use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
};
use vestibule_line::{Arrival, EntryLookup, LeaveReason, Line, LineError};
use vestibule_tests::{
    entries::fresh_id,
    in_process::{ApiRequest, ApiResponse, BOUND, send_to},
    lines::tick_order,
    waiting::poll_until,
};

use crate::{
    held_polls::{promote_each_second, wait_for_subscribers},
    pair::{Member, Pair},
    process::{Process, create},
};

/// The calls that may fail before one reaches the new primary.
const CALLS_MAX: usize = 2;
/// The shortest pause between two connections of a process to a demoted server, in milliseconds.
const RECONNECT_PAUSE_MIN_MS: u128 = 500;

/// A subscription that is silent for some seconds tests its server. This is less.
const SUBSCRIPTION_IDLE: Duration = Duration::from_secs(4);

/// A queue with one active and two waiting visitors.
struct Visitors {
    queue: QueueId,
    first: EntryId,
    second: EntryId,
}

impl Visitors {
    async fn enter(line: &Line, url: &str) -> Self {
        let queue = create(url).await;
        let ids = [fresh_id(), fresh_id(), fresh_id()];
        for id in ids {
            line.enter(&queue, id, Arrival::Ordinary).await.expect("entered");
        }
        let [_, first, second] = ids;
        let visitors = Self { queue, first, second };
        assert_eq!(visitors.second_position(line).await, 2);
        visitors
    }

    async fn first_leaves(&self, line: &Line) {
        let left = line
            .leave(&self.queue, self.first, None, LeaveReason::Leave)
            .await;
        left.expect("left");
    }

    async fn second_position(&self, line: &Line) -> u64 {
        match line.status(&self.queue, self.second).await {
            Ok(EntryLookup::Found(EntryStatus::Waiting { position, .. })) => position,
            other => panic!("not waiting: {other:?}"),
        }
    }
}

#[tokio::test]
async fn the_next_call_after_a_planned_failover_enters() {
    let mut pair = Pair::start().await;
    let line = Line::connect(&pair.url()).await.expect("it answers");
    let queue = create(&pair.url()).await;
    line.enter(&queue, fresh_id(), Arrival::Ordinary)
        .await
        .expect("entered");

    pair.promote_replica().await;
    pair.move_address();
    pair.primary.replicate(pair.replica.server.address()).await;
    let mut errors = Vec::new();
    while let Err(error) = line.enter(&queue, fresh_id(), Arrival::Ordinary).await {
        errors.push(error);
        assert!(errors.len() < CALLS_MAX, "{errors:?}");
    }
}

#[tokio::test]
async fn many_calls_reach_the_new_primary_by_one_connection() {
    let mut pair = Pair::start().await;
    let line = Line::connect(&pair.url()).await.expect("it answers");
    let queue = create(&pair.url()).await;
    pair.fail_over().await;
    let before = pair.replica.connections_received().await;
    let calls = (0..100).map(|_| line.enter(&queue, fresh_id(), Arrival::Ordinary));
    let answers = join_all(calls).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(pair.replica.connections_received().await - before, 1);
    // The old primary keeps the test's own connection alone.
    let clients = async || pair.primary.info("connected_clients").await;
    poll_until(BOUND, clients, |clients| clients == "1").await;
}

#[tokio::test]
async fn a_process_that_only_reads_leaves_a_stale_primary() {
    let mut pair = Pair::start().await;
    let url = pair.url();
    let reader = Line::connect(&url).await.expect("it answers");
    let visitors = Visitors::enter(&Line::connect(&url).await.expect("it answers"), &url).await;
    assert_eq!(visitors.second_position(&reader).await, 2);

    pair.fail_over().await;
    visitors.first_leaves(&pair.replica.connect_line().await).await;
    let begun = Instant::now();
    let position = async || visitors.second_position(&reader).await;
    poll_until(BOUND, position, |&position| position == 1).await;
    println!("the reader left the old primary after {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_held_poll_follows_to_the_new_primary() {
    let mut pair = Pair::start().await;
    let queue = create(&pair.url()).await;
    let first = Process::start(&pair.url(), &queue).await;
    let active = first.enter_and_expect_created().await;
    promote_each_second(&pair.primary.connect_line().await, &queue).await;
    // This process has no snapshot with the earlier settings.
    let process = Process::start(&pair.url(), &queue).await;
    let waiting = process.enter_and_expect_created().await;
    let (routes, poll) = (process.routes.clone(), waiting.guest.held_poll(20));
    let held = tokio::spawn(async move { send_to(&routes, poll).await });
    wait_for_subscribers(&pair.primary.server, &queue, 1).await;

    pair.fail_over().await;
    wait_for_subscribers(&pair.replica.server, &queue, 1).await;
    wait_for_subscribers(&pair.primary.server, &queue, 0).await;
    let done = active.guest.of_service("complete", &json!({}));
    process.send(done).await.0.expect_status(204);
    let line = pair.replica.connect_line().await;
    let promote = async || line.promote(&queue, tick_order(1)).await.expect("promotes");
    poll_until(BOUND, promote, |_| held.is_finished()).await;
    let answer = held.await.expect("the poll is answered");
    assert_eq!(answer.expect_status(200).text("state"), "ready");
    assert_eq!(answer.body["degraded"], false, "{answer:?}");
}

#[tokio::test]
async fn a_call_that_leaves_a_server_ends_its_subscriptions() {
    let mut pair = Pair::start().await;
    let line = Line::connect(&pair.url()).await.expect("it answers");
    let queue = create(&pair.url()).await;
    let mut subscription = line.subscribe(&queue).await.expect("subscribed");

    pair.fail_over().await;
    line.enter(&queue, fresh_id(), Arrival::Ordinary)
        .await
        .expect("entered");
    let ended = timeout(SUBSCRIPTION_IDLE, subscription.next()).await;
    assert!(matches!(ended, Ok(None)), "{ended:?}");
    let _subscription = line.subscribe(&queue).await.expect("subscribed");
    wait_for_subscribers(&pair.replica.server, &queue, 1).await;
}

#[tokio::test]
async fn an_idle_subscription_ends_on_a_demoted_server() {
    let mut pair = Pair::start().await;
    let line = Line::connect(&pair.url()).await.expect("it answers");
    let queue = create(&pair.url()).await;
    let mut subscription = line.subscribe(&queue).await.expect("subscribed");

    pair.demote_primary().await;
    let ended = timeout(BOUND, subscription.next()).await;
    assert!(matches!(ended, Ok(None)), "{ended:?}");
}

#[tokio::test]
async fn a_read_leaves_a_server_that_answers_masterdown() {
    let mut pair = Pair::start().await;
    let url = pair.url();
    let reader = Line::connect(&url).await.expect("it answers");
    let visitors = Visitors::enter(&reader, &url).await;

    pair.primary
        .query::<()>(&["CONFIG", "SET", "replica-serve-stale-data", "no"])
        .await;
    pair.fail_over().await;
    assert_eq!(visitors.second_position(&reader).await, 2);
    visitors.first_leaves(&reader).await;
    assert_eq!(
        visitors.second_position(&pair.replica.connect_line().await).await,
        1
    );
}

#[tokio::test]
async fn a_read_leaves_a_server_that_answers_loading() {
    let mut pair = Pair::start().await;
    let url = pair.url();
    let reader = Line::connect(&url).await.expect("it answers");
    let visitors = Visitors::enter(&reader, &url).await;
    // The old primary takes the data of another server, which takes some ten seconds to load.
    let mut other = Member::start().await;
    let fill = "for key = 1, 10000 do redis.call('SET', key, string.rep('x', 100)) end";
    other.query::<()>(&["EVAL", fill, "0"]).await;
    for (name, value) in [
        ("key-load-delay", "1000"),
        ("loading-process-events-interval-bytes", "1024"),
    ] {
        pair.primary.query::<()>(&["CONFIG", "SET", name, value]).await;
    }

    pair.promote_replica().await;
    pair.move_address();
    pair.primary.replicate(other.server.address()).await;
    let ping = async || pair.primary.try_query::<String>(&["PING"]).await;
    let is_loading = |answer: &RedisResult<String>| {
        answer
            .as_ref()
            .is_err_and(|error| error.code() == Some("LOADING"))
    };
    let _ = poll_until(BOUND, ping, is_loading).await;
    assert_eq!(visitors.second_position(&reader).await, 2);
}

#[tokio::test]
async fn a_server_that_stays_demoted_gets_few_connections() {
    let mut pair = Pair::start().await;
    let url = pair.url();
    let line = Line::connect(&url).await.expect("it answers");
    let visitors = Visitors::enter(&line, &url).await;
    pair.promote_replica().await;
    pair.demote_primary().await;

    let before = pair.primary.connections_received().await;
    let begun = Instant::now();
    // From the first refused write on, no call succeeds.
    let enter = async || line.enter(&visitors.queue, fresh_id(), Arrival::Ordinary).await;
    let _ = poll_until(BOUND, enter, Result::is_err).await;
    while begun.elapsed() < Duration::from_secs(2) {
        let read = line.status(&visitors.queue, visitors.second);
        let (entered, read) = tokio::join!(enter(), read);
        assert!(matches!(entered, Err(LineError::Unavailable(_))), "{entered:?}");
        assert!(matches!(read, Err(LineError::Unavailable(_))), "{read:?}");
    }
    let connections = pair.primary.connections_received().await - before;
    let most = 1 + begun.elapsed().as_millis() / RECONNECT_PAUSE_MIN_MS;
    assert!(
        u128::from(connections) <= most,
        "{connections} connections, at most {most} expected"
    );

    pair.move_address();
    poll_until(BOUND, enter, Result::is_ok).await.expect("entered");
    assert_eq!(visitors.second_position(&line).await, 2);
}

#[tokio::test]
async fn requests_degrade_until_the_address_leads_to_a_primary() {
    let mut pair = Pair::start().await;
    let queue = create(&pair.url()).await;
    let process = Process::start(&pair.url(), &queue).await;
    let _active = process.enter_and_expect_created().await;
    let waiting = process.enter_and_expect_created().await;
    pair.promote_replica().await;
    pair.demote_primary().await;

    let is_degraded = |answer: &ApiResponse| answer.body["degraded"] == true;
    let answer = process.send_until(|| waiting.guest.status(), is_degraded).await;
    assert!(
        answer.expect_status(200).body.get("position").is_none(),
        "{answer:?}"
    );
    let enter = ApiRequest::post(format!("/queues/{queue}/entries"));
    process
        .send(enter)
        .await
        .0
        .expect_problem(503, "line-unavailable");

    pair.move_address();
    let answer = process
        .send_until(
            || waiting.guest.status(),
            |answer| answer.body["degraded"] == false,
        )
        .await;
    assert_eq!(answer.expect_status(200).number("position"), 1);
    process.enter_and_expect_created().await;
}
