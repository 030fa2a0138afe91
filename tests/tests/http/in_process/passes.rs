//! Passes and sessions that a test can only see with another key or a later time.

use serde_json::json;
use vestibule_api::pass::{PassGrant, PassSigner, new_key_pem};
use vestibule_domain::score::Visit;
use vestibule_tests::in_process::{
    ApiRequest, ApiResponse, ISSUER, InProcessApi, entry_path, queue_id, signer,
};

use super::enter_and_expect_created;

super::cases![
    an_expired_pass_is_refused,
    a_pass_of_an_unknown_key_or_another_queue_is_refused,
    a_session_is_extended_by_session_seconds_from_now,
];

async fn an_expired_pass_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    api.advance_seconds(61);
    // The routes estimate the line's time from a snapshot of the queue, which may be a second old.
    let is_refused = |response: &ApiResponse| response.status == 403;
    let validate = || {
        let request = ApiRequest::post(format!("{}/validate", entry_path(&guest.token)));
        request.json(&json!({ "pass": entered.text("pass") }))
    };
    let refused = api.send_until(validate, is_refused).await;
    assert_eq!(
        refused.expect_problem(403, "invalid-pass").text("detail"),
        "the pass has expired"
    );
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
            session_end_ms: entered.number("expires_at_ms"),
            pass_seconds: 60,
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
