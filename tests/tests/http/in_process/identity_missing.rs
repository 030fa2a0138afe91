//! Callers behind an authorizer whom it does not name.

use serde_json::{Value, json};
use vestibule_api::config::{ApiConfig, VisitorRoutes};
use vestibule_telemetry::metrics::{IDENTITIES_FOUND, IDENTITIES_MISSING};
use vestibule_tests::in_process::{ApiRequest, InProcessApi, QUEUE, event, with_claims, with_header};

use super::new_visitor_id;

super::cases![
    no_route_of_visitors_serves_a_caller_without_the_claim,
    a_claim_that_is_no_text_names_no_visitor,
    payload_2_events_without_the_claim_are_refused,
    found_and_missing_identities_are_counted_together,
    a_number_is_no_name_without_an_authorizer_either,
];

const ENTER: &str = "/queues/{queue}/entries";
const ENTRY: &str = "/queues/{queue}/entries/{token}";

pub(super) fn behind_an_authorizer() -> ApiConfig {
    ApiConfig {
        visitor_routes: VisitorRoutes::Authorizer,
        ..ApiConfig::default()
    }
}

fn enter() -> Value {
    event("POST", ENTER, &json!({ "queue": QUEUE }))
}

async fn no_route_of_visitors_serves_a_caller_without_the_claim() {
    // Also where the queue lets anyone enter.
    for settings in [json!({}), json!({ "visitors": "known" })] {
        let api = InProcessApi::start_with_config(behind_an_authorizer(), settings).await;
        let ada = api
            .send_event(&with_claims(enter(), &json!({ "sub": "ada" })))
            .await;
        let token = ada.expect_status(201).text("token").to_owned();
        let event_at =
            |method, resource: &str| event(method, resource, &json!({ "queue": QUEUE, "token": token }));
        let calls = api.line_calls();
        for request in [
            enter(),
            event_at("GET", ENTRY),
            event_at("DELETE", ENTRY),
            event_at("POST", &format!("{ENTRY}/claim")),
            event_at("POST", &format!("{ENTRY}/extend")),
        ] {
            for request in [
                request.clone(),
                with_claims(request.clone(), &json!({ "name": "ada" })),
                with_header(request, "X-Visitor-Id", &new_visitor_id()),
            ] {
                api.send_event(&request)
                    .await
                    .expect_problem(403, "identity-missing");
            }
        }
        assert_eq!(api.line_calls(), calls, "a refused caller costs the line nothing");
    }
}

async fn a_claim_that_is_no_text_names_no_visitor() {
    let api = InProcessApi::start_with_config(behind_an_authorizer(), json!({})).await;
    for value in [
        json!(7),
        json!(["ada"]),
        json!({ "id": "ada" }),
        json!(true),
        json!(null),
        json!(""),
    ] {
        for request in [
            with_claims(enter(), &json!({ "sub": value })),
            with_claims(
                with_header(enter(), "X-Visitor-Id", &new_visitor_id()),
                &json!({ "sub": value }),
            ),
        ] {
            let refused = api.send_event(&request).await;
            let detail = refused.expect_problem(403, "identity-missing").text("detail");
            assert!(detail.contains("claim as a text"), "{value}: {detail}");
        }
    }
}

async fn payload_2_events_without_the_claim_are_refused() {
    let api = InProcessApi::start_with_config(behind_an_authorizer(), json!({})).await;
    let path = format!("/queues/{QUEUE}/entries");
    let with_authorizer = |authorizer: Value| {
        json!({
            "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "",
            "headers": { "host": "localhost:9000", "x-visitor-id": new_visitor_id() },
            "requestContext": {
                "stage": "$default", "routeKey": "$default", "requestId": "gateway-request-2",
                "http": { "method": "POST", "path": path, "protocol": "http", "sourceIp": "127.0.0.1" },
                "timeEpoch": 1_795_262_400, "authorizer": authorizer,
            },
            "isBase64Encoded": false,
        })
    };
    for authorizer in [
        json!({}),
        json!({ "jwt": { "claims": { "name": "ada" }, "scopes": null } }),
        json!({ "jwt": { "claims": { "sub": "" }, "scopes": null } }),
        json!({ "lambda": { "sub": 7 } }),
        json!({ "lambda": { "sub": ["ada"] } }),
    ] {
        api.send_event(&with_authorizer(authorizer))
            .await
            .expect_problem(403, "identity-missing");
    }
    for authorizer in [
        json!({ "jwt": { "claims": { "sub": "ada" }, "scopes": null } }),
        json!({ "lambda": { "sub": "bob" } }),
    ] {
        let mut named = with_authorizer(authorizer);
        named["headers"]
            .as_object_mut()
            .expect("headers")
            .remove("x-visitor-id");
        api.send_event(&named).await.expect_status(201);
    }
}

async fn found_and_missing_identities_are_counted_together() {
    let mistyped = ApiConfig {
        visitor_claim: "suub".to_owned(),
        ..behind_an_authorizer()
    };
    let api = InProcessApi::start_with_config(mistyped, json!({})).await;
    let ada = with_claims(enter(), &json!({ "sub": "ada" }));
    api.send_event(&ada).await.expect_problem(403, "identity-missing");
    // What the alarm reads: missing identities, and that none was found.
    assert_eq!(api.written.values(IDENTITIES_MISSING), [1.0]);
    assert_eq!(api.written.values(IDENTITIES_FOUND), [0.0]);
    let line = &api.written.lines()[0];
    assert_eq!(line["Queue"], Value::Null, "a caller may invent a queue");

    let api = InProcessApi::start_with_config(behind_an_authorizer(), json!({})).await;
    api.send_event(&ada).await.expect_status(201);
    assert_eq!(api.written.values(IDENTITIES_FOUND), [1.0]);
    assert_eq!(api.written.values(IDENTITIES_MISSING), [0.0]);
    // Without an authorizer there is nothing to count.
    let open = InProcessApi::start(json!({})).await;
    open.send(ApiRequest::enter()).await.expect_status(201);
    assert!(open.written.values(IDENTITIES_FOUND).is_empty());
}

async fn a_number_is_no_name_without_an_authorizer_either() {
    let api = InProcessApi::start_with_config(ApiConfig::default(), json!({})).await;
    api.send_event(&with_claims(enter(), &json!({ "sub": 7 })))
        .await
        .expect_problem(403, "identity-missing");
    api.send_event(&enter()).await.expect_status(201);
}
