//! Requests from pages of other origins (CORS).

use axum::http::Method;
use serde_json::json;
use vestibule_tests::api::{ApiRequest, ApiResponse, Backend};

crate::cases![
    a_page_of_an_allowed_origin_can_read_responses,
    a_preflight_names_the_allowed_methods_and_headers,
];

const FOREIGN_ORIGIN: &str = "https://evil.example";

fn allowed_origin_of(response: &ApiResponse) -> Option<&str> {
    let origin = response.headers.get("access-control-allow-origin")?;
    Some(origin.to_str().expect("text"))
}

async fn a_page_of_an_allowed_origin_can_read_responses(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let request = queue.enter_request().header("origin", FOREIGN_ORIGIN);
    let foreign = backend.send(request).await;
    assert_ne!(
        allowed_origin_of(foreign.expect_status(201)),
        Some(FOREIGN_ORIGIN),
        "{foreign:?}"
    );
    let Some(origin) = backend.allowed_origin() else {
        return;
    };
    let entered = backend.send(queue.enter_request().header("origin", origin)).await;
    assert_eq!(allowed_origin_of(entered.expect_status(201)), Some(origin));
    assert_eq!(entered.header("access-control-allow-credentials"), "true");
    let exposed = entered.header("access-control-expose-headers").to_lowercase();
    assert!(
        exposed.contains("location") && exposed.contains("retry-after"),
        "{exposed}"
    );
    let token = "0f8fad5b-d9cb-869f-a165-70867728950e";
    for (path, status) in [
        (format!("/queues/nowhere/entries/{token}"), 404),
        (format!("/queues/a%20b/entries/{token}"), 400),
    ] {
        let problem = backend.send(ApiRequest::get(path).header("origin", origin)).await;
        assert_eq!(allowed_origin_of(problem.expect_status(status)), Some(origin));
    }
}

async fn a_preflight_names_the_allowed_methods_and_headers(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let preflight = |origin: &str| {
        ApiRequest::new(Method::OPTIONS, queue.path("/entries"))
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "x-visitor-id,content-type")
    };
    let foreign = backend.send(preflight(FOREIGN_ORIGIN)).await;
    assert_ne!(allowed_origin_of(&foreign), Some(FOREIGN_ORIGIN), "{foreign:?}");
    let Some(origin) = backend.allowed_origin() else {
        return;
    };
    let allowed = backend.send(preflight(origin)).await;
    assert!(allowed.status.is_success(), "{allowed:?}");
    assert_eq!(allowed_origin_of(&allowed), Some(origin));
    let methods = allowed.header("access-control-allow-methods").to_uppercase();
    assert!(
        methods.contains("POST") && methods.contains("DELETE"),
        "{methods}"
    );
    let headers = allowed.header("access-control-allow-headers").to_lowercase();
    assert!(
        headers.contains("x-visitor-id") && headers.contains("content-type"),
        "{headers}"
    );
}
