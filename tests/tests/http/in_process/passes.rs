//! Passes and sessions that a test can only see with another key or a later time.

use serde_json::{Value, json};
use vestibule_api::pass::{PassGrant, PassSigner, new_key_pem};
use vestibule_domain::score::Visit;
use vestibule_tests::api::Guest;
use vestibule_tests::in_process::{
    ApiRequest, ApiResponse, ISSUER, InProcessApi, entry_path, queue_id, signer,
};

use super::enter_and_expect_created;

super::cases![
    an_expired_pass_proves_who_the_visitor_is,
    an_expired_pass_lets_no_visitor_in_again,
    a_pass_of_an_unknown_key_or_another_queue_is_refused,
    a_session_is_extended_by_session_seconds_from_now,
];

/// Presents the pass that the visitor got by entering.
fn validate_by_pass(guest: &Guest, entered: &ApiResponse, mut body: Value) -> ApiRequest {
    body["pass"] = entered.text("pass").into();
    ApiRequest::post(format!("{}/validate", entry_path(&guest.token))).json(&body)
}

/// The order comes late: the pass has ended, and the session has not.
async fn an_expired_pass_proves_who_the_visitor_is() {
    let api = InProcessApi::start(json!({ "pass_seconds": 60 })).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    api.advance_seconds(120);
    let valid = api.send(validate_by_pass(&guest, &entered, json!({}))).await;
    assert_eq!(valid.expect_status(200).text("state"), "active");
    let extend = json!({ "extend": true, "seconds": 600 });
    let extended = api.send(validate_by_pass(&guest, &entered, extend)).await;
    let expires_at_ms = extended.expect_status(200).number("expires_at_ms");
    assert!(
        expires_at_ms >= entered.number("expires_at_ms") + 400_000,
        "{extended:?}"
    );
    assert_ne!(extended.text("pass"), entered.text("pass"));
    // The routes know the time of the line from a snapshot that is at most a second old.
    let by_new_pass = || validate_by_pass(&guest, &extended, json!({}));
    let valid = api.send_until(by_new_pass, |answer| answer.status == 200).await;
    assert_eq!(valid.number("expires_at_ms"), expires_at_ms);
    let consumed = api
        .send(validate_by_pass(&guest, &entered, json!({ "consume": true })))
        .await;
    consumed.expect_status(200);
    let again = api.send(validate_by_pass(&guest, &entered, json!({}))).await;
    again.expect_problem(410, "completed");
}

async fn an_expired_pass_lets_no_visitor_in_again() {
    let api = InProcessApi::start(json!({ "pass_seconds": 60 })).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    api.advance_seconds(301);
    let ended = api.send(validate_by_pass(&guest, &entered, json!({}))).await;
    ended.expect_problem(410, "expired");
    // The next visit is not the one of the pass.
    let enter = ApiRequest::enter().visitor(&guest.id);
    api.send(enter).await.expect_status(201);
    let refused = api.send(validate_by_pass(&guest, &entered, json!({}))).await;
    refused.expect_problem(410, "other-visit");
}

async fn a_pass_of_an_unknown_key_or_another_queue_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let other_signer = PassSigner::from_pem(ISSUER, &new_key_pem(|| [9; 32])).expect("a key");
    let other_queue = "other".parse().expect("a queue id");
    for (signer, queue, detail) in [
        (
            other_signer,
            queue_id(),
            "this deployment does not publish the key that signed the pass",
        ),
        (signer(), other_queue, "the pass is for another queue"),
    ] {
        let grant = PassGrant {
            queue: &queue,
            entry: guest.token.parse().expect("a token"),
            visit: Visit::new(guest.visit).expect("a visit"),
            epoch: 1,
            pass_end_ms: entered.number("expires_at_ms"),
        };
        let pass = signer.sign(&grant, api.now_ms()).expect("a pass");
        let validate = ApiRequest::post(format!("{}/validate", entry_path(&guest.token)));
        let refused = api.send(validate.json(&json!({ "pass": pass.reveal() }))).await;
        assert_eq!(refused.expect_problem(403, "invalid-pass").text("detail"), detail);
    }
}

async fn a_session_is_extended_by_session_seconds_from_now() {
    let settings = json!({ "session_seconds": 100, "session_max_seconds": 250 });
    let api = InProcessApi::start(settings).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let extend = || ApiRequest::post(format!("{}/extend", entry_path(&guest.token))).visitor(&guest.id);
    let began_ms = api.now_ms();
    for (passed_seconds, end_seconds) in [(50, 150), (90, 240), (90, 250)] {
        api.advance_seconds(passed_seconds);
        let extended = api.send(extend()).await;
        assert_eq!(
            extended.expect_status(200).number("expires_at_ms"),
            began_ms + end_seconds * 1_000
        );
    }
}
