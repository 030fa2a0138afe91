//! Invalid requests that a gateway may rewrite or answer itself, sent to the routes as they are.

use serde_json::json;
use vestibule_tests::{
    api::new_visitor_id,
    in_process::{ApiRequest, InProcessApi, entry_path},
};

use super::enter_and_expect_created;

super::cases![
    the_root_is_no_route,
    a_body_that_is_no_utf_8_is_refused,
    an_empty_content_type_is_refused,
    a_path_is_decoded_once,
    an_ambiguous_query_parameter_is_refused,
    an_ambiguous_visitor_id_is_refused,
];

async fn the_root_is_no_route() {
    let api = InProcessApi::start(json!({})).await;
    let response = api.send(ApiRequest::get("/")).await;
    response.expect_problem(404, "unknown-route");
}

async fn a_body_that_is_no_utf_8_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let request = ApiRequest::enter().raw("application/json", vec![0xff, 0xfe]);
    api.send(request).await.expect_invalid_field("body");
}

async fn an_empty_content_type_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let complete = ApiRequest::post(format!("{}/complete", entry_path(&guest.token)));
    for request in [ApiRequest::enter().raw("", "{}"), complete.raw("text/plain", "")] {
        let refused = api.send(request).await;
        refused.expect_problem(415, "unsupported-media-type");
    }
}

async fn a_path_is_decoded_once() {
    let api = InProcessApi::start(json!({})).await;
    for (path, field) in [
        ("/queues/demo%253A1", "queue"),
        ("/queues/a%00", "queue"),
        ("/queues/a%0d%0ab", "queue"),
        ("/queues/%FF", "path"),
        (&entry_path("a%0Ab"), "token"),
    ] {
        api.send(ApiRequest::get(path)).await.expect_invalid_field(field);
    }
}

async fn an_ambiguous_query_parameter_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let path = |query: &str| format!("{}?{query}", entry_path(&guest.token));
    for query in ["wait=", "wait=+5", "wait=%2B5", "wait=5&wait=5"] {
        let refused = api.send(ApiRequest::get(path(query))).await;
        refused.expect_invalid_field("wait");
    }
    let leave = ApiRequest::delete(path("visit=")).visitor(&guest.id);
    api.send(leave).await.expect_invalid_field("visit");
}

async fn an_ambiguous_visitor_id_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let two_headers = ApiRequest::enter()
        .visitor(&new_visitor_id())
        .visitor(&new_visitor_id());
    for request in [
        ApiRequest::enter().visitor(""),
        ApiRequest::enter().visitor("ü"),
        two_headers,
    ] {
        api.send(request).await.expect_invalid_field("X-Visitor-Id");
    }
}
