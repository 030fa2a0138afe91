//! The client far from the head of the line: it reads the public document, and asks the entry when it is called.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    chromium::Chromium,
    fake_api::{ApiRequest, FakeApi},
};

/// The interval of the document in these tests, and the least that its jitter leaves of it.
const REFRESH_MS: u64 = 400;
const REFRESH_MIN: Duration = Duration::from_millis(300);

/// The headers that a browser sends by itself with a request without headers. Those with the prefix `sec-` are too.
const BROWSER_HEADERS: [&str; 8] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "connection",
    "host",
    "origin",
    "referer",
    "user-agent",
];

/// An answer about the entry with the place 40,000, without `look_after_ms`.
fn near_entry(position: u64) -> Value {
    json!({
        "queue": "q", "token": "t", "visit": 1, "state": "waiting", "queue_state": "open", "position": position,
        "place": 40_000, "lane": 0, "gone_ahead": 10, "retry_after_ms": REFRESH_MS,
        "estimated_wait_seconds": { "low": 15, "high": 21 },
    })
}

fn far_entry(position: u64) -> Value {
    let mut entry = near_entry(position);
    entry["look_after_ms"] = json!(600_000);
    entry
}

fn public_document(gone_ahead: u64, check_in_through: u64) -> Value {
    json!({
        "estimated_waits": [{ "position": 25, "low": 200, "high": 290 }],
        "queue": "q", "state": "open", "epoch": 1, "min_epoch": 1, "generation": 1, "resync_ms": 1_000,
        "refresh_near_ms": REFRESH_MS, "refresh_far_ms": REFRESH_MS, "waiting": 50, "rate": 0.1, "paused": false,
        "entrance": "open", "message": "From the document", "lanes": { "0": {
            "promoted_through": 1_000, "check_in_through": check_in_through, "passed_through": 1_000,
            "gone_ahead": gone_ahead,
        } },
    })
}

#[tokio::test]
async fn page_sends_one_request_per_look() {
    let (browser, api) = tokio::join!(Chromium::start(), FakeApi::start());
    api.set_entry(far_entry(40));
    api.set_document(public_document(10, 2_000));
    let tab = browser.open_tab().await;
    tab.visit(&api.url("/?queue=q")).await;
    tab.until("the position of the entry", |view| view.shows_position(40))
        .await;
    api.wait_for(3, 0, ApiRequest::is_document).await;
    api.set_document(public_document(25, 2_000));
    let view = tab
        .until("the position by the document", |view| view.shows_position(25))
        .await;
    // By the document's expected wait at position 25.
    assert_eq!(view.part("wait"), "3 to 5 minutes");
    assert_eq!(view.part("message"), "From the document");
    let far = api.requests();
    assert_eq!(
        far.iter().filter(|request| !request.is_document()).count(),
        1,
        "{far:?}"
    );
    assert_gaps(&far, ApiRequest::is_document);

    let mut entry = near_entry(20);
    entry["message"] = json!("From the entry");
    api.set_entry(entry);
    api.set_document(public_document(30, 40_000));
    // The document tells the position first, and that the entry is called.
    tab.until("the position and the message by the entry", |view| {
        view.shows_position(20) && view.part("message") == "From the entry"
    })
    .await;
    api.wait_for(3, far.len(), ApiRequest::is_poll).await;
    let near = api.requests();
    let called = near.iter().position(ApiRequest::is_poll).expect("a poll");
    assert!(near[called..].iter().all(ApiRequest::is_poll), "{near:?}");
    assert_gaps(&near, ApiRequest::is_poll);

    let mut active = near_entry(1);
    active["state"] = json!("active");
    active["pass"] = json!("p");
    active["expires_in_ms"] = json!(3_000_000);
    active["retry_after_ms"] = json!(60_000);
    api.set_claim(active);
    let mut ready = near_entry(1);
    ready["state"] = json!("ready");
    ready["claim_in_ms"] = json!(30_000);
    api.set_entry(ready);
    let view = tab
        .until("the visitor is admitted", |view| {
            view.part("headline") == "You are in"
        })
        .await;
    let left = view.part("countdown");
    assert!(left == "50:00" || left.starts_with("49:"), "{left}");
    // The page asks once for the address behind the queue.
    api.wait_for(1, near.len(), ApiRequest::is_document).await;
    let requests = api.requests();
    let after_claim = requests
        .iter()
        .skip_while(|request| !request.path.ends_with("/claim"));
    let after_claim: Vec<_> = after_claim.skip(1).collect();
    assert!(
        after_claim.len() == 1 && after_claim[0].is_document(),
        "{after_claim:?}"
    );
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[tokio::test]
async fn document_of_another_origin_needs_no_preflight() {
    let (browser, api, site) = tokio::join!(Chromium::start(), FakeApi::start(), FakeApi::start());
    api.set_entry(far_entry(40));
    api.set_document(public_document(10, 2_000));
    let tab = browser.open_tab().await;
    tab.visit(&site.url(&format!("/library?base={}", api.url(""))))
        .await;
    api.wait_for(3, 0, ApiRequest::is_document).await;
    api.set_entry(near_entry(20));
    api.set_document(public_document(30, 40_000));
    api.wait_for(2, 0, ApiRequest::is_poll).await;

    let requests = api.requests();
    for request in requests.iter().filter(|request| request.is_document()) {
        for name in request.headers.keys().map(axum::http::HeaderName::as_str) {
            let is_of_browser = BROWSER_HEADERS.contains(&name) || name.starts_with("sec-");
            assert!(is_of_browser, "{name} in {request:?}");
        }
        assert_eq!(request.headers["accept"], "*/*", "the request sets no header");
    }
    let is_about_entry = |request: &&ApiRequest| request.path.contains("/entries");
    let (about_entry, about_queue): (Vec<_>, Vec<_>) = requests.iter().partition(is_about_entry);
    assert!(about_queue.len() >= 3 && about_queue.iter().all(|request| request.is_document()));
    // The requests about the entry have one, so the test would notice another.
    assert!(
        about_entry.iter().any(|request| request.is_preflight()),
        "{requests:?}"
    );
    let identified = about_entry.iter().filter(|request| !request.is_preflight());
    assert!(
        identified
            .clone()
            .all(|request| request.headers.contains_key("x-visitor-id"))
    );
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

/// Asserts that two requests of a kind are never nearer than the interval allows.
fn assert_gaps(requests: &[ApiRequest], is_of_kind: fn(&ApiRequest) -> bool) {
    let times: Vec<_> = requests
        .iter()
        .filter(|request| is_of_kind(request))
        .map(|request| request.received)
        .collect();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= REFRESH_MIN, "{:?}", pair[1] - pair[0]);
    }
}
