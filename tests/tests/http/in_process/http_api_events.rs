//! Events of an HTTP API (payload 2.0), as `cargo lambda watch` and function URLs send them.

use serde_json::{Value, json};
use vestibule_api::config::{ApiConfig, ServiceRoutes, VisitorRoutes};
use vestibule_tests::in_process::{INVOCATION_ID, InProcessApi, QUEUE};

use super::new_visitor_id;

super::cases![
    a_visit_works_by_events_of_payload_2,
    a_stage_or_route_leads_to_the_same_queue,
    only_an_authorizer_of_the_event_proves_the_caller,
    a_field_of_a_custom_authorizer_names_the_visitor,
    a_visitor_id_sent_twice_is_refused,
    an_event_that_makes_no_request_is_refused,
];

/// Returns an event as `cargo lambda watch` sends it: the complete path, without a route and an identity.
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

fn with_authorizer(mut event: Value, authorizer: Value) -> Value {
    event["requestContext"]["authorizer"] = authorizer;
    event
}

fn entries_path() -> String {
    format!("/queues/{QUEUE}/entries")
}

async fn a_visit_works_by_events_of_payload_2() {
    let api = InProcessApi::start(json!({})).await;
    let id = new_visitor_id();
    let mut enter = with_header(event("POST", &entries_path()), "content-type", "application/json");
    enter["body"] = json!("{}");
    let entered = api.send_event(&with_header(enter, "x-visitor-id", &id)).await;
    let token = entered.expect_status(201).text("token").to_owned();
    let path = format!("{}/{token}", entries_path());
    assert_eq!(entered.header("location"), format!("entries/{token}"));
    assert_eq!(entered.header("x-request-id"), "gateway-request-2");

    let mut status = event("GET", &path);
    status["rawQueryString"] = json!("wait=-5");
    api.send_event(&status).await.expect_invalid_field("wait");
    status["rawQueryString"] = json!("wait=0");
    assert_eq!(
        api.send_event(&status).await.expect_status(200).text("state"),
        "active"
    );

    let mut validate = with_header(
        event("POST", &format!("{path}/validate")),
        "content-type",
        "application/json",
    );
    validate["body"] = json!(json!({ "visitor": id }).to_string());
    api.send_event(&validate).await.expect_status(200);
    api.send_event(&event("POST", &format!("{path}/complete")))
        .await
        .expect_status(204);
}

async fn a_stage_or_route_leads_to_the_same_queue() {
    let api = InProcessApi::start(json!({})).await;
    for (stage, used) in [
        ("$default", entries_path()),
        ("v1", format!("/v1{}", entries_path())),
        // A custom domain that maps to the stage.
        ("v1", entries_path()),
        ("queues", format!("/queues{}", entries_path())),
        (
            "$default",
            format!("/queues/{}/entries", QUEUE.replace(':', "%3A")),
        ),
    ] {
        let mut enter = event("POST", &used);
        enter["requestContext"]["stage"] = json!(stage);
        let response = api.send_event(&enter).await;
        assert_eq!(response.expect_status(201).text("queue"), QUEUE, "{used}");
    }
    // A route names its parameters, whatever precedes it in the path.
    let mut enter = event("POST", &format!("/shop/wait{}", entries_path()));
    enter["routeKey"] = json!("POST /queues/{queue}/entries");
    enter["requestContext"]["routeKey"] = enter["routeKey"].clone();
    enter["pathParameters"] = json!({ "queue": QUEUE });
    assert_eq!(
        api.send_event(&enter).await.expect_status(201).text("queue"),
        QUEUE
    );
}

