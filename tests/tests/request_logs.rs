//! What the log says of a refused request, and what it never contains. A process has one log, so this file has one test.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_api::config::{ApiConfig, VisitorRoutes};
use vestibule_tests::{
    captured_output::CapturedOutput,
    in_process::{ApiRequest, InProcessApi, QUEUE, entry_path, event, with_claims, with_header},
    tickets::{TicketIssuer, key_set},
};

/// Returns the only line of the log that names this request.
fn find_only_line(log: &CapturedOutput, request_id: &str) -> Value {
    let text = log.text();
    let mut lines = text.lines().filter(|line| line.contains(request_id));
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("no line of {request_id} in {text}"));
    assert!(lines.next().is_none(), "a failure is logged once: {text}");
    serde_json::from_str(line).expect("a line is JSON")
}

/// Enters with a ticket of this name, with an altered one, and presents its secret at another visitor's entry. Returns the
/// ticket and the secret.
async fn send_tickets(log: &CapturedOutput, name: &str, other_token: &str) -> (String, String) {
    let shop = TicketIssuer::ec("shop-1", 21);
    let members = InProcessApi::start(json!({ "ticket_keys": key_set(&[&shop]) })).await;
    let ticket = shop.ticket(name, members.now_ms());
    let enter = |ticket: &str| ApiRequest::enter().json(&json!({ "ticket": ticket }));
    let member = members.send(enter(&ticket)).await;
    let visitor_secret = member.expect_status(201).text("visitor").to_owned();
    let stolen = ApiRequest::get(entry_path(other_token)).visitor(&visitor_secret);
    members.send(stolen).await.expect_status(403);
    let forged = members.send(enter(&format!("{ticket}A"))).await;
    let line = find_only_line(log, forged.expect_status(403).text("request_id"));
    assert_eq!(line["fields"]["code"], "invalid-ticket");
    assert_eq!(line["fields"]["reason"], forged.text("reason"));
    (ticket, visitor_secret)
}

/// A claim that is no text is reported once a minute, by its name.
async fn send_requests_without_claim(name: &str) {
    let config = ApiConfig {
        visitor_routes: VisitorRoutes::Authorizer,
        ..ApiConfig::default()
    };
    let guarded = InProcessApi::start_with_config(config, json!({})).await;
    let without_name = with_claims(
        event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE })),
        &json!({ "sub": [name] }),
    );
    for _ in 0..3 {
        guarded.send_event(&without_name).await.expect_status(403);
    }
}

#[tokio::test]
async fn a_refused_request_is_logged_once_without_identities() {
    let log = CapturedOutput::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the only log");

    let api = InProcessApi::start(json!({})).await;
    let (guest, thief) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
    let entered = api.send(ApiRequest::enter().visitor(&guest)).await;
    let token = entered.expect_status(201).text("token");
    let refused = api.send(ApiRequest::get(entry_path(token)).visitor(&thief)).await;
    let request_id = refused
        .expect_problem(403, "token-owner-mismatch")
        .text("request_id");
    let line = find_only_line(&log, request_id);
    assert_eq!(line["fields"]["event"], "request.refused");
    assert_eq!(line["fields"]["code"], "token-owner-mismatch");
    assert_eq!(line["fields"]["status"], 403);
    assert_eq!(line["span"]["queue"], QUEUE);
    assert_eq!(line["span"]["entry"], token);

    let secret = "ada@example.com";
    let pass = entered.text("pass");
    let validate = || ApiRequest::post(format!("{}/validate", entry_path(token)));
    api.send(validate().json(&json!({ "visitor": secret, "pass": pass })))
        .await
        .expect_status(403);
    api.send(validate().json(&json!({ "pass": format!("{pass}x") })))
        .await
        .expect_status(403);
    api.send(validate().json(&json!({ secret: 1 })))
        .await
        .expect_status(400);
    api.send(validate().raw("application/json", format!("{{\"visitor\": \"{secret}\"")))
        .await
        .expect_status(400);
    api.send(ApiRequest::get(format!("{}?wait={secret}", entry_path(token))))
        .await
        .expect_status(400);
    api.send(ApiRequest::get(format!("/{secret}")))
        .await
        .expect_status(404);
    api.send(ApiRequest::enter().visitor(secret))
        .await
        .expect_status(400);
    api.send(ApiRequest::enter().header("cookie", &format!("vestibule-visitor={secret}")))
        .await
        .expect_status(201);
    let by_claim = with_claims(
        event("POST", "/queues/{queue}/entries", &json!({ "queue": "x" })),
        &json!({ "sub": secret }),
    );
    api.send_event(&with_header(by_claim, "X-Forwarded-For", "192.0.2.1"))
        .await
        .expect_status(404);
    let mut from_address = event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }));
    from_address["body"] = json!("{}");
    let from_address = with_header(from_address, "Content-Type", "application/json");
    api.send_event(&with_header(
        from_address,
        "CloudFront-Viewer-Address",
        "192.0.2.1:443",
    ))
    .await
    .expect_status(201);

    let (ticket, visitor_secret) = send_tickets(&log, secret, token).await;
    send_requests_without_claim(secret).await;
    let text = log.text();
    let warnings: Vec<_> = text
        .lines()
        .filter(|line| line.contains("identity.missing"))
        .collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning: Value = serde_json::from_str(warnings[0]).expect("a line is JSON");
    assert_eq!(warning["fields"]["claim"], "sub");

    for never in [&ticket, &visitor_secret] {
        assert!(!text.contains(never), "{never} in {text}");
    }
    for never in [secret, pass, thief.as_str(), guest.as_str(), "192.0.2.1"] {
        assert!(!text.contains(never), "{never} in {text}");
    }
}
