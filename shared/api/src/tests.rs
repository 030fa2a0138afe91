use std::time::Duration;

use axum::{
    Router,
    body::Body,
    http::{Method, Request},
    routing::get,
};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    id::{RootKey, Salt},
    score::WaitScore,
    settings::Settings,
};
use vestibule_line::Configuration;
use vestibule_line_memory::MemoryLine;

use super::{
    budget::Candidate,
    crowd::{Waiter, Word},
    routes::finished,
    *,
};
use crate::pass::{Signer, new_key_pem};

fn edge(dir: &tempfile::TempDir) -> Arc<Edge> {
    let keys = Keys {
        root: RootKey::new(vec![7; 32]).expect("long enough"),
        signer: Signer::from_pem("x", &new_key_pem([1; 32])).expect("a key"),
    };
    let backup = FileBackup::open(dir.path().join("store")).expect("a store");
    let (_, shutdown) = watch::channel(false);
    Edge::new(
        Arc::new(MemoryLine::new()),
        Arc::new(backup),
        keys,
        EdgeConfig::default(),
        shutdown,
    )
}

#[tokio::test]
async fn a_panic_is_a_problem_that_shows_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let routes = Router::new().route("/", get(|| async { panic!("the secret is 42") as &'static str }));
    let request = Request::get("/").body(Body::empty()).expect("a request");
    let Ok(response) = finished(Router::new(), routes, edge(&dir)).oneshot(request).await;
    assert_eq!(response.status(), 500);
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(body["code"], "internal");
    assert!(!body.to_string().contains("secret"), "{body}");
}

#[tokio::test]
async fn the_three_functions_have_all_routes_between_them() {
    let dir = tempfile::tempdir().expect("a folder");
    let edge = edge(&dir);
    let at = |path: &str| format!("/queues/a/entries/0f8fad5b-d9cb-869f-a165-70867728950e{path}");
    for (method, path, functions) in [
        (Method::GET, "/queues/a".to_owned(), [true, false, false]),
        (Method::POST, "/queues/a/entries".to_owned(), [true, false, false]),
        (Method::GET, at(""), [false, true, false]),
        (Method::DELETE, at(""), [true, false, false]),
        (Method::POST, at("/claim"), [true, false, false]),
        (Method::POST, at("/extend"), [true, false, true]),
        (Method::POST, at("/validate"), [false, false, true]),
        (Method::POST, at("/complete"), [false, false, true]),
        (
            Method::GET,
            "/.well-known/jwks.json".to_owned(),
            [true, false, false],
        ),
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
        let found = [
            serves(enter_routes(edge.clone())).await,
            serves(status_routes(edge.clone())).await,
            serves(validate_routes(edge.clone())).await,
        ];
        assert_eq!(found, functions, "{method} {path}");
        assert!(serves(router(edge.clone())).await, "{method} {path}");
    }
}

#[tokio::test]
async fn made_up_queues_fill_no_memory() {
    let dir = tempfile::tempdir().expect("a folder");
    let edge = edge(&dir);
    for number in 0..3_000 {
        edge.views
            .forget(&format!("q{number}").parse().expect("a queue id"));
    }
    assert!(edge.views.kept() <= 1_000, "{}", edge.views.kept());
}

#[tokio::test]
async fn a_hold_that_ended_leaves_nothing_behind() {
    let wakes = Wakes::default();
    let id = "0f8fad5b-d9cb-869f-a165-70867728950e".parse().expect("a token");
    let (mut first, second) = (wakes.sleeper(id), wakes.sleeper(id));
    drop(second);
    wakes.wake(id);
    first.woken().await;
    assert_eq!(wakes.kept(), 1);
    drop(first);
    assert_eq!(wakes.kept(), 0);
    wakes.wake(id);
}

#[tokio::test]
async fn a_queue_is_watched_while_anybody_is_held() {
    let dir = tempfile::tempdir().expect("a folder");
    let edge = edge(&dir);
    let queue: QueueId = "a".parse().expect("a queue id");
    let configuration = Configuration {
        settings: Settings::default(),
        revision: "1".to_owned(),
        settings_order: 0,
        epoch: 1,
        generation: 1,
        min_epoch: 1,
        salt: Salt::new([1; 32]),
    };
    let created = edge.line.configure(&queue, &configuration, true).await;
    assert!(created.is_ok(), "{created:?}");
    let seen = edge.seen(&queue).await.expect("the queue exists");
    let waiter = |id: &str| Waiter {
        seen: seen.clone(),
        id: id.parse().expect("a token"),
        score: WaitScore::next(0, 1_800_000_000_000),
        position: 1,
    };
    let watch = async |waiter: Waiter| {
        let candidate = Candidate {
            queue: &queue,
            id: waiter.id,
            below: 10,
            up_to: Duration::from_secs(20),
        };
        let counted = edge.budget.take(candidate).await.expect("there is room");
        edge.watchers.watch(&edge, &waiter, counted)
    };
    let mut first = watch(waiter("0f8fad5b-d9cb-869f-a165-70867728950e")).await;
    let second = watch(waiter("1f8fad5b-d9cb-869f-a165-70867728950e")).await;
    drop(second);
    assert_eq!(edge.watchers.kept(), 1);
    // The line does not have the entry, which is a change to report.
    assert!(matches!(first.word().await, Word::News(_)));
    drop(first);
    assert_eq!(edge.watchers.kept(), 0);
}
