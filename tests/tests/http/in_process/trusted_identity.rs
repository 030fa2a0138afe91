//! Visitors whom an authorizer or a trusted caller names.

use serde_json::json;
use vestibule_api::config::{ApiConfig, VisitorRoutes};
use vestibule_tests::in_process::{
    ApiRequest, InProcessApi, QUEUE, entry_path, event, local_config, with_claims, with_header,
};

use super::new_visitor_id;

super::cases![
    only_a_trusted_caller_names_the_visitor,
    the_verified_claim_names_the_visitor_whatever_headers_say,
    a_configured_field_of_the_authorizer_names_the_visitor,
    an_invalid_claim_is_refused_by_name,
    a_visitor_who_logs_in_keeps_the_anonymous_place,
    a_page_without_a_script_says_that_a_login_needs_one,
];

const ENTER: &str = "/queues/{queue}/entries";
const ENTRY: &str = "/queues/{queue}/entries/{token}";
const CLAIM: &str = "/queues/{queue}/entries/{token}/claim";

async fn only_a_trusted_caller_names_the_visitor() {
    let trusting = json!({ "trust_client_visitor_id": true });
    let api = InProcessApi::start_with_config(local_config(), trusting.clone()).await;
    let ada = api.send(ApiRequest::enter().visitor("ada")).await;
    assert_eq!(
        api.send(ApiRequest::enter().visitor("ada")).await.text("token"),
        ada.expect_status(201).text("token")
    );
    let get_status = |id: &str| ApiRequest::get(entry_path(ada.text("token"))).visitor(id);
    assert!(api.send(get_status("ada")).await.expect_status(200).body["pass"].is_string());
    api.send(get_status("bob"))
        .await
        .expect_problem(403, "token-owner-mismatch");

    // The setting alone is not enough if every client can reach the routes.
    let open = InProcessApi::start_with_config(ApiConfig::default(), trusting.clone()).await;
    let named = with_header(
        event("POST", ENTER, &json!({ "queue": QUEUE })),
        "X-Visitor-Id",
        "ada",
    );
    open.send_event(&named).await.expect_invalid_field("X-Visitor-Id");

    let config = ApiConfig {
        visitor_routes: VisitorRoutes::ApiKey,
        ..ApiConfig::default()
    };
    let guarded = InProcessApi::start_with_config(config, trusting).await;
    guarded
        .send_event(&named)
        .await
        .expect_invalid_field("X-Visitor-Id");
    let mut with_key = named.clone();
    with_key["requestContext"]["identity"]["apiKeyId"] = json!("key1");
    guarded.send_event(&with_key).await.expect_status(201);
    // A claim that an authorizer verified takes precedence over what a caller with an API key says.
    let claimed = with_claims(with_key, &json!({ "sub": "bob" }));
    guarded
        .send_event(&claimed)
        .await
        .expect_invalid_field("X-Visitor-Id");
    let forged = with_header(named, "X-Api-Key", "key1");
    guarded
        .send_event(&forged)
        .await
        .expect_invalid_field("X-Visitor-Id");
}

