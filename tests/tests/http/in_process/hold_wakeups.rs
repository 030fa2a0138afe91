//! What ends the hold of a poll, and how often held polls call the line.

use std::{collections::BTreeSet, pin::pin, time::Duration};

use futures_util::future::{Either, join, join_all, select};
use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_api::config::ApiConfig;
use vestibule_line::{LeaveOutcome, LeaveReason};
use vestibule_tests::{
    in_process::{
        ApiRequest, ApiResponse, BOUND, InProcessApi, QUEUE, entry_path, event, queue_id, with_header,
    },
    waiting::wait_until,
};

use super::{Guest, enter_and_expect_created, start_full_queue};

super::cases![
    a_promotion_ends_the_hold_which_a_metric_counts,
    moving_to_the_back_ends_the_hold,
    an_eviction_ends_the_hold_of_that_entry_only,
    changed_settings_end_the_hold,
    a_message_ends_the_holds_of_a_line_one_after_the_other,
    a_shutdown_ends_the_hold_with_the_current_status,
    a_hold_ends_before_the_function_does,
    many_held_polls_together_call_the_line_once_a_second,
];

/// A poll that is answered by then was not held until its end, after 20 s.
pub(super) const UNHELD_MAX: Duration = Duration::from_secs(10);

/// Promotes one visitor every second, so that the head of the line is held.
fn fast_settings() -> Value {
    json!({ "session_seconds": 5, "interval_seconds": 1 })
}

pub(super) fn poll_request(guest: &Guest) -> ApiRequest {
    ApiRequest::get(format!("{}?wait=20", entry_path(&guest.token))).visitor(&guest.id)
}

/// Holds a poll, makes the change, and returns the response and how long it took after the change.
pub(super) async fn hold_poll_until(
    api: &InProcessApi,
    request: ApiRequest,
    change: impl AsyncFnOnce(),
) -> (ApiResponse, Duration) {
    let mut poll = pin!(api.send(request));
    let views = || api.faults.calls("queue_view");
    let before = views();
    // Two snapshots of the queue: the poll has been held for a second.
    let is_held = pin!(wait_until(BOUND, "the poll is held", async || views() >= before + 2));
    let Either::Right(_) = select(&mut poll, is_held).await else {
        panic!("the poll was answered before the change");
    };
    change().await;
    api.drop_shared_view().await;
    let since = Instant::now();
    (poll.await, since.elapsed())
}

async fn a_promotion_ends_the_hold_which_a_metric_counts() {
    let api = start_full_queue(fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.send(guest.status()).await.expect_status(200);
    assert!(
        api.written.lines().is_empty(),
        "a request that does not offer to wait is not counted"
    );
    let (response, after) = hold_poll_until(&api, poll_request(&guest), async || {
        api.advance_seconds(5);
        assert_eq!(api.promote().await.promoted, 1);
    })
    .await;
    assert_eq!(response.expect_status(200).text("state"), "ready");
    assert!(after < UNHELD_MAX, "{after:?}");
    let lines = api.written.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (&lines[0]["HeldPolls"], &lines[0]["Queue"]),
        (&json!(1), &json!(QUEUE))
    );
    let text = api.written.text();
    assert!(!text.contains(&guest.id) && !text.contains(&guest.token));
}

/// The snapshot of the queue does not show the move, because no visitor left or was promoted.
async fn moving_to_the_back_ends_the_hold() {
    let mut settings = fast_settings();
    settings["re_entry"] = json!("requeue");
    let api = start_full_queue(settings).await;
    let (guest, first) = enter_and_expect_created(&api).await;
    let (response, after) = hold_poll_until(&api, poll_request(&guest), async || {
        api.advance_seconds(1);
        api.send(ApiRequest::enter().visitor(&guest.id))
            .await
            .expect_status(200);
    })
    .await;
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    assert_ne!(response.number("visit"), first.number("visit"));
    assert!(after < UNHELD_MAX, "{after:?}");
}

async fn an_eviction_ends_the_hold_of_that_entry_only() {
    let api = start_full_queue(fast_settings()).await;
    let (evicted, _) = enter_and_expect_created(&api).await;
    let (other, _) = enter_and_expect_created(&api).await;
    let since = Instant::now();
    let others = api.send(ApiRequest::get(format!("{}?wait=4", entry_path(&other.token))).visitor(&other.id));
    let own = hold_poll_until(&api, poll_request(&evicted), async || {
        let id = evicted.token.parse().expect("a token");
        let departed = api.line.leave(&queue_id(), id, None, LeaveReason::Evict).await;
        assert!(matches!(departed, Ok(LeaveOutcome::Ended(_))), "{departed:?}");
    });
    let (others, (response, after)) = join(async { (others.await, since.elapsed()) }, own).await;
    response.expect_status(410);
    assert!(after < UNHELD_MAX, "{after:?}");
    let (others, held) = others;
    assert_eq!(others.expect_status(200).number("position"), 1);
    assert!(held >= Duration::from_secs(4), "{held:?}");
}

