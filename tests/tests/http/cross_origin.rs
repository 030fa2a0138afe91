//! Requests from pages of other origins (CORS).

use axum::http::Method;
use serde_json::json;
use vestibule_tests::api::{ApiRequest, ApiResponse, Backend};

crate::cases![
    a_page_of_an_allowed_origin_can_read_responses,
    a_preflight_names_the_allowed_methods_and_headers,
    a_write_of_a_foreign_page_without_a_preflight_has_no_effect,
];

const FOREIGN_ORIGIN: &str = "https://evil.example";

fn allowed_origin_of(response: &ApiResponse) -> Option<&str> {
    let origin = response.headers.get("access-control-allow-origin")?;
    Some(origin.to_str().expect("text"))
}

async fn a_page_of_an_allowed_origin_can_read_responses(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let request = queue
        .enter_request()
        .json(&json!({}))
        .header("origin", FOREIGN_ORIGIN);
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

/// What `fetch` with `no-cors` and a form send from any page. A browser adds the `Origin`, and the cookies of a sibling host.
async fn a_write_of_a_foreign_page_without_a_preflight_has_no_effect(backend: &Backend) {
    let Some(allowed) = backend.allowed_origin() else {
        return;
    };
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let before = queue.run_command(json!({ "op": "stats" })).await;
    let visitor = |request: ApiRequest| request.visitor(&active.id);
    for path in [
        queue.path("/entries"),
        active.path("/claim"),
        active.path("/extend"),
    ] {
        for origin in [FOREIGN_ORIGIN, "null", ""] {
            for request in [
                ApiRequest::post(&path),
                ApiRequest::post(&path).raw("text/plain", ""),
            ] {
                let refused = backend.send(visitor(request).header("origin", origin)).await;
                refused.expect_problem(403, "foreign-origin");
            }
        }
    }
    let after = queue.run_command(json!({ "op": "stats" })).await;
    for count in ["waiting", "active", "totals"] {
        assert_eq!(before[count], after[count], "{count}");
    }
    let own = backend.own_origin();
    for origin in [Some(allowed), Some(own.as_str()), None] {
        let request = queue.enter_request();
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        backend.send(request).await.expect_status(201);
    }
}