async fn only_an_authorizer_of_the_event_proves_the_caller() {
    let config = ApiConfig {
        service_routes: ServiceRoutes::Iam,
        visitor_routes: VisitorRoutes::Open,
        ..ApiConfig::default()
    };
    let api = InProcessApi::start_with_config(config, json!({})).await;
    let jwt = |sub: &str| json!({ "jwt": { "claims": { "sub": sub }, "scopes": null } });
    let entered = api
        .send_event(&with_authorizer(event("POST", &entries_path()), jwt("ada")))
        .await;
    let path = format!("{}/{}", entries_path(), entered.expect_status(201).text("token"));
    let again = api
        .send_event(&with_authorizer(event("POST", &entries_path()), jwt("ada")))
        .await;
    assert_eq!(
        again.expect_status(200).text("token"),
        entered.text("token"),
        "the claim names the visitor"
    );
    let claim = || event("POST", &format!("{path}/claim"));
    api.send_event(&with_authorizer(claim(), jwt("bob")))
        .await
        .expect_problem(403, "token-owner-mismatch");
    api.send_event(&with_authorizer(claim(), jwt("ada")))
        .await
        .expect_status(200);

    let complete = || event("POST", &format!("{path}/complete"));
    for unproven in [
        complete(),
        with_authorizer(complete(), jwt("ada")),
        with_authorizer(
            complete(),
            json!({ "lambda": { "iam": { "userArn": "arn:aws:iam::1:role/shop" } } }),
        ),
        with_header(complete(), "x-api-key", "key"),
    ] {
        api.send_event(&unproven)
            .await
            .expect_problem(403, "service-only");
    }
    let iam = json!({ "iam": {
        "accessKey": "AKIDEXAMPLE", "accountId": "123456789012", "callerId": "AIDA",
        "userArn": "arn:aws:iam::123456789012:user/shop", "userId": "AIDA",
        "cognitoIdentity": null, "principalOrgId": null,
    } });
    api.send_event(&with_authorizer(complete(), iam))
        .await
        .expect_status(204);
}

async fn a_field_of_a_custom_authorizer_names_the_visitor() {
    let config = ApiConfig {
        visitor_claim: "customer".to_owned(),
        ..ApiConfig::default()
    };
    let api = InProcessApi::start_with_config(config, json!({})).await;
    let authorizer = json!({ "lambda": { "customer": "ada" } });
    let first = api
        .send_event(&with_authorizer(
            event("POST", &entries_path()),
            authorizer.clone(),
        ))
        .await;
    let again = api
        .send_event(&with_authorizer(event("POST", &entries_path()), authorizer))
        .await;
    assert_eq!(
        first.expect_status(201).text("token"),
        again.expect_status(200).text("token")
    );
}

/// An HTTP API joins the values of a repeated header with commas. So no visitor id may have a comma there, although the
/// id of a known visitor may have one elsewhere.
async fn a_visitor_id_sent_twice_is_refused() {
    let config = ApiConfig {
        visitor_routes: VisitorRoutes::Iam,
        ..ApiConfig::default()
    };
    let api = InProcessApi::start_with_config(config, json!({ "trust_client_visitor_id": true })).await;
    let iam = json!({ "iam": { "userArn": "arn:aws:iam::123456789012:user/shop" } });
    let enter = || with_authorizer(event("POST", &entries_path()), iam.clone());
    for joined in ["ada,bob", "ada,ada", "ada, bob", "ada,", ","] {
        let twice = with_header(enter(), "x-visitor-id", joined);
        let refused = api.send_event(&twice).await;
        let detail = refused.expect_invalid_field("X-Visitor-Id").text("detail");
        assert!(detail.contains("only once"), "{joined}: {detail}");
    }
    let once = with_header(enter(), "x-visitor-id", "ada");
    api.send_event(&once).await.expect_status(201);
}

/// A client writes the query, the headers and the body, and an event may come from elsewhere.
async fn an_event_that_makes_no_request_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let odd = |at: &str, value: Value| {
        let mut odd = event("POST", &entries_path());
        *odd.pointer_mut(at).expect("a field of the event") = value;
        odd
    };
    let mut base64 = event("POST", &entries_path());
    base64["isBase64Encoded"] = json!(true);
    base64["body"] = json!("{}");
    for (odd, field) in [
        (odd("/rawQueryString", json!("a=\"b\"")), "query"),
        (odd("/rawQueryString", json!("a=b c")), "query"),
        (odd("/rawQueryString", json!("a".repeat(70_000))), "query"),
        (odd("/rawPath", json!("")), "path"),
        (odd("/requestContext/http/method", json!("G E T")), "method"),
        (odd("/requestContext/http/method", json!(null)), "method"),
        (odd("/headers/host", json!("a\r\nb: c")), "headers"),
        (odd("/headers", json!({ "a b": "c" })), "headers"),
        (base64, "body"),
    ] {
        let refused = api.send_event(&odd).await;
        let refused = refused.expect_invalid_field(field);
        assert_eq!(refused.text("request_id"), "gateway-request-2", "{odd}");
    }
    for unreadable in [
        json!(null),
        json!([1]),
        json!("text"),
        json!({}),
        json!({ "requestContext": 5 }),
        odd("/headers", json!(5)),
        with_authorizer(event("POST", &entries_path()), json!("ada")),
    ] {
        let refused = api.send_event(&unreadable).await;
        let refused = refused.expect_invalid_field("event");
        assert_eq!(refused.text("request_id"), INVOCATION_ID, "{unreadable}");
    }
}
