//! One list of routes: the document's, the functions' events, and what the routers know.

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
    ApiState,
    config::{ApiConfig, Origins},
    enter_routes, status_routes, validate_routes,
};
use vestibule_backup_file::FileBackup;
use vestibule_line_memory::MemoryLine;
use vestibule_tests::{
    edge::keys,
    template::{read_api_document, read_template, read_text},
};

/// A method, a path, and the logical id of the function that serves it.
type Route = (String, String, String);

const ORIGIN: &str = "https://shop.example";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Two functions know it, so that a process which serves all routes and one that serves the visitors' have it alike.
const SHARED: &str = "/queues/{queue}/entries/{token}/extend";

#[test]
fn the_document_and_the_events_list_the_same_routes() {
    assert_eq!(of_document(), of_events());
}

#[tokio::test]
async fn a_route_is_known_to_its_function_and_to_no_other() {
    let (functions, _dir) = functions();
    let listed = of_document();
    let paths: BTreeSet<_> = listed.iter().map(|(_, path, _)| path).collect();
    for path in paths {
        for method in METHODS {
            let owner = listed
                .iter()
                .find_map(|(m, p, owner)| (m == method && p == path).then_some(owner.as_str()));
            for (function, router) in &functions {
                let expected = owner == Some(function);
                let known = knows(router, method, path).await;
                let is_shared = path == SHARED && method == "POST";
                assert!(
                    known == expected || (is_shared && known),
                    "{function} knows {method} {path}: {known}, and the document says {expected}"
                );
            }
        }
    }
}

#[test]
fn the_routers_have_no_other_paths() {
    let listed: BTreeSet<_> = of_document().into_iter().map(|(_, path, _)| path).collect();
    // A router does not say what it knows; its source does.
    let source = read_text("shared/src/http/routes.rs");
    let known: BTreeSet<_> = source
        .split('"')
        .filter(|literal| literal.starts_with('/') && !literal.contains(char::is_whitespace))
        .map(str::to_owned)
        .collect();
    assert_eq!(listed, known);
}

#[tokio::test]
async fn preflights_are_answered_where_the_document_sends_them() {
    let (functions, _dir) = functions();
    let preflights: Vec<_> = of_document()
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
            .uri(filled(path))
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
    // Whatever a visitor's page calls with a header of ours has one.
    let has_preflight: BTreeSet<_> = preflights.iter().map(|(_, path, _)| path.as_str()).collect();
    for (path, _, operation) in operations(&read_api_document()) {
        if operation["tags"][0] == "visitor" {
            assert!(has_preflight.contains(path.as_str()), "{path}");
        }
    }
}

fn of_document() -> BTreeSet<Route> {
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

fn of_events() -> BTreeSet<Route> {
    let template = read_template();
    let resources = template["Resources"].as_object().expect("resources");
    let mut routes = BTreeSet::new();
    for (function, resource) in resources {
        let events = resource["Properties"]["Events"].as_object();
        for event in events.into_iter().flat_map(|events| events.values()) {
            let said = &event["Properties"];
            if event["Type"] == "Api" {
                assert_eq!(said["RestApiId"]["Ref"], "Api", "{function}");
                let word = |name: &str| said[name].as_str().expect("a text").to_owned();
                routes.insert((word("Method"), word("Path"), function.clone()));
            }
        }
    }
    routes
}

/// Path, method in upper case, and what stands there.
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

fn functions() -> ([(&'static str, Router); 3], TempDir) {
    let dir = tempfile::tempdir().expect("a folder");
    let backup = FileBackup::open(dir.path().join("store")).expect("a store");
    let config = ApiConfig {
        origins: Origins::Listed(vec![ORIGIN.parse().expect("a header value")]),
        ..ApiConfig::default()
    };
    let (_, stopped) = watch::channel(false);
    let edge = ApiState::new(
        Arc::new(MemoryLine::new()),
        Arc::new(backup),
        keys(),
        config,
        stopped,
    );
    let routers = [
        ("EnterFunction", enter_routes(edge.clone())),
        ("StatusFunction", status_routes(edge.clone())),
        ("ValidateFunction", validate_routes(edge)),
    ];
    (routers, dir)
}

fn filled(path: &str) -> String {
    path.replace("{queue}", "a")
        .replace("{token}", "1777853d-5d52-8cab-a8ce-928d525f6d31")
}

/// There is no queue, so no route does anything; a problem's code tells a route from none.
async fn knows(router: &Router, method: &str, path: &str) -> bool {
    let request = Request::builder()
        .method(method)
        .uri(filled(path))
        .body(Body::empty())
        .expect("a request");
    let Ok(response) = router.clone().oneshot(request).await;
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    body["code"] != "unknown-route" && body["code"] != "method-not-allowed"
}