async fn changed_settings_end_the_hold() {
    for changed in [
        json!({ "paused": true }),
        json!({ "message": "soon" }),
        json!({ "entrance": "closed" }),
    ] {
        let api = start_full_queue(fast_settings()).await;
        let (guest, _) = enter_and_expect_created(&api).await;
        let (response, after) = hold_poll_until(&api, poll_request(&guest), async || {
            let mut settings = fast_settings();
            settings["capacity"] = json!(1);
            settings["batch"] = json!(1);
            settings
                .as_object_mut()
                .expect("an object")
                .extend(changed.as_object().expect("an object").clone());
            api.configure_line(settings, "2").await;
        })
        .await;
        assert_eq!(response.expect_status(200).text("state"), "waiting");
        assert!(after < UNHELD_MAX, "{changed}: {after:?}");
    }
}

/// Not all visitors ask again at once.
async fn a_message_ends_the_holds_of_a_line_one_after_the_other() {
    let api = start_full_queue(fast_settings()).await;
    let mut guests = Vec::new();
    for _ in 0..6 {
        guests.push(enter_and_expect_created(&api).await.0);
    }
    let views = || api.faults.calls("queue_view");
    let mut polls = pin!(join_all(guests.iter().map(async |guest| {
        api.send(poll_request(guest)).await.expect_status(200);
        views()
    })));
    let before = views();
    let are_held = pin!(wait_until(BOUND, "the polls are held", async || views() >= before + 2));
    let Either::Right(_) = select(&mut polls, are_held).await else {
        panic!("the polls were answered before the change");
    };
    let mut settings = fast_settings();
    (settings["capacity"], settings["batch"], settings["message"]) = (json!(1), json!(1), json!("soon"));
    api.configure_line(settings, "2").await;
    let since = Instant::now();
    let answered_at: BTreeSet<_> = polls.await.into_iter().collect();
    assert!(
        answered_at.len() > 1,
        "by the number of snapshots: {answered_at:?}"
    );
    assert!(since.elapsed() < UNHELD_MAX);
}

async fn a_shutdown_ends_the_hold_with_the_current_status() {
    let api = start_full_queue(fast_settings()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let request = guest.status().header("prefer", "respond-async, wait=20");
    let (response, after) = hold_poll_until(&api, request, async || api.shut_down()).await;
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    assert_eq!(response.number("position"), 1);
    assert_eq!(response.header("preference-applied"), "wait=20");
    assert!(after < UNHELD_MAX, "{after:?}");
    // After the shutdown no poll is held.
    let since = Instant::now();
    api.send(poll_request(&guest)).await.expect_status(200);
    assert!(since.elapsed() < UNHELD_MAX);
}

async fn a_hold_ends_before_the_function_does() {
    let mut settings = fast_settings();
    settings["capacity"] = json!(1);
    settings["batch"] = json!(1);
    let api = InProcessApi::start_with_config(ApiConfig::default(), settings).await;
    enter_and_expect_created(&api).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let resource = "/queues/{queue}/entries/{token}";
    let status = event("GET", resource, &json!({ "queue": QUEUE, "token": guest.token }));
    let mut status = with_header(status, "X-Visitor-Id", &guest.id);
    status["multiValueQueryStringParameters"] = json!({ "wait": ["20"] });
    let limit = Duration::from_millis(2_500);
    let since = Instant::now();
    let response = api.send_event_with_time_limit(&status, limit).await;
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    let held = since.elapsed();
    assert!(held >= Duration::from_millis(900) && held < limit, "{held:?}");
}

async fn many_held_polls_together_call_the_line_once_a_second() {
    let mut settings = fast_settings();
    settings["batch"] = json!(100);
    settings["capacity"] = json!(50);
    let api = InProcessApi::start(settings).await;
    for _ in 0..50 {
        enter_and_expect_created(&api).await;
    }
    // All sessions end within five seconds, so all turns are near.
    let mut guests = Vec::new();
    for _ in 0..50 {
        guests.push(enter_and_expect_created(&api).await.0);
    }
    let calls = || {
        let all = api.faults.all_calls();
        // They are released together, as many as have ended by then.
        api.line_calls() - all.get("release_holds").copied().unwrap_or_default()
    };
    let before = calls();
    let polls = guests.iter().map(|guest| {
        let poll = ApiRequest::get(format!("{}?wait=3", entry_path(&guest.token)));
        api.send(poll.visitor(&guest.id))
    });
    for response in join_all(polls).await {
        assert_eq!(response.expect_status(200).text("state"), "waiting");
    }
    let calls = calls() - before;
    assert!(
        (150..=160).contains(&calls),
        "three calls for each poll, and about one a second for all: {:?}",
        api.faults.all_calls()
    );
}
