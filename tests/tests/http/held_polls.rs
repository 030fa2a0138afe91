//! Status requests that wait for a change.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vestibule_tests::api::{ApiRequest, ApiResponse, Backend, Guest, Queue};

crate::cases![
    a_promotion_ends_the_hold,
    leaving_ends_the_hold,
    a_poll_without_news_is_held_for_the_time_it_offers,
    a_poll_with_the_token_alone_is_answered_at_once,
    a_poll_without_news_to_expect_is_answered_at_once,
    a_wait_that_is_no_number_of_seconds_is_refused,
];

/// The time that a held poll offers to wait.
const WAIT: Duration = Duration::from_secs(20);

/// The turn of the first visitor in line is expected within half a minute, so that the poll is held.
fn short_session() -> Value {
    json!({ "session_seconds": 25 })
}

/// Holds a poll while the change happens, and returns its response. The change must end the hold.
async fn hold_poll_during(queue: &Queue<'_>, guest: &Guest, change: impl AsyncFnOnce()) -> ApiResponse {
    let path = guest.path(&format!("?wait={}", WAIT.as_secs()));
    let since = Instant::now();
    let poll = async {
        let response = queue.backend.send(ApiRequest::get(path).visitor(&guest.id)).await;
        (response, since.elapsed())
    };
    let ((response, held), ()) = futures_util::future::join(poll, change()).await;
    assert!(held < WAIT, "the end of the wait ended the hold: {held:?}");
    response
}

async fn a_promotion_ends_the_hold(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(short_session()).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let response = hold_poll_during(&queue, &guest, async || {
        // One round trip gives the poll time to arrive.
        let status = queue.get_status(&guest).await;
        assert_eq!(status.expect_status(200).text("state"), "waiting");
        queue.complete(&active).await.expect_status(204);
        queue.promote_until_ready(&guest).await;
    })
    .await;
    assert_eq!(response.expect_status(200).text("state"), "ready");
}

async fn leaving_ends_the_hold(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(short_session()).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let response = hold_poll_during(&queue, &guest, async || {
        let status = queue.get_status(&guest).await;
        assert_eq!(status.expect_status(200).text("state"), "waiting");
        queue.leave(&guest).await.expect_status(204);
    })
    .await;
    response.expect_problem(410, "left");
}

async fn a_poll_without_news_is_held_for_the_time_it_offers(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(short_session()).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let poll = |query: &str| ApiRequest::get(guest.path(query)).visitor(&guest.id);
    for request in [
        poll("?wait=1"),
        poll("").header("prefer", "respond-async, wait=1"),
    ] {
        let since = Instant::now();
        let response = backend.send(request).await;
        assert_eq!(response.expect_status(200).text("state"), "waiting");
        assert!(since.elapsed() >= Duration::from_secs(1));
    }
    let preferred = backend.send(poll("").header("prefer", "wait=1")).await;
    assert_eq!(preferred.header("preference-applied"), "wait=1");
}

async fn a_poll_with_the_token_alone_is_answered_at_once(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(short_session()).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let poll = || ApiRequest::get(guest.path("")).header("prefer", "wait=2");
    let response = backend.send(poll()).await;
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    // Such a caller is told that nothing is proven, and not to wait for a turn.
    assert_eq!(response.body["proven"], false);
    response.expect_absent(&["retry_after_ms", "look_after_ms"]);
    assert!(
        !response.headers.contains_key("preference-applied"),
        "{response:?}"
    );
    let own = backend.send(poll().visitor(&guest.id)).await;
    assert_eq!(own.header("preference-applied"), "wait=2");
    own.expect_absent(&["proven"]);
    assert!(own.number("retry_after_ms") > 0);
}

async fn a_poll_without_news_to_expect_is_answered_at_once(backend: &Backend) {
    let (far, active) = backend
        .create_full_queue(json!({ "interval_seconds": 3600 }))
        .await;
    let (waiting, _) = far.enter_and_expect_created().await;
    let paused = backend
        .create_queue(json!({ "paused": true, "interval_seconds": 1 }))
        .await;
    let (not_moving, _) = paused.enter_and_expect_created().await;
    for guest in [active, waiting, not_moving] {
        let request = guest.status().header("prefer", "wait=20");
        let response = backend.send(request).await;
        assert!(
            !response
                .expect_status(200)
                .headers
                .contains_key("preference-applied"),
            "{response:?}"
        );
    }
}

async fn a_wait_that_is_no_number_of_seconds_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let get = |query: &str| ApiRequest::get(guest.path(query));
    for wait in ["-1", "61", "x", "1.5", "99999999999999999999"] {
        for request in [
            get(&format!("?wait={wait}")),
            get("").header("prefer", &format!("wait={wait}")),
        ] {
            backend.send(request).await.expect_invalid_field("wait");
        }
    }
    for prefer in ["respond-async, WAIT=61", "wait=\"x\"; foo"] {
        let refused = backend.send(get("").header("prefer", prefer)).await;
        refused.expect_invalid_field("wait");
    }
    for query in ["?wait=0", "?wait=1", "?other=x"] {
        backend.send(get(query)).await.expect_status(200);
    }
    for prefer in ["respond-async", "wait", "wait=0", "handling=lenient; wait=x"] {
        let response = backend.send(get("").header("prefer", prefer)).await;
        response.expect_status(200);
    }
}
