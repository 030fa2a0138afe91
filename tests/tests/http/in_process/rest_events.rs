//! Events of a REST API of API Gateway (payload 1.0).

use serde_json::{Value, json};
use vestibule_api::config::ApiConfig;
use vestibule_tests::in_process::{InProcessApi, QUEUE, event, with_header};

use super::new_visitor_id;

super::cases![
    the_location_is_right_behind_any_address,
    a_queue_id_is_decoded_once,
    the_body_and_the_query_of_an_event_reach_the_route,
    an_event_without_a_resource_is_routed_by_its_path,
    a_visitor_id_sent_twice_is_refused,
    an_event_that_makes_no_request_is_refused,
    a_field_that_no_route_reads_may_hold_anything,
    headers_that_are_not_ascii_are_let_through,
];

const ENTER: &str = "/queues/{queue}/entries";
const ENTRY: &str = "/queues/{queue}/entries/{token}";

async fn the_location_is_right_behind_any_address() {
    let api = InProcessApi::start_with_config(ApiConfig::default(), json!({})).await;
    let entries = format!("/queues/{QUEUE}/entries");
    // A stage, a domain without one, a distribution, which leaves the stage out, and a base path.
    for (client_path, event_path) in [
        (format!("/Prod{entries}"), format!("/Prod{entries}")),
        (entries.clone(), entries.clone()),
        (entries.clone(), format!("/Prod{entries}")),
        (format!("/shop/wait{entries}"), format!("/shop/wait{entries}")),
    ] {
        let mut enter = event("POST", ENTER, &json!({ "queue": QUEUE }));
        enter["path"] = json!(event_path);
        enter["requestContext"]["path"] = json!(event_path);
        let response = api.send_event(&enter).await;
        let token = response.expect_status(201).text("token");
        let asked: reqwest::Url = format!("https://shop.example{client_path}")
            .parse()
            .expect("a URL");
        let location = asked.join(response.header("location")).expect("a URL");
        assert_eq!(location.path(), format!("{client_path}/{token}"));
        assert_eq!(response.header("x-request-id"), "gateway-request-1");
    }
}

async fn a_queue_id_is_decoded_once() {
    let api = InProcessApi::start_with_config(ApiConfig::default(), json!({})).await;
    for (id, status) in [
        (QUEUE, 201),
        ("TIMEDEAL%3A123", 201),
        ("%54IMEDEAL%3a123", 201),
        ("TIMEDEAL%253A123", 400),
        ("TIMEDEAL:123%0A", 400),
        ("{TIMEDEAL:123}", 400),
        ("TIMEDEAL/123", 400),
        ("..", 400),
        ("%", 400),
        ("%FF", 400),
        ("TIMEDEAL+123", 400),
    ] {
        let mut enter = event("POST", ENTER, &json!({ "queue": id }));
        enter["path"] = json!("/queues/x/entries");
        let response = api.send_event(&enter).await;
        response.expect_status(status);
        if status == 400 {
            assert_eq!(
                response.expect_invalid_field("queue").text("request_id"),
                "gateway-request-1"
            );
        }
    }
}

async fn the_body_and_the_query_of_an_event_reach_the_route() {
    let api = InProcessApi::start_with_config(ApiConfig::default(), json!({})).await;
    let id = new_visitor_id();
    let mut enter = with_header(
        event("POST", ENTER, &json!({ "queue": QUEUE })),
        "X-Visitor-Id",
        &id,
    );
    let entered = api.send_event(&enter).await;
    let token = entered.expect_status(201).text("token").to_owned();
    enter = with_header(enter, "Content-Type", "application/json");
    // `{"a":1}` in base64, as the gateway passes on a body that it takes for binary.
    enter["body"] = json!("eyJhIjoxfQ==");
    enter["isBase64Encoded"] = json!(true);
    api.send_event(&enter).await.expect_invalid_field("a");

    let mut status = event("GET", ENTRY, &json!({ "queue": QUEUE, "token": token }));
    status["queryStringParameters"] = json!({ "wait": "5" });
    status["multiValueQueryStringParameters"] = json!({ "wait": ["-5"] });
    api.send_event(&status).await.expect_invalid_field("wait");
    status["multiValueQueryStringParameters"] = json!({ "wait": ["0"] });
    let active = api.send_event(&status).await;
    assert_eq!(active.expect_status(200).text("state"), "active");

    let mut leave = event("DELETE", ENTRY, &json!({ "queue": QUEUE, "token": token }));
    leave = with_header(leave, "X-Visitor-Id", &id);
    leave["multiValueQueryStringParameters"] = json!({ "visit": [entered.number("visit").to_string()] });
    api.send_event(&leave).await.expect_status(204);
}

