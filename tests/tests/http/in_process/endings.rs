//! The end of a queue and of an entry, as visitors learn of it: a queue that is over, and an eviction.

use serde_json::{Value, json};
use vestibule_domain::configuration::Configuration;
use vestibule_line::{LeaveOutcome, LeaveReason, RestoredEntries};
use vestibule_tests::in_process::{ApiRequest, InProcessApi, QUEUE, configuration, entry_path, queue_id};

use super::{
    Guest, enter_and_expect_created,
    hold_wakeups::{UNHELD_MAX, hold_poll_until, poll_request},
    start_full_queue,
};

super::cases![
    a_finished_queue_tells_each_visitor_what_counts,
    the_reason_of_an_end_is_told_with_the_end,
    a_queue_ends_at_its_time_without_a_promoter,
    from_closes_at_the_document_says_draining,
    a_turn_that_the_line_lost_outlives_the_queue,
    an_evicted_visitor_is_told_so_on_every_path,
];

const MESSAGE: &str = "Sold out. Thank you!";
const MESSAGE_KOREAN: &str = "매진되었습니다. 감사합니다!";

/// Two slots, and a promotion a second. Sessions are short, so that the next turn is near and polls are held.
fn settings() -> Value {
    json!({ "capacity": 2, "batch": 1, "interval_seconds": 1, "session_seconds": 20 })
}

fn with(name: &str, value: Value) -> Value {
    let mut changed = settings();
    changed[name] = value;
    changed["message"] = json!({ "en": MESSAGE, "ko": MESSAGE_KOREAN });
    changed
}

/// One visitor is active, one is ready, and two wait.
struct Visitors {
    active: Guest,
    ready: Guest,
    waiting: [Guest; 2],
}

async fn start_with_visitors(settings: Value) -> (InProcessApi, Visitors) {
    let api = InProcessApi::start(settings).await;
    let (active, _) = enter_and_expect_created(&api).await;
    let (ready, _) = enter_and_expect_created(&api).await;
    api.advance_seconds(1);
    assert_eq!(api.promote().await.promoted, 1);
    let waiting = [
        enter_and_expect_created(&api).await.0,
        enter_and_expect_created(&api).await.0,
    ];
    let visitors = Visitors {
        active,
        ready,
        waiting,
    };
    (api, visitors)
}

fn document_request() -> ApiRequest {
    ApiRequest::get(format!("/queues/{QUEUE}"))
}

/// The visitor waited, or wants to enter, and is told of the end with the operator's message.
async fn expect_over(api: &InProcessApi, request: ApiRequest) -> Value {
    let response = api.send(request).await;
    response.expect_problem(410, "queue-finished");
    assert_message(&response.body);
    response.body
}

/// Visitors of every language are told.
fn assert_message(body: &Value) {
    assert_eq!(body["message"], MESSAGE, "{body}");
    assert_eq!(
        body["messages"],
        json!({ "en": MESSAGE, "ko": MESSAGE_KOREAN }),
        "{body}"
    );
}

async fn a_finished_queue_tells_each_visitor_what_counts() {
    let (api, visitors) = start_with_visitors(settings()).await;
    let [near, other] = &visitors.waiting;
    let (answer, after) = hold_poll_until(&api, poll_request(near), async || {
        api.configure_line(with("entrance", json!("sold_out")), "2").await;
    })
    .await;
    answer.expect_problem(410, "queue-finished");
    assert_eq!(answer.text("finish_reason"), "sold_out");
    assert_message(&answer.body);
    assert!(after < UNHELD_MAX, "{after:?}");
    // Far from the head, the document alone tells it.
    let document = api
        .send_until(document_request, |document| document.body["state"] == "finished")
        .await;
    assert_eq!(
        (document.text("entrance"), document.text("finish_reason")),
        ("finished", "sold_out")
    );
    assert_message(&document.body);
    expect_over(&api, other.status()).await;
    expect_over(&api, other.claim()).await;
    expect_over(&api, ApiRequest::enter().visitor(&other.id)).await;
    expect_over(&api, ApiRequest::enter()).await;

    // Who was let in is let in.
    let claimed = api.send(visitors.ready.claim()).await;
    assert_eq!(claimed.expect_status(200).text("state"), "active");
    let active = api.send(visitors.active.status()).await;
    assert_eq!(active.expect_status(200).text("queue_state"), "finished");
    assert_message(&active.body);
    let validate = ApiRequest::post(format!("{}/validate", entry_path(&visitors.active.token)));
    let body = json!({ "pass": active.text("pass") });
    api.send(validate.json(&body)).await.expect_status(200);
    let again = api.send(ApiRequest::enter().visitor(&visitors.active.id)).await;
    assert_eq!(again.expect_status(200).text("state"), "active");

    // The tick ends the entries: first the line knows it, and later the backup alone.
    assert_eq!(api.promote().await.dismissed, 2);
    for _ in 0..2 {
        let over = expect_over(&api, other.status()).await;
        assert_eq!(
            (&over["state"], &over["finish_reason"]),
            (&json!("dismissed"), &json!("sold_out"))
        );
        api.advance_seconds(30);
        api.promote().await;
    }
    let leave = near.leave();
    api.send(leave).await.expect_status(204);
}

