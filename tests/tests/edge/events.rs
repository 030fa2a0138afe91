//! Events of API Gateway: stages, encoded ids, and what the gateway vouches for.

use serde_json::json;
use vestibule_api::config::ApiConfig;
use vestibule_tests::edge::{EdgeUnderTest, QUEUE, event, with_header};

use crate::stranger;

const ENTER: &str = "/queues/{queue}/entries";
const LOOK: &str = "/queues/{queue}/entries/{token}";

#[tokio::test]
async fn stages_and_base_paths_never_matter() {
    let edge = EdgeUnderTest::with(ApiConfig::default(), json!({})).await;
    for (used, prefix) in [
        (format!("/Prod/queues/{QUEUE}/entries"), "/Prod"),
        (format!("/queues/{QUEUE}/entries"), ""),
        (format!("/shop/wait/queues/{QUEUE}/entries"), "/shop/wait"),
        (String::new(), ""),
    ] {
        let mut enter = event("POST", ENTER, &json!({ "queue": QUEUE }));
        enter["path"] = json!(if used.is_empty() { "/" } else { &used });
        enter["requestContext"]["path"] = json!(used);
        let answer = edge.send_event(&enter).await;
        let location = format!("{prefix}/queues/{QUEUE}/entries/{}", answer.is(201).text("token"));
        assert_eq!(answer.header("location"), location);
        assert_eq!(answer.header("x-request-id"), "gateway-request-1");
    }
}

#[tokio::test]
async fn ids_are_decoded_once_and_only_where_they_are_encoded() {
    let edge = EdgeUnderTest::with(ApiConfig::default(), json!({})).await;
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
        let answer = edge.send_event(&enter).await;
        answer.is(status);
        if status == 400 {
            assert_eq!(answer.refuses("queue").text("request_id"), "gateway-request-1");
        }
    }
}

#[tokio::test]
async fn bodies_and_queries_come_through() {
    let edge = EdgeUnderTest::with(ApiConfig::default(), json!({})).await;
    let id = stranger();
    let mut enter = with_header(
        event("POST", ENTER, &json!({ "queue": QUEUE })),
        "X-Visitor-Id",
        &id,
    );
    let entered = edge.send_event(&enter).await;
    let token = entered.is(201).text("token").to_owned();
    enter = with_header(enter, "Content-Type", "application/json");
    // `{"a":1}`, as the gateway hands over what it takes for binary.
    enter["body"] = json!("eyJhIjoxfQ==");
    enter["isBase64Encoded"] = json!(true);
    edge.send_event(&enter).await.refuses("a");

    let mut look = event("GET", LOOK, &json!({ "queue": QUEUE, "token": token }));
    look["queryStringParameters"] = json!({ "wait": "5" });
    look["multiValueQueryStringParameters"] = json!({ "wait": ["-5"] });
    edge.send_event(&look).await.refuses("wait");
    look["multiValueQueryStringParameters"] = json!({ "wait": ["0"] });
    let seen = edge.send_event(&look).await;
    assert_eq!(seen.is(200).text("state"), "active");

    let mut leave = event("DELETE", LOOK, &json!({ "queue": QUEUE, "token": token }));
    leave = with_header(leave, "X-Visitor-Id", &id);
    leave["multiValueQueryStringParameters"] = json!({ "visit": [entered.number("visit").to_string()] });
    edge.send_event(&leave).await.is(204);
}

#[tokio::test]
async fn an_event_without_a_resource_goes_by_its_path() {
    let edge = EdgeUnderTest::with(ApiConfig::default(), json!({})).await;
    let mut view = event("GET", "/queues/{queue}", &json!({ "queue": QUEUE }));
    view["requestContext"]["resourcePath"] = json!(null);
    edge.send_event(&view).await.is(200);
}
