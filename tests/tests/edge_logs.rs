//! What the logs of the edge say, and what they never say. The only test of its process, which has one log.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::{
    captured_output::CapturedOutput,
    edge::{Ask, EdgeUnderTest, QUEUE, entry, event, with_claims, with_header},
};

/// The one line of a request.
fn line_of(log: &CapturedOutput, request_id: &str) -> Value {
    let text = log.text();
    let mut lines = text.lines().filter(|line| line.contains(request_id));
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("no line of {request_id} in {text}"));
    assert!(lines.next().is_none(), "a failure is logged once: {text}");
    serde_json::from_str(line).expect("a line is JSON")
}

#[tokio::test]
async fn a_failure_is_logged_once_and_names_nobody() {
    let log = CapturedOutput::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the only log");

    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, thief) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
    let entered = edge.send(Ask::enter().visitor(&guest)).await;
    let token = entered.is(201).text("token");
    let refused = edge.send(Ask::get(entry(token)).visitor(&thief)).await;
    let request_id = refused.is_problem(403, "token-owner-mismatch").text("request_id");
    let line = line_of(&log, request_id);
    assert_eq!(line["fields"]["code"], "token-owner-mismatch");
    assert_eq!(line["fields"]["status"], 403);
    assert_eq!(line["span"]["queue"], QUEUE);
    assert_eq!(line["span"]["entry"], token);

    let secret = "ada@example.com";
    let pass = entered.text("pass");
    let validate = || Ask::post(format!("{}/validate", entry(token)));
    edge.send(validate().json(&json!({ "visitor": secret, "pass": pass })))
        .await
        .is(403);
    edge.send(validate().json(&json!({ "pass": format!("{pass}x") })))
        .await
        .is(403);
    edge.send(validate().json(&json!({ secret: 1 }))).await.is(400);
    edge.send(validate().raw("application/json", format!("{{\"visitor\": \"{secret}\"")))
        .await
        .is(400);
    edge.send(Ask::get(format!("{}?wait={secret}", entry(token))))
        .await
        .is(400);
    edge.send(Ask::get(format!("/{secret}"))).await.is(404);
    edge.send(Ask::enter().visitor(secret)).await.is(400);
    edge.send(Ask::enter().header("cookie", &format!("vestibule-visitor={secret}")))
        .await
        .is(201);
    let by_claim = with_claims(
        event("POST", "/queues/{queue}/entries", &json!({ "queue": "x" })),
        &json!({ "sub": secret }),
    );
    edge.send_event(&with_header(by_claim, "X-Forwarded-For", "192.0.2.1"))
        .await
        .is(404);

    let text = log.text();
    for never in [secret, pass, thief.as_str(), guest.as_str(), "192.0.2.1"] {
        assert!(!text.contains(never), "{never} in {text}");
    }
}
