//! The API document, the events of the functions and the routers have the same routes.

use std::{collections::BTreeSet, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode, header},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;
use tower::ServiceExt;
use vestibule_api::{
    Services, claim_routes,
    config::{ApiConfig, Origins},
    document_routes, enter_routes, status_routes, validate_routes,
};
use vestibule_backup_file::FileBackup;
use vestibule_line::Line;
use vestibule_telemetry::emf::Metrics;
use vestibule_tests::{
    in_process::keys,
    template::{example_path, read_api_document, read_template, read_text},
};

/// A method, a path, and the logical id of the function that serves it.
type Route = (String, String, String);

const ORIGIN: &str = "https://shop.example";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// The path of an entry. To ask about it has effects, so it refuses `HEAD`.
const ENTRY: &str = "/queues/{queue}/entries/{token}";
/// A route that two functions serve: one for visitors, one for the protected service.
const SHARED: &str = "/queues/{queue}/entries/{token}/extend";

#[test]
fn document_and_function_events_list_the_same_routes() {
    assert_eq!(read_document_routes(), read_event_routes());
}

#[tokio::test]
async fn each_route_is_served_by_its_function_alone() {
    let (functions, _dir) = functions();
    let routes = read_document_routes();
    let paths: BTreeSet<_> = routes.iter().map(|(_, path, _)| path).collect();
    for path in paths {
        for method in METHODS {
            let owner = routes
                .iter()
                .find_map(|(m, p, owner)| (m == method && p == path).then_some(owner.as_str()));
            for (function, router) in &functions {
                let expected = owner == Some(function);
                let is_served = serves_route(router, method, path).await;
                let is_shared = path == SHARED && method == "POST";
                assert!(
                    is_served == expected || (is_shared && is_served),
                    "{function} serves {method} {path}: {is_served}, but the document says {expected}"
                );
            }
        }
    }
}

#[test]
fn routers_have_only_documented_paths() {
    let listed_paths: BTreeSet<_> = read_document_routes()
        .into_iter()
        .map(|(_, path, _)| path)
        .collect();
    // A router does not list its paths, so the test reads them from the source.
    let source = read_text("shared/api/src/routes/mod.rs");
    let router_paths: BTreeSet<_> = source
        .split('"')
        .filter(|literal| literal.starts_with('/') && !literal.contains(char::is_whitespace))
        .map(str::to_owned)
        .collect();
    assert_eq!(listed_paths, router_paths);
}

#[tokio::test]
async fn preflights_are_answered_by_the_documented_function() {
    let (functions, _dir) = functions();
    let preflights: Vec<_> = read_document_routes()
        .into_iter()
        .filter(|(method, ..)| method == "OPTIONS")
        .collect();
    for (_, path, owner) in &preflights {
        let router = &functions
            .iter()
            .find(|(name, _)| name == owner)
            .expect("a function")
            .1;
        let request = Request::builder()
            .method(Method::OPTIONS)
            .uri(example_path(path))
            .header(header::ORIGIN, ORIGIN)
            .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
            .body(Body::empty())
            .expect("a request");
        let Ok(response) = router.clone().oneshot(request).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(
            response.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN],
            ORIGIN,
            "{path}"
        );
    }
    // Every path that a visitor's page calls has a preflight, because the page sends a header of this API.
    let has_preflight: BTreeSet<_> = preflights.iter().map(|(_, path, _)| path.as_str()).collect();
    for (path, _, operation) in operations(&read_api_document()) {
        if operation["tags"][0] == "visitor" {
            assert!(has_preflight.contains(path.as_str()), "{path}");
        }
    }
}

