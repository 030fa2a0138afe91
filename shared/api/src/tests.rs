use std::sync::Arc;

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
use vestibule_domain::id::RootKey;
use vestibule_line::Line;
use vestibule_telemetry::emf::Metrics;

use super::{routes::add_layers, *};
use crate::{
    config::{ApiConfig, Keys},
    who::{
        origin_key::LiveOriginKey,
        pass::{PassKeys, new_key_pem},
    },
};

fn services(dir: &tempfile::TempDir) -> Services {
    let keys = Keys {
        root: RootKey::new(vec![7; 32]).expect("long enough"),
        passes: PassKeys::fixed("x", &new_key_pem(|| [1; 32]), 300).expect("a key"),
        origin: LiveOriginKey::default(),
    };
    let backup = FileBackup::open(dir.path().join("store")).expect("a store");
    let (_, shutdown) = watch::channel(false);
    Services::new(
        Line::in_process(),
        Arc::new(backup),
        keys,
        ApiConfig::default(),
        shutdown,
        Metrics::for_process(),
    )
}

#[tokio::test]
async fn handler_panic_becomes_problem_without_its_text() {
    let dir = tempfile::tempdir().expect("a folder");
    let routes = Router::new().route("/", get(|| async { panic!("the secret is 42") as &'static str }));
    let request = Request::get("/").body(Body::empty()).expect("a request");
    let Ok(response) = add_layers(Router::new(), routes, services(&dir))
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
    let services = services(&dir);
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
            ("document", document_routes(services.clone())),
            ("enter", enter_routes(services.clone())),
            ("claim", claim_routes(services.clone())),
            ("status", status_routes(services.clone())),
            ("validate", validate_routes(services.clone())),
        ] {
            if serves(routes).await {
                found.push(function);
            }
        }
        assert_eq!(found, functions, "{method} {path}");
        assert!(serves(router(services.clone())).await, "{method} {path}");
    }
}

#[tokio::test]
async fn unknown_queue_names_do_not_grow_the_cache() {
    let dir = tempfile::tempdir().expect("a folder");
    let services = services(&dir);
    for number in 0..3_000 {
        services
            .queues
            .invalidate(&format!("q{number}").parse().expect("a queue id"));
    }
    assert!(
        services.queues.cached_queues() <= 1_000,
        "{}",
        services.queues.cached_queues()
    );
}
