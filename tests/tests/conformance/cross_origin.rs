//! Pages of other sites.

use axum::http::Method;
use serde_json::json;
use vestibule_tests::{
    api::Backend,
    edge::{Answer, Ask},
};

crate::cases![a_page_may_call_where_the_deployment_says_so, a_browser_asks_first];

const STRANGER: &str = "https://evil.example";

fn allowed(answer: &Answer) -> Option<&str> {
    let origin = answer.headers.get("access-control-allow-origin")?;
    Some(origin.to_str().expect("text"))
}

async fn a_page_may_call_where_the_deployment_says_so(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let stranger = backend.send(queue.entering().header("origin", STRANGER)).await;
    assert_ne!(allowed(stranger.is(201)), Some(STRANGER), "{stranger:?}");
    let Some(origin) = backend.origin() else { return };
    let entered = backend.send(queue.entering().header("origin", origin)).await;
    assert_eq!(allowed(entered.is(201)), Some(origin));
    let exposed = entered.header("access-control-expose-headers").to_lowercase();
    assert!(
        exposed.contains("location") && exposed.contains("retry-after"),
        "{exposed}"
    );
    let problem = backend
        .send(Ask::get("/queues/nowhere").header("origin", origin))
        .await;
    assert_eq!(
        allowed(problem.is_problem(404, "unknown-queue")),
        Some(origin),
        "problems too"
    );
}

async fn a_browser_asks_first(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let ask = |origin: &str| {
        Ask::new(Method::OPTIONS, queue.path("/entries"))
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "x-visitor-id,content-type")
    };
    let stranger = backend.send(ask(STRANGER)).await;
    assert_ne!(allowed(&stranger), Some(STRANGER), "{stranger:?}");
    let Some(origin) = backend.origin() else { return };
    let own = backend.send(ask(origin)).await;
    assert!(own.status.is_success(), "{own:?}");
    assert_eq!(allowed(&own), Some(origin));
    let methods = own.header("access-control-allow-methods").to_uppercase();
    assert!(
        methods.contains("POST") && methods.contains("DELETE"),
        "{methods}"
    );
    let headers = own.header("access-control-allow-headers").to_lowercase();
    assert!(
        headers.contains("x-visitor-id") && headers.contains("content-type"),
        "{headers}"
    );
}