/// The line has ended the waits, and the process has not read the settings since. Clients do not ask again.
async fn the_reason_of_an_end_is_told_with_the_end() {
    for asks_with_token in [true, false] {
        let (api, visitors) = start_with_visitors(settings()).await;
        let [near, other] = &visitors.waiting;
        api.send(near.status()).await.expect_status(200);
        api.configure_line(with("entrance", json!("cancelled")), "2")
            .await;
        assert_eq!(api.promote().await.dismissed, 2);
        let request = if asks_with_token {
            other.status()
        } else {
            ApiRequest::enter()
        };
        assert_eq!(expect_over(&api, request).await["finish_reason"], "cancelled");
    }
}

async fn a_queue_ends_at_its_time_without_a_promoter() {
    let (api, visitors) = start_with_visitors(settings()).await;
    let ends_at_ms = api.now_ms() + 10_000;
    api.configure_line(with("ends_at_ms", json!(ends_at_ms)), "2")
        .await;
    let document = api
        .send_until(document_request, |document| {
            document.body["ends_at_ms"] == ends_at_ms
        })
        .await;
    assert_eq!(document.text("state"), "open");
    assert_eq!(document.body["finish_reason"], Value::Null);
    let (answer, after) = hold_poll_until(&api, poll_request(&visitors.waiting[0]), async || {
        api.advance_seconds(10);
    })
    .await;
    answer.expect_problem(410, "queue-finished");
    assert_eq!(answer.text("finish_reason"), "over");
    assert!(after < UNHELD_MAX, "{after:?}");
    expect_over(&api, ApiRequest::enter()).await;
    api.faults.grant_fallback_ticks();
    api.send_until(document_request, |document| {
        document.body["state"] == "finished" && document.body["waiting"] == 0
    })
    .await;
}

async fn from_closes_at_the_document_says_draining() {
    let (api, _) = start_with_visitors(settings()).await;
    let closes_at_ms = api.now_ms() + 5_000;
    api.configure_line(with("closes_at_ms", json!(closes_at_ms)), "2")
        .await;
    let document = api
        .send_until(document_request, |document| {
            document.body["closes_at_ms"] == closes_at_ms
        })
        .await;
    assert_eq!(document.text("state"), "open");
    api.advance_seconds(5);
    api.send(ApiRequest::enter())
        .await
        .expect_problem(409, "queue-draining");
    let document = api
        .send_until(document_request, |document| document.body["state"] == "draining")
        .await;
    assert_eq!(document.text("entrance"), "draining");
}

/// The line went back behind a promotion and a claim, which the backup has.
async fn a_turn_that_the_line_lost_outlives_the_queue() {
    let (api, visitors) = start_with_visitors(settings()).await;
    api.send(visitors.ready.claim()).await.expect_status(200);
    api.send_until(
        || visitors.ready.status(),
        |answer| answer.body["state"] == "active",
    )
    .await;
    // As a failover does: the line forgets the session.
    let queue = queue_id();
    let finished = with("entrance", json!("finished"));
    let finished = Configuration {
        epoch: 2,
        ..configuration(finished.as_object().expect("an object"), "2")
    };
    api.line.drop_queue(&queue, 2).await.expect("dropped");
    let put = api.line.restore(&queue, &finished, 0, RestoredEntries::default());
    put.await.expect("restored");
    api.send_until(document_request, |document| document.body["state"] == "finished")
        .await;
    let again = api.send(ApiRequest::enter().visitor(&visitors.ready.id)).await;
    assert_eq!(again.expect_status(200).text("state"), "active");
}

async fn an_evicted_visitor_is_told_so_on_every_path() {
    let evict = async |api: &InProcessApi, guest: &Guest| {
        let id = guest.token.parse().expect("a token");
        let evicted = api.line.leave(&queue_id(), id, None, LeaveReason::Evict).await;
        assert!(matches!(evicted, Ok(LeaveOutcome::Ended(_))), "{evicted:?}");
    };
    let mut lasting = settings();
    (lasting["session_seconds"], lasting["claim_seconds"]) = (json!(3_600), json!(3_600));
    let (api, visitors) = start_with_visitors(lasting).await;
    // Waiting; ready; active, whose slot is held.
    for guest in [&visitors.waiting[0], &visitors.ready, &visitors.active] {
        evict(&api, guest).await;
        // The line knows it, and then the backup alone.
        for _ in 0..2 {
            let answer = api.send(guest.status()).await;
            answer.expect_problem(410, "evicted");
            assert_eq!(answer.text("state"), "evicted");
            api.send(guest.claim()).await.expect_problem(410, "evicted");
            api.advance_seconds(30);
            api.promote().await;
        }
    }
    let full = start_full_queue(json!({ "session_seconds": 5, "interval_seconds": 1 })).await;
    let (held, _) = enter_and_expect_created(&full).await;
    let (answer, _) = hold_poll_until(&full, poll_request(&held), async || evict(&full, &held).await).await;
    answer.expect_problem(410, "evicted");
    assert_eq!(answer.text("state"), "evicted");
}