async fn an_event_without_a_resource_is_routed_by_its_path() {
    let api = InProcessApi::start_with_config(ApiConfig::default(), json!({})).await;
    let mut view = event("GET", "/queues/{queue}", &json!({ "queue": QUEUE }));
    view["requestContext"]["resourcePath"] = json!(null);
    api.send_event(&view).await.expect_status(200);
}

/// A REST API has all values of a header in `multiValueHeaders`, under each spelling of its name, and the last one in
/// `headers`.
async fn a_visitor_id_sent_twice_is_refused() {
    let api = InProcessApi::start_with_config(ApiConfig::default(), json!({})).await;
    let (ada, bob) = (new_visitor_id(), new_visitor_id());
    let enter = event("POST", ENTER, &json!({ "queue": QUEUE }));
    for (single, all) in [
        (
            json!({ "X-Visitor-Id": bob }),
            json!({ "X-Visitor-Id": [ada, bob] }),
        ),
        (
            json!({ "x-visitor-id": ada }),
            json!({ "x-visitor-id": [ada, ada] }),
        ),
        (
            json!({ "X-Visitor-Id": ada, "x-visitor-id": bob }),
            json!({ "X-Visitor-Id": [ada], "x-visitor-id": [bob] }),
        ),
    ] {
        let mut twice = enter.clone();
        twice["headers"] = single;
        twice["multiValueHeaders"] = all;
        let refused = api.send_event(&twice).await;
        let detail = refused.expect_invalid_field("X-Visitor-Id").text("detail");
        assert!(detail.contains("only once"), "{detail}");
    }
    let once = with_header(enter, "X-Visitor-Id", &ada);
    api.send_event(&once).await.expect_status(201);
}

/// An operator may send any event by hand.
async fn an_event_that_makes_no_request_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let odd = |at: &str, value: Value| {
        let mut odd = event("POST", ENTER, &json!({ "queue": QUEUE }));
        *odd.pointer_mut(at).expect("a field of the event") = value;
        odd
    };
    let mut base64 = odd("/isBase64Encoded", json!(true));
    base64["body"] = json!("{}");
    let mut no_slash = odd("/requestContext/resourcePath", json!(null));
    no_slash["path"] = json!("queues");
    for (odd, field) in [
        (base64, "body"),
        (no_slash, "path"),
        (odd("/requestContext/resourcePath", json!("/a b")), "path"),
        (odd("/httpMethod", json!("")), "method"),
        (odd("/headers/Host", json!("\u{0}")), "headers"),
        (odd("/multiValueHeaders", json!({ "\u{0}": ["a"] })), "headers"),
    ] {
        let refused = api.send_event(&odd).await;
        let refused = refused.expect_invalid_field(field);
        assert_eq!(refused.text("request_id"), "gateway-request-1", "{odd}");
    }
}

/// A gateway in front may pass on what a client wrote. None of this is a part of the request that the route answers.
async fn a_field_that_no_route_reads_may_hold_anything() {
    let api = InProcessApi::start(json!({})).await;
    for (at, value) in [
        ("/headers/Host", json!("a b:99999")),
        ("/headers/X-Forwarded-Proto", json!("<>")),
        ("/path", json!("no/slash?#")),
        ("/stageVariables", json!([1])),
        ("/requestContext/stage", json!("//")),
        ("/multiValueQueryStringParameters", json!({ "a": [] })),
        ("/queryStringParameters", json!({ "a\"": "<b>&\u{0}" })),
    ] {
        let mut view = with_header(
            event("GET", "/queues/{queue}", &json!({ "queue": QUEUE })),
            "X-Forwarded-Proto",
            "https",
        );
        view.pointer_mut(at)
            .expect("a field of the event")
            .clone_from(&value);
        if at.starts_with("/headers") {
            view["multiValueHeaders"] = json!(null);
        }
        let answer = api.send_event(&view).await;
        assert_eq!(answer.status, 200, "{at} {value}: {answer:?}");
    }
}

/// A browser sends the cookies that other programs of a shop have set, and the address of the page before.
async fn headers_that_are_not_ascii_are_let_through() {
    let api = InProcessApi::start_with_config(ApiConfig::default(), json!({})).await;
    let mut enter = event("POST", ENTER, &json!({ "queue": QUEUE }));
    for (name, value) in [
        ("Referer", "https://shop.example/größe"),
        ("Cookie", "greeting=grüezi"),
        ("X-Visitor-Id", &new_visitor_id()),
    ] {
        enter = with_header(enter, name, value);
    }
    api.send_event(&enter).await.expect_status(201);
}
