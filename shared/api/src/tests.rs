use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Method, Request},
    routing::get,
};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt;
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    configuration::Configuration,
    id::{QueueId, RootKey, Salt},
    kept_times::KeptTimes,
    score::WaitScore,
    settings::Settings,
};
use vestibule_line::Line;

use super::{routes::add_layers, *};
use crate::long_poll::{
    budget::HoldCandidate,
    entry_notifier::EntryNotifier,
    held_polls::{HeldPoll, Wakeup},
};
use crate::{
    config::{ApiConfig, Keys},
    who::{
        origin_key::LiveOriginKey,
        pass::{PassKeys, new_key_pem},
    },
};

fn api_state(dir: &tempfile::TempDir) -> Arc<ApiState> {
    let keys = Keys {
        root: RootKey::new(vec![7; 32]).expect("long enough"),
        passes: PassKeys::fixed("x", &new_key_pem(|| [1; 32]), 300).expect("a key"),
        origin: LiveOriginKey::default(),
    };
    let backup = FileBackup::open(dir.path().join("store")).expect("a store");
    let (_, shutdown) = watch::channel(false);
    ApiState::new(
        Line::in_process(),
        Arc::new(backup),
        keys,
        ApiConfig::default(),
        shutdown,
    )
}

#[tokio::test]
async fn handler_panic_becomes_problem_without_its_text() {
    let dir = tempfile::tempdir().expect("a folder");
    let routes = Router::new().route("/", get(|| async { panic!("the secret is 42") as &'static str }));
    let request = Request::get("/").body(Body::empty()).expect("a request");
    let Ok(response) = add_layers(Router::new(), routes, api_state(&dir))
        .oneshot(request)
        .await;
    assert_eq!(response.status(), 500);
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(body["code"], "internal");
    assert!(!body.to_string().contains("secret"), "{body}");
}

#[tokio::test]
async fn each_route_is_served_by_the_expected_functions() {
    let dir = tempfile::tempdir().expect("a folder");
    let state = api_state(&dir);
    let at = |path: &str| format!("/queues/a/entries/0f8fad5b-d9cb-869f-a165-70867728950e{path}");
    for (method, path, functions) in [
        (Method::GET, "/queues/a".to_owned(), &["document"][..]),
        (Method::GET, "/.well-known/jwks.json".to_owned(), &["document"]),
        (Method::POST, "/queues/a/entries".to_owned(), &["enter"]),
        (Method::DELETE, at(""), &["status"]),
        (Method::POST, at("/claim"), &["claim"]),
        (Method::GET, at(""), &["status"]),
        (Method::POST, at("/extend"), &["status"]),
        (Method::POST, at("/validate"), &["validate"]),
        (Method::POST, at("/complete"), &["validate"]),
    ] {
        let serves = async |router: Router| {
            let request = Request::builder()
                .method(&method)
                .uri(&path)
                .body(Body::empty())
                .expect("a request");
            let Ok(response) = router.oneshot(request).await;
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            let text = String::from_utf8(body.into()).expect("UTF-8");
            !text.contains("unknown-route") && !text.contains("method-not-allowed")
        };
        let mut found = Vec::new();
        for (function, routes) in [
            ("document", document_routes(state.clone())),
            ("enter", enter_routes(state.clone())),
            ("claim", claim_routes(state.clone())),
            ("status", status_routes(state.clone())),
            ("validate", validate_routes(state.clone())),
        ] {
            if serves(routes).await {
                found.push(function);
            }
        }
        assert_eq!(found, functions, "{method} {path}");
        assert!(serves(router(state.clone())).await, "{method} {path}");
    }
}

#[tokio::test]
async fn unknown_queue_names_do_not_grow_the_cache() {
    let dir = tempfile::tempdir().expect("a folder");
    let state = api_state(&dir);
    for number in 0..3_000 {
        state
            .queue_cache
            .invalidate(&format!("q{number}").parse().expect("a queue id"));
    }
    assert!(
        state.queue_cache.cached_queues() <= 1_000,
        "{}",
        state.queue_cache.cached_queues()
    );
}

#[tokio::test]
async fn dropped_subscriptions_leave_no_entry_behind() {
    let wakes = EntryNotifier::default();
    let id = "0f8fad5b-d9cb-869f-a165-70867728950e".parse().expect("a token");
    let (mut first, second) = (wakes.subscribe(id), wakes.subscribe(id));
    drop(second);
    wakes.wake(id);
    first.wait_for_change().await;
    assert_eq!(wakes.subscribed_entries(), 1);
    drop(first);
    assert_eq!(wakes.subscribed_entries(), 0);
    wakes.wake(id);
}

#[tokio::test]
async fn queue_is_watched_until_its_last_held_poll_ends() {
    let dir = tempfile::tempdir().expect("a folder");
    let state = api_state(&dir);
    let queue: QueueId = "a".parse().expect("a queue id");
    let configuration = Configuration {
        settings: Settings::default(),
        revision: "1".to_owned(),
        settings_order: 0,
        epoch: 1,
        generation: 1,
        min_epoch: 1,
        salt: Salt::new([1; 32]),
        opened_at_ms: None,
        kept_times: KeptTimes::default(),
    };
    let created = state.line.configure(&queue, &configuration, true).await;
    assert!(created.is_ok(), "{created:?}");
    let snapshot = state.snapshot(&queue).await.expect("the queue exists");
    let poll = |id: &str| HeldPoll {
        snapshot: snapshot.clone(),
        id: id.parse().expect("a token"),
        score: WaitScore::next(0, 1_800_000_000_000),
        position: 1,
    };
    let watch = async |poll: HeldPoll| {
        let candidate = HoldCandidate {
            queue: &queue,
            id: poll.id,
            held_below: 10,
            unknown_speed_below: None,
            max_duration: Duration::from_secs(20),
        };
        let permit = state.budget.acquire(candidate).await.expect("there is room");
        state.watchers.watch(&poll, permit)
    };
    let mut first = watch(poll("0f8fad5b-d9cb-869f-a165-70867728950e")).await;
    let second = watch(poll("1f8fad5b-d9cb-869f-a165-70867728950e")).await;
    drop(second);
    assert_eq!(state.watchers.watched_queues(), 1);
    // The line does not have the entry, which is a change to report.
    assert!(matches!(first.wait_for_wakeup().await, Wakeup::Update(_)));
    drop(first);
    assert_eq!(state.watchers.watched_queues(), 0);
}
