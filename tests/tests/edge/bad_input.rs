//! Whatever is wrong is refused by name, and changes nothing.

use axum::http::Method;
use serde_json::{Value, json};
use vestibule_line::QueueLine;
use vestibule_tests::edge::{Ask, EdgeUnderTest, QUEUE, entry, queue};

use crate::{enters, stranger};

#[tokio::test]
async fn bodies_that_are_none_of_ours() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, _) = enters(&edge).await;
    let before = edge.line.queue_view(&queue()).await.expect("the queue").version;
    let at = |what: &str| Ask::post(format!("{}/{what}", entry(&guest.token)));
    let enter = || Ask::enter().visitor(&stranger());

    for broken in ["{", "{\"a\":}", "nonsense", "\u{0}", "{}{}"] {
        edge.send(enter().raw("application/json", broken))
            .await
            .refuses("body");
    }
    edge.send(enter().raw("application/json", vec![0xff, 0xfe]))
        .await
        .refuses("body");
    for no_object in ["[]", "1", "null", "\"x\""] {
        edge.send(enter().raw("application/json", no_object))
            .await
            .refuses("body");
    }
    for large in [8 * 1024 + 1, 1024 * 1024] {
        let body = format!("{{\"message\":\"{}\"}}", "x".repeat(large));
        edge.send(enter().raw("application/json", body))
            .await
            .is_problem(413, "body-too-large");
    }
    for other in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "",
    ] {
        edge.send(enter().raw(other, "{}"))
            .await
            .is_problem(415, "unsupported-media-type");
    }
    edge.send(at("complete").raw("text/plain", ""))
        .await
        .is_problem(415, "unsupported-media-type");

    for (what, body, field) in [
        ("validate", json!({ "visitor": 1 }), "visitor"),
        (
            "validate",
            json!({ "visitor": guest.id, "consume": "yes" }),
            "consume",
        ),
        ("validate", json!({ "pass": ["x"] }), "pass"),
        (
            "validate",
            json!({ "visitor": guest.id, "consumed": true }),
            "consumed",
        ),
        ("validate", json!({ "visitor": guest.id, "visit": 4096 }), "visit"),
        ("complete", json!({ "visit": -1 }), "visit"),
        ("complete", json!({ "visit": "1" }), "visit"),
        ("complete", json!({ "visit": 1.5 }), "visit"),
        ("extend", json!({ "seconds": 0 }), "seconds"),
        ("extend", json!({ "seconds": -5 }), "seconds"),
        ("extend", json!({ "seconds": 1e30 }), "seconds"),
        ("claim", json!({ "visitor": guest.id }), "visitor"),
    ] {
        edge.send(at(what).visitor(&guest.id).json(&body))
            .await
            .refuses(field);
    }
    edge.send(enter().json(&json!({ "priority": 1 })))
        .await
        .refuses("priority");
    edge.send(enter().json(&json!({ "priority": null })))
        .await
        .refuses("priority");

    let after = edge.line.queue_view(&queue()).await.expect("the queue").version;
    assert_eq!(after, before, "nothing changed");
}

#[tokio::test]
async fn ids_that_are_none() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let token = "0f8fad5b-d9cb-869f-a165-70867728950e";
    for queue in [
        "%7Bdemo%7D",
        "a%0Ab",
        "a%0d%0ab",
        "-a",
        "a%20b",
        "%C3%BC",
        "a%00",
        &"a".repeat(129),
    ] {
        edge.send(Ask::post(format!("/queues/{queue}/entries")))
            .await
            .refuses("queue");
        edge.send(Ask::get(format!("/queues/{queue}")))
            .await
            .refuses("queue");
        edge.send(Ask::get(format!("/queues/{queue}/entries/{token}")))
            .await
            .refuses("queue");
    }
    // Decoded once and no more: what is left of it is no id.
    edge.send(Ask::get("/queues/demo%253A1")).await.refuses("queue");
    edge.send(Ask::get("/queues/%FF")).await.refuses("path");
    let version_4 = stranger();
    for token in [
        "x",
        "%7B%7D",
        "a%0Ab",
        version_4.as_str(),
        "0f8fad5bd9cb869fa16570867728950e",
    ] {
        edge.send(Ask::get(entry(token))).await.refuses("token");
        edge.send(Ask::delete(entry(token))).await.refuses("token");
        edge.send(Ask::post(format!("{}/complete", entry(token))))
            .await
            .refuses("token");
    }
}

