//! The timing of the polls, which the server controls.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::http::StatusCode;
use serde_json::json;

use crate::{proxy::Call, scene::Scene};

/// The most by which the timers of the browser and of the proxy may differ.
const TIMER_TOLERANCE: Duration = Duration::from_millis(20);
/// The most that a busy machine adds to the time of a poll.
const DELAY_MAX: Duration = Duration::from_secs(10);

#[tokio::test]
async fn polls_come_at_the_time_that_the_server_names() {
    const RETRY_AFTER_MS: [u64; 4] = [1_500, 400, 2_500, 900];
    // The line does not move and no poll is held, so every poll is answered at once.
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3_600, "session_seconds": 3_600 });
    let (scene, _) = Scene::with_one_active(settings).await;
    let answer_count = AtomicUsize::new(0);
    scene.proxy.change_answers(move |call| {
        if call.body["retry_after_ms"].is_u64() {
            let n = answer_count.fetch_add(1, Ordering::Relaxed);
            call.body["retry_after_ms"] = json!(RETRY_AFTER_MS[n % RETRY_AFTER_MS.len()]);
        }
    });
    let tab = scene.open_page().await;
    let calls = scene
        .proxy
        .until("six polls", |calls| entry_calls(calls).len() >= 7)
        .await;
    for pair in entry_calls(&calls).windows(2) {
        let retry_after =
            Duration::from_millis(pair[0].body["retry_after_ms"].as_u64().expect("a retry time"));
        assert_gap(&pair[0], &pair[1], retry_after);
    }
    assert!(tab.read_view().await.shows_position(1));
    scene.assert_no_page_errors();
}

#[tokio::test]
async fn page_waits_for_retry_after_and_keeps_its_place() {
    const REFUSED_SECONDS: u64 = 3;
    // Two entries may be promoted in this hour, and no poll is held.
    let settings = json!({
        "capacity": 1, "batch": 2, "interval_seconds": 3_600, "claim_seconds": 10, "session_seconds": 3_600
    });
    let (scene, first) = Scene::with_one_active(settings).await;
    scene.proxy.shorten_polls();
    let tab = scene.open_page().await;
    tab.until("the position is shown", |view| view.shows_position(1))
        .await;
    let refused = AtomicUsize::new(0);
    scene.proxy.change_answers(move |call| {
        if call.is_poll() && refused.fetch_add(1, Ordering::Relaxed) < 2 {
            call.status = StatusCode::TOO_MANY_REQUESTS;
            call.retry_after_seconds = Some(REFUSED_SECONDS);
            call.body = json!({ "status": 429, "code": "too-many-requests", "title": "Too often" });
        }
    });
    let error_text = "No answer at the moment. Trying again; your place is kept.";
    let view = tab
        .until("the error is shown", |view| view.part("trouble") == error_text)
        .await;
    assert!(view.shows_position(1), "{view:?}");
    tab.until("the error is gone", |view| {
        view.shows_position(1) && view.part("trouble").is_empty()
    })
    .await;
    let calls = entry_calls(&scene.proxy.calls());
    let refused = calls
        .windows(2)
        .filter(|pair| pair[0].status == StatusCode::TOO_MANY_REQUESTS);
    let gaps: Vec<_> = refused
        .inspect(|pair| assert_gap(&pair[0], &pair[1], Duration::from_secs(REFUSED_SECONDS)))
        .collect();
    assert_eq!(gaps.len(), 2);

    scene.complete(&first).await;
    tab.until("the visitor is admitted", |view| {
        view.part("headline") == "You are in"
    })
    .await;
    scene.assert_no_page_errors();
}

/// The calls about the entry, without the public document, which may come from a cache.
fn entry_calls(calls: &[Call]) -> Vec<Call> {
    let is_about_entry = |call: &&Call| call.path.contains("/entries");
    calls.iter().filter(is_about_entry).cloned().collect()
}

fn assert_gap(before: &Call, next: &Call, retry_after: Duration) {
    let gap = next.received - before.answered;
    assert!(
        retry_after <= gap + TIMER_TOLERANCE,
        "the poll came too early: {gap:?} instead of {retry_after:?}: {next:?}"
    );
    assert!(
        gap <= retry_after + DELAY_MAX,
        "the poll came too late: {gap:?} instead of {retry_after:?}: {next:?}"
    );
}
