//! Events of an HTTP API (payload 2.0), as `cargo lambda watch` and a function's own address send them.

use serde_json::{Value, json};
use vestibule_api::config::{ApiConfig, ServiceRoutes, VisitorRoutes};
use vestibule_tests::edge::{EdgeUnderTest, QUEUE};

use crate::stranger;

/// An event as `cargo lambda watch` makes it: no route, the whole path, no identity.
fn event(method: &str, path: &str) -> Value {
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": { "host": "localhost:9000" },
        "requestContext": {
            "stage": "$default",
            "routeKey": "$default",
            "requestId": "gateway-request-2",
            "domainName": "localhost",
            "domainPrefix": "enter",
            "http": {
                "method": method, "path": path, "protocol": "http",
                "sourceIp": "127.0.0.1", "userAgent": "curl",
            },
            "time": "21/Nov/2026:12:00:00 +0000",
            "timeEpoch": 1_795_262_400,
        },
        "isBase64Encoded": false,
    })
}

fn with_header(mut event: Value, name: &str, value: &str) -> Value {
    event["headers"][name] = json!(value);
    event
}

fn authorized(mut event: Value, by: Value) -> Value {
    event["requestContext"]["authorizer"] = by;
    event
}

fn entries() -> String {
    format!("/queues/{QUEUE}/entries")
}

#[tokio::test]
async fn a_visit_goes_through() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let id = stranger();
    let mut enter = with_header(event("POST", &entries()), "content-type", "application/json");
    enter["body"] = json!("{}");
    let entered = edge.send_event(&with_header(enter, "x-visitor-id", &id)).await;
    let token = entered.is(201).text("token").to_owned();
    let entry = format!("{}/{token}", entries());
    assert_eq!(entered.header("location"), entry);
    assert_eq!(entered.header("x-request-id"), "gateway-request-2");

    let mut look = event("GET", &entry);
    look["rawQueryString"] = json!("wait=-5");
    edge.send_event(&look).await.refuses("wait");
    look["rawQueryString"] = json!("wait=0");
    assert_eq!(edge.send_event(&look).await.is(200).text("state"), "active");

    let mut validate = with_header(
        event("POST", &format!("{entry}/validate")),
        "content-type",
        "application/json",
    );
    validate["body"] = json!(json!({ "visitor": id }).to_string());
    edge.send_event(&validate).await.is(200);
    edge.send_event(&event("POST", &format!("{entry}/complete")))
        .await
        .is(204);
}

#[tokio::test]
async fn stages_and_routes_lead_to_the_same_place() {
    let edge = EdgeUnderTest::open(json!({})).await;
    for (stage, used, prefix) in [
        ("$default", entries(), ""),
        ("v1", format!("/v1{}", entries()), "/v1"),
        // A mapping of a domain to the stage.
        ("v1", entries(), ""),
        ("queues", format!("/queues{}", entries()), "/queues"),
        (
            "$default",
            format!("/queues/{}/entries", QUEUE.replace(':', "%3A")),
            "",
        ),
    ] {
        let mut enter = event("POST", &used);
        enter["requestContext"]["stage"] = json!(stage);
        let answer = edge.send_event(&enter).await;
        let location = format!("{prefix}{}/{}", entries(), answer.is(201).text("token"));
        assert_eq!(answer.header("location"), location, "{used}");
    }
    // A route says where its parameters are, whatever stands before it.
    let mut enter = event("POST", &format!("/shop/wait{}", entries()));
    enter["routeKey"] = json!("POST /queues/{queue}/entries");
    enter["requestContext"]["routeKey"] = enter["routeKey"].clone();
    enter["pathParameters"] = json!({ "queue": QUEUE });
    let answer = edge.send_event(&enter).await;
    assert!(
        answer
            .is(201)
            .header("location")
            .starts_with("/shop/wait/queues/")
    );
}

#[tokio::test]
async fn nothing_is_vouched_for_unless_an_authorizer_says_so() {
    let config = ApiConfig {
        service_routes: ServiceRoutes::Iam,
        visitor_routes: VisitorRoutes::Open,
        ..ApiConfig::default()
    };
    let edge = EdgeUnderTest::with(config, json!({})).await;
    let jwt = |sub: &str| json!({ "jwt": { "claims": { "sub": sub }, "scopes": null } });
    let entered = edge
        .send_event(&authorized(event("POST", &entries()), jwt("ada")))
        .await;
    let entry = format!("{}/{}", entries(), entered.is(201).text("token"));
    let again = edge
        .send_event(&authorized(event("POST", &entries()), jwt("ada")))
        .await;
    assert_eq!(
        again.is(200).text("token"),
        entered.text("token"),
        "a claim names the visitor"
    );
    let claim = || event("POST", &format!("{entry}/claim"));
    edge.send_event(&authorized(claim(), jwt("bob")))
        .await
        .is_problem(403, "token-owner-mismatch");
    edge.send_event(&authorized(claim(), jwt("ada"))).await.is(200);

    let complete = || event("POST", &format!("{entry}/complete"));
    for nobody in [
        complete(),
        authorized(complete(), jwt("ada")),
        authorized(
            complete(),
            json!({ "lambda": { "iam": { "userArn": "arn:aws:iam::1:role/shop" } } }),
        ),
        with_header(complete(), "x-api-key", "key"),
    ] {
        edge.send_event(&nobody).await.is_problem(403, "service-only");
    }
    let iam = json!({ "iam": {
        "accessKey": "AKIDEXAMPLE", "accountId": "123456789012", "callerId": "AIDA",
        "userArn": "arn:aws:iam::123456789012:user/shop", "userId": "AIDA",
        "cognitoIdentity": null, "principalOrgId": null,
    } });
    edge.send_event(&authorized(complete(), iam)).await.is(204);
}

#[tokio::test]
async fn a_custom_authorizers_context_is_read_as_a_rest_apis_is() {
    let config = ApiConfig {
        visitor_claim: "customer".to_owned(),
        ..ApiConfig::default()
    };
    let edge = EdgeUnderTest::with(config, json!({})).await;
    let by = json!({ "lambda": { "customer": "ada" } });
    let first = edge
        .send_event(&authorized(event("POST", &entries()), by.clone()))
        .await;
    let again = edge.send_event(&authorized(event("POST", &entries()), by)).await;
    assert_eq!(first.is(201).text("token"), again.is(200).text("token"));
}
