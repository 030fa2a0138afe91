//! The pace of the polls: the server's.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::http::StatusCode;
use serde_json::json;

use crate::{front::Call, scene::Scene};

/// Timers of a browser and of a server are not the same one.
const ROUNDING: Duration = Duration::from_millis(20);
/// The most that a busy machine adds.
const LATE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn polls_come_when_told_and_no_sooner() {
    const TOLD_MS: [u64; 4] = [1_500, 400, 2_500, 900];
    // Nothing moves and nobody is held: every poll is answered at once.
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3_600, "session_seconds": 3_600 });
    let (scene, _) = Scene::with_one_let_in(settings).await;
    let told = AtomicUsize::new(0);
    scene.front.alter(move |call| {
        if call.body["retry_after_ms"].is_u64() {
            let n = told.fetch_add(1, Ordering::Relaxed);
            call.body["retry_after_ms"] = json!(TOLD_MS[n % TOLD_MS.len()]);
        }
    });
    let tab = scene.visit().await;
    let calls = scene
        .front
        .until("six polls", |calls| entry_calls(calls).len() >= 7)
        .await;
    for pair in entry_calls(&calls).windows(2) {
        let told = Duration::from_millis(pair[0].body["retry_after_ms"].as_u64().expect("told"));
        kept(&pair[0], &pair[1], told);
    }
    assert!(tab.shown().await.waits_at(1));
    scene.end();
}

#[tokio::test]
async fn a_refusal_says_when_to_come_back_and_costs_no_place() {
    const REFUSED_SECONDS: u64 = 3;
    // Two may go in this hour, and nobody is held.
    let settings = json!({
        "capacity": 1, "batch": 2, "interval_seconds": 3_600, "claim_seconds": 10, "session_seconds": 3_600
    });
    let (scene, first) = Scene::with_one_let_in(settings).await;
    scene.front.hurry();
    let tab = scene.visit().await;
    tab.until("the place", |shown| shown.waits_at(1)).await;
    let refused = AtomicUsize::new(0);
    scene.front.alter(move |call| {
        if call.is_poll() && refused.fetch_add(1, Ordering::Relaxed) < 2 {
            call.status = StatusCode::TOO_MANY_REQUESTS;
            call.retry_after_seconds = Some(REFUSED_SECONDS);
            call.body = json!({ "status": 429, "code": "too-many-requests", "title": "Too often" });
        }
    });
    let trouble = "No answer at the moment. Trying again; your place is kept.";
    let shown = tab
        .until("the trouble", |shown| shown.part("trouble") == trouble)
        .await;
    assert!(shown.waits_at(1), "{shown:?}");
    tab.until("no trouble", |shown| {
        shown.waits_at(1) && shown.part("trouble").is_empty()
    })
    .await;
    let calls = entry_calls(&scene.front.calls());
    let refused = calls
        .windows(2)
        .filter(|pair| pair[0].status == StatusCode::TOO_MANY_REQUESTS);
    let gaps: Vec<_> = refused
        .inspect(|pair| kept(&pair[0], &pair[1], Duration::from_secs(REFUSED_SECONDS)))
        .collect();
    assert_eq!(gaps.len(), 2);

    scene.complete(&first).await;
    tab.until("let in", |shown| shown.part("headline") == "You are in")
        .await;
    scene.end();
}

/// What is asked about the entry; the public view beside it may come out of a cache.
fn entry_calls(calls: &[Call]) -> Vec<Call> {
    let about_it = |call: &&Call| call.path.contains("/entries");
    calls.iter().filter(about_it).cloned().collect()
}

fn kept(before: &Call, next: &Call, told: Duration) {
    let gap = next.came - before.answered;
    assert!(
        told <= gap + ROUNDING,
        "told {told:?}, and after {gap:?} came {next:?}"
    );
    assert!(
        gap <= told + LATE,
        "told {told:?}, and only after {gap:?} came {next:?}"
    );
}