async fn the_verified_claim_names_the_visitor_whatever_headers_say() {
    let api =
        InProcessApi::start_with_config(ApiConfig::default(), json!({ "trust_client_visitor_id": true }))
            .await;
    let enter = || event("POST", ENTER, &json!({ "queue": QUEUE }));
    let ada = api
        .send_event(&with_claims(enter(), &json!({ "sub": "ada" })))
        .await;
    let token = ada.expect_status(201).text("token").to_owned();
    assert!(ada.body.get("visitor").is_none() && !ada.headers.contains_key("set-cookie"));

    let event_at =
        |resource: &str, method: &str| event(method, resource, &json!({ "queue": QUEUE, "token": token }));
    let status_of_ada = with_claims(event_at(ENTRY, "GET"), &json!({ "sub": "ada" }));
    assert!(api.send_event(&status_of_ada).await.expect_status(200).body["pass"].is_string());

    let bob = || with_claims(event_at(CLAIM, "POST"), &json!({ "sub": "bob" }));
    api.send_event(&bob())
        .await
        .expect_problem(403, "token-owner-mismatch");
    let mut in_body = bob();
    in_body["body"] = json!(r#"{"sub":"ada","visitor":"ada"}"#);
    in_body = with_header(in_body, "Content-Type", "application/json");
    api.send_event(&in_body).await.expect_invalid_field("sub");
    // Headers that imitate the gateway.
    for (name, value) in [
        ("X-Visitor-Id", "ada"),
        (
            "X-Amzn-Request-Context",
            r#"{"authorizer":{"claims":{"sub":"ada"}}}"#,
        ),
        ("Authorization", "Bearer ada"),
        ("Cookie", "__Host-vestibule-visitor=ada"),
    ] {
        let response = api.send_event(&with_header(bob(), name, value)).await;
        assert!(response.status.is_client_error(), "{name}: {response:?}");
    }
    // Only the configured claim names a visitor.
    let principal = with_claims(
        event_at(CLAIM, "POST"),
        &json!({ "name": "ada", "principalId": "ada" }),
    );
    api.send_event(&principal)
        .await
        .expect_problem(403, "visitor-required");
    // An anonymous visitor with the same id is another visitor.
    let uuid = new_visitor_id();
    let known = api
        .send_event(&with_claims(enter(), &json!({ "sub": uuid })))
        .await;
    let anonymous = api.send_event(&with_header(enter(), "X-Visitor-Id", &uuid)).await;
    assert_ne!(
        known.expect_status(201).text("token"),
        anonymous.expect_status(201).text("token")
    );
}

async fn a_configured_field_of_the_authorizer_names_the_visitor() {
    let config = ApiConfig {
        visitor_claim: "principalId".to_owned(),
        ..ApiConfig::default()
    };
    let api = InProcessApi::start_with_config(config, json!({})).await;
    let mut enter = event("POST", ENTER, &json!({ "queue": QUEUE }));
    enter["requestContext"]["authorizer"] = json!({ "principalId": "ada", "sub": "bob" });
    let first = api.send_event(&enter).await;
    enter["requestContext"]["authorizer"] = json!({ "principalId": "ada", "sub": "eve" });
    assert_eq!(
        api.send_event(&enter).await.expect_status(200).text("token"),
        first.expect_status(201).text("token")
    );
}

async fn an_invalid_claim_is_refused_by_name() {
    for name in ["sub", "email"] {
        let config = ApiConfig {
            visitor_claim: name.to_owned(),
            ..ApiConfig::default()
        };
        let api = InProcessApi::start_with_config(config, json!({})).await;
        for (value, reason) in [
            ("", "without control characters"),
            ("a\nb", "without control characters"),
            ("ada ", "must not begin or end with a blank"),
        ] {
            let enter = event("POST", ENTER, &json!({ "queue": QUEUE }));
            let mut claims = json!({});
            claims[name] = json!(value);
            let response = api.send_event(&with_claims(enter, &claims)).await;
            let detail = response.expect_invalid_field(name).text("detail");
            assert!(detail.contains(reason), "{detail}");
        }
    }
}

async fn a_visitor_who_logs_in_keeps_the_anonymous_place() {
    let api =
        InProcessApi::start_with_config(ApiConfig::default(), json!({ "capacity": 1, "batch": 1 })).await;
    let enter = || event("POST", ENTER, &json!({ "queue": QUEUE }));
    api.send_event(&enter()).await.expect_status(201);
    let id = new_visitor_id();
    let before = api.send_event(&with_header(enter(), "X-Visitor-Id", &id)).await;
    let token = before.expect_status(201).text("token").to_owned();

    let both = |event| with_claims(with_header(event, "X-Visitor-Id", &id), &json!({ "sub": "ada" }));
    let after = api.send_event(&both(enter())).await;
    assert_eq!(after.expect_status(200).text("token"), token);
    assert_eq!(after.number("position"), before.number("position"));
    let event_at = |resource, method| {
        both(event(
            method,
            resource,
            &json!({ "queue": QUEUE, "token": token }),
        ))
    };
    api.send_event(&event_at(CLAIM, "POST"))
        .await
        .expect_problem(409, "not-your-turn");
    api.send_event(&event_at(ENTRY, "DELETE"))
        .await
        .expect_status(204);
    // After the anonymous visit has ended, the known visitor enters.
    let known = api.send_event(&both(enter())).await;
    assert_ne!(known.expect_status(201).text("token"), token);
}

/// A form carries neither a login nor a key nor a signature.
async fn a_page_without_a_script_says_that_a_login_needs_one() {
    for visitor_routes in [
        VisitorRoutes::Authorizer,
        VisitorRoutes::Iam,
        VisitorRoutes::ApiKey,
    ] {
        let config = ApiConfig {
            visitor_routes,
            ..ApiConfig::default()
        };
        let api = InProcessApi::start_with_config(config, json!({})).await;
        let start = event("GET", ENTER, &json!({ "queue": QUEUE }));
        let page = api.send_event(&with_header(start, "Accept", "text/html")).await;
        let html = page.expect_status(403).body.to_string();
        assert!(
            html.contains("without JavaScript") && !html.contains("<form"),
            "{html}"
        );
    }
}