/// Monitors ask with `HEAD` whether a page is there.
#[tokio::test]
async fn what_anyone_may_get_is_also_there_for_head() {
    let (functions, _dir) = functions();
    let routes = read_document_routes();
    let owners_of = |wanted: &str| -> BTreeSet<_> {
        let of_method = routes.iter().filter(|(method, ..)| method == wanted);
        of_method
            .map(|(_, path, owner)| (path.as_str(), owner.as_str()))
            .collect()
    };
    assert_eq!(owners_of("HEAD"), owners_of("GET"));
    for (path, owner) in owners_of("HEAD") {
        let of_owner = functions.iter().find(|(name, _)| *name == owner);
        let router = &of_owner.expect("a function").1;
        let mut answers = Vec::new();
        for method in [Method::GET, Method::HEAD] {
            let request = Request::builder().method(method).uri(example_path(path));
            let request = request.body(Body::empty()).expect("a request");
            let Ok(response) = router.clone().oneshot(request).await;
            answers.push(response.into_parts());
        }
        let [(get, _), (head, body)] = answers.try_into().expect("two answers");
        assert_eq!(
            to_bytes(body, usize::MAX).await.expect("a body").len(),
            0,
            "{path}"
        );
        if path == ENTRY {
            assert_eq!(head.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
            assert_eq!(head.headers[header::ALLOW], "GET,DELETE", "{path}");
            continue;
        }
        assert_eq!(head.status, get.status, "{path}");
        for name in [
            header::CONTENT_TYPE,
            header::CONTENT_LENGTH,
            header::CACHE_CONTROL,
        ] {
            assert_eq!(head.headers.get(&name), get.headers.get(&name), "{path}: {name}");
        }
    }
}

fn read_document_routes() -> BTreeSet<Route> {
    operations(&read_api_document())
        .into_iter()
        .map(|(path, method, operation)| {
            let integration = &operation["x-amazon-apigateway-integration"];
            assert_eq!(integration["type"], "aws_proxy", "{method} {path}");
            let uri = integration["uri"]["Fn::Sub"].as_str().expect("a text");
            let function = uri
                .split("/functions/${")
                .nth(1)
                .and_then(|rest| rest.split('.').next());
            (method, path, function.expect("a function").to_owned())
        })
        .collect()
}

fn read_event_routes() -> BTreeSet<Route> {
    let template = read_template();
    let resources = template["Resources"].as_object().expect("resources");
    let mut routes = BTreeSet::new();
    for (function, resource) in resources {
        let events = resource["Properties"]["Events"].as_object();
        for event in events.into_iter().flat_map(|events| events.values()) {
            let properties = &event["Properties"];
            if event["Type"] == "Api" {
                assert_eq!(properties["RestApiId"]["Ref"], "Api", "{function}");
                let text_of = |name: &str| properties[name].as_str().expect("a text").to_owned();
                routes.insert((text_of("Method"), text_of("Path"), function.clone()));
            }
        }
    }
    routes
}

/// Every operation of the document: its path, its method in upper case, and its definition.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().expect("paths");
    paths
        .iter()
        .flat_map(|(path, item)| {
            let item = item.as_object().expect("a path");
            item.iter()
                .filter(|(name, _)| *name != "parameters")
                .map(|(name, operation)| (path.clone(), name.to_uppercase(), operation.clone()))
        })
        .collect()
}

fn functions() -> ([(&'static str, Router); 5], TempDir) {
    let dir = tempfile::tempdir().expect("a folder");
    let backup = FileBackup::open(dir.path().join("store")).expect("a store");
    let config = ApiConfig {
        origins: Origins::Listed(vec![ORIGIN.parse().expect("a header value")]),
        ..ApiConfig::default()
    };
    let (_, stopped) = watch::channel(false);
    let services = Services::new(
        Line::in_process(),
        Arc::new(backup),
        keys(),
        config,
        stopped,
        Metrics::for_process(),
    );
    let routers = [
        ("DocumentFunction", document_routes(services.clone())),
        ("EnterFunction", enter_routes(services.clone())),
        ("ClaimFunction", claim_routes(services.clone())),
        ("StatusFunction", status_routes(services.clone())),
        ("ValidateFunction", validate_routes(services)),
    ];
    (routers, dir)
}

/// Whether a router serves a route. No queue exists, so a request for one fails, and the code of the problem tells a
/// missing route from an existing one.
async fn serves_route(router: &Router, method: &str, path: &str) -> bool {
    let request = Request::builder()
        .method(method)
        .uri(example_path(path))
        .body(Body::empty())
        .expect("a request");
    let Ok(response) = router.clone().oneshot(request).await;
    // Without a queue, only the page and its files are there.
    if !response.status().is_client_error() {
        return true;
    }
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    body["code"] != "unknown-route" && body["code"] != "method-not-allowed"
}