#[tokio::test]
async fn queries_that_make_no_sense() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, _) = enters(&edge).await;
    for wait in [
        "-1",
        "61",
        "x",
        "",
        "1.5",
        "+5",
        "%2B5",
        "99999999999999999999",
        "5&wait=5",
    ] {
        let ask = Ask::get(format!("{}?wait={wait}", entry(&guest.token)));
        edge.send(ask).await.refuses("wait");
    }
    for prefer in ["wait=-1", "respond-async, WAIT=61", "wait=\"x\"; foo"] {
        edge.send(Ask::get(entry(&guest.token)).header("prefer", prefer))
            .await
            .refuses("wait");
    }
    for fine in ["respond-async", "wait", "wait=0", "handling=lenient; wait=x"] {
        edge.send(Ask::get(entry(&guest.token)).header("prefer", fine))
            .await
            .is(200);
    }
    for visit in ["-1", "4096", "x", ""] {
        let ask = Ask::delete(format!("{}?visit={visit}", entry(&guest.token))).visitor(&guest.id);
        edge.send(ask).await.refuses("visit");
    }
    edge.send(Ask::get(entry(&guest.token))).await.is(200);
}

#[tokio::test]
async fn addresses_and_methods_that_are_not_there() {
    let edge = EdgeUnderTest::open(json!({})).await;
    edge.send(Ask::get("/")).await.is_problem(404, "unknown-route");
    edge.send(Ask::get("/queues"))
        .await
        .is_problem(404, "unknown-route");
    let put = edge
        .send(Ask::new(Method::PUT, format!("/queues/{QUEUE}/entries")))
        .await;
    assert_eq!(put.is_problem(405, "method-not-allowed").header("allow"), "POST");
    for ask in [
        Ask::get("/queues/nowhere"),
        Ask::post("/queues/nowhere/entries"),
        Ask::get("/queues/nowhere/entries/0f8fad5b-d9cb-869f-a165-70867728950e"),
        Ask::post("/queues/nowhere/entries/0f8fad5b-d9cb-869f-a165-70867728950e/complete"),
    ] {
        edge.send(ask).await.is_problem(404, "unknown-queue");
    }
}

#[tokio::test]
async fn a_request_id_is_never_the_clients() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let look = || Ask::get(format!("/queues/{QUEUE}")).header("x-request-id", "mine");
    let (first, second) = (edge.send(look()).await, edge.send(look()).await);
    assert_ne!(first.header("x-request-id"), "mine");
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

#[tokio::test]
async fn a_page_may_call_where_the_deployment_says_so() {
    use vestibule_api::config::Origins;
    let origin = "https://shop.example";
    let mut config = vestibule_tests::edge::local();
    config.origins = Origins::Listed(vec![origin.parse().expect("a value")]);
    let edge = EdgeUnderTest::with(config.clone(), json!({})).await;
    let enter = edge.send(Ask::enter().header("origin", origin)).await;
    assert_eq!(enter.is(201).header("access-control-allow-origin"), origin);
    assert_eq!(enter.header("access-control-allow-credentials"), "true");
    let exposed = enter.header("access-control-expose-headers").to_lowercase();
    assert!(
        exposed.contains("location") && exposed.contains("retry-after"),
        "{exposed}"
    );
    let refused = edge
        .send(Ask::get("/queues/x y".replace(' ', "%20")).header("origin", origin))
        .await;
    assert_eq!(
        refused.refuses("queue").header("access-control-allow-origin"),
        origin,
        "problems too"
    );
    let preflight = Ask::new(Method::OPTIONS, format!("/queues/{QUEUE}/entries"))
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "x-visitor-id,content-type");
    let preflight = edge.send(preflight).await;
    assert!(
        preflight
            .is(200)
            .header("access-control-allow-headers")
            .contains("x-visitor-id")
    );
    let stranger = edge
        .send(Ask::enter().header("origin", "https://evil.example"))
        .await;
    assert!(
        !stranger.headers.contains_key("access-control-allow-origin"),
        "{stranger:?}"
    );

    config.origins = Origins::Any;
    let edge = EdgeUnderTest::with(config, json!({})).await;
    let any = edge
        .send(Ask::enter().header("origin", "https://any.example"))
        .await;
    assert_eq!(any.is(201).header("access-control-allow-origin"), "*");
    assert!(
        !any.headers.contains_key("access-control-allow-credentials"),
        "{any:?}"
    );
    assert_ne!(any.body, Value::Null);
}
