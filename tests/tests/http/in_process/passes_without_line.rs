//! The line is unavailable: which passes the validate route accepts all the same.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_api::pass::PassGrant;
use vestibule_backup::{Backup, Lease, LeaseOutcome};
use vestibule_domain::{id::Salt, score::Visit};
use vestibule_faults::Fault;
use vestibule_line::{LeaveOutcome, LeaveReason};
use vestibule_tests::in_process::{ApiRequest, ApiResponse, InProcessApi, entry_path, queue_id, signer};

use super::{Guest, enter_and_expect_created};

super::cases![
    without_the_backup_a_pass_is_still_accepted,
    by_default_no_pass_is_accepted,
    an_open_queue_accepts_a_pass_for_the_outage_grace,
    a_pass_of_an_ended_visit_is_refused,
    a_pass_survives_a_restore_and_not_a_reset,
    stored_settings_apply_unless_they_are_invalid,
    a_pass_of_an_evicted_visitor_is_refused,
];

fn validate_request(guest: &Guest, body: &Value) -> ApiRequest {
    ApiRequest::post(format!("{}/validate", entry_path(&guest.token))).json(body)
}

fn settings_with_outage_grace(grace_seconds: u32) -> Value {
    json!({ "on_outage": "open", "outage_grace_seconds": grace_seconds })
}

/// Signs a pass of this entry that was issued `seconds_ago` and is valid for a minute.
fn sign_pass(api: &InProcessApi, guest: &Guest, epoch: u32, seconds_ago: u64) -> String {
    let queue = queue_id();
    let issued_at_ms = api.now_ms() - seconds_ago * 1_000;
    let grant = PassGrant {
        queue: &queue,
        entry: guest.token.parse().expect("a token"),
        visit: Visit::new(guest.visit).expect("a visit"),
        epoch,
        pass_end_ms: issued_at_ms + 60_000,
    };
    let pass = signer().sign(&grant, issued_at_ms);
    pass.expect("signs").reveal().to_owned()
}

async fn without_the_backup_a_pass_is_still_accepted() {
    let api = InProcessApi::start_without_backup(settings_with_outage_grace(60)).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    api.faults.fail_all(Fault::Unavailable);
    let response = api.send(guest.status()).await;
    response
        .expect_problem(503, "line-unavailable")
        .header("retry-after");
    // The last settings that this process saw accept a pass, and the signature proves it.
    let body = json!({ "pass": entered.text("pass") });
    let response = api.send(validate_request(&guest, &body)).await;
    assert_eq!(response.expect_status(200).body["degraded"], true);
    let old = json!({ "pass": sign_pass(&api, &guest, 0, 0) });
    api.send(validate_request(&guest, &old))
        .await
        .expect_problem(403, "invalid-pass");
}

async fn by_default_no_pass_is_accepted() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    api.faults.fail_all(Fault::Unavailable);
    let body = json!({ "pass": entered.text("pass") });
    let response = api.send(validate_request(&guest, &body)).await;
    response
        .expect_problem(503, "line-unavailable")
        .header("retry-after");
}

async fn an_open_queue_accepts_a_pass_for_the_outage_grace() {
    let api = InProcessApi::start(settings_with_outage_grace(120)).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let (other, _) = enter_and_expect_created(&api).await;
    let pass = |ago| json!({ "pass": sign_pass(&api, &guest, 1, ago) });
    api.faults.fail_all(Fault::Unavailable);
    for ago in [100, 59, 0] {
        // Until the process notices that the line is down, it refuses an expired pass.
        let is_accepted = |response: &ApiResponse| response.status == 200;
        let response = api
            .send_until(|| validate_request(&guest, &pass(ago)), is_accepted)
            .await;
        assert_eq!(response.body["valid"], true);
        assert_eq!(response.body["degraded"], true);
        assert_eq!(response.number("visit"), guest.visit);
        let exp = (api.now_ms() - ago * 1_000) / 1_000 + 60;
        assert_eq!(response.number("expires_at_ms"), (exp + 120) * 1_000);
    }
    let detail_of_refusal = async |guest: &Guest, body: Value| {
        let response = api.send(validate_request(guest, &body)).await;
        response
            .expect_problem(403, "invalid-pass")
            .text("detail")
            .to_owned()
    };
    assert_eq!(detail_of_refusal(&guest, pass(181)).await, "the pass has expired");
    assert_eq!(
        detail_of_refusal(&other, pass(0)).await,
        "the pass belongs to another entry"
    );
    let mut tampered = sign_pass(&api, &guest, 1, 0);
    tampered.truncate(tampered.len() - 6);
    tampered.push_str("AAAAAA");
    assert_eq!(
        detail_of_refusal(&guest, json!({ "pass": tampered })).await,
        "the signature of the pass is wrong"
    );
    let mut named = pass(0);
    named["visitor"] = json!(other.id);
    api.send(validate_request(&guest, &named))
        .await
        .expect_problem(403, "token-owner-mismatch");
    named["visitor"] = json!(guest.id);
    api.send(validate_request(&guest, &named))
        .await
        .expect_status(200);
    for body in [
        json!({ "visitor": guest.id }),
        json!({ "pass": entered.text("pass"), "consume": true }),
    ] {
        api.send(validate_request(&guest, &body))
            .await
            .expect_problem(503, "line-unavailable");
    }
}

async fn a_pass_of_an_ended_visit_is_refused() {
    let api = InProcessApi::start(settings_with_outage_grace(3_600)).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let body = json!({ "pass": entered.text("pass") });
    api.send(guest.leave()).await.expect_status(204);
    api.faults.fail_all(Fault::Unavailable);
    api.send(validate_request(&guest, &body))
        .await
        .expect_problem(410, "left");
}

async fn a_pass_survives_a_restore_and_not_a_reset() {
    let api = InProcessApi::start(settings_with_outage_grace(60)).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let body = json!({ "pass": sign_pass(&api, &guest, 1, 0) });
    api.faults.fail_all(Fault::Unavailable);
    let lease = Lease::new(Uuid::new_v4());
    let leased = api.backup.take_lease(&queue_id(), 1, lease, 0).await;
    assert!(matches!(leased, Ok(LeaseOutcome::Taken(_))), "{leased:?}");
    api.send(validate_request(&guest, &body)).await.expect_status(200);
    let begun = api
        .backup
        .begin_generation(&queue_id(), 2, Salt::new([1; 32]))
        .await;
    assert_eq!(begun.expect("begun").expect("of epoch 2").min_epoch, 3);
    let refused = api
        .send_until(
            || validate_request(&guest, &body),
            |response| response.status == 403,
        )
        .await;
    assert_eq!(
        refused.expect_problem(403, "invalid-pass").text("detail"),
        "the pass belongs to an epoch that has ended"
    );
}

async fn stored_settings_apply_unless_they_are_invalid() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let body = json!({ "pass": entered.text("pass") });
    api.faults.fail_all(Fault::Unavailable);
    api.send(validate_request(&guest, &body)).await.expect_status(503);
    api.store_settings(settings_with_outage_grace(60)).await;
    api.send_until(
        || validate_request(&guest, &body),
        |response| response.status == 200,
    )
    .await;
    let mut invalid = settings_with_outage_grace(60);
    invalid["capacity"] = json!("many");
    api.store_settings(invalid).await;
    // The last settings that the line showed refuse passes.
    api.send_until(
        || validate_request(&guest, &body),
        |response| response.status == 503,
    )
    .await;
    api.send(guest.status()).await.expect_status(200);
}

async fn a_pass_of_an_evicted_visitor_is_refused() {
    let api = InProcessApi::start(settings_with_outage_grace(60)).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let id = guest.token.parse().expect("a token");
    let evicted = api.line.leave(&queue_id(), id, None, LeaveReason::Evict).await;
    let LeaveOutcome::Ended(change) = evicted.expect("the line answers") else {
        panic!("the entry exists")
    };
    api.backup
        .put_change(&api.partition(), &change)
        .await
        .expect("written");
    api.faults.fail_all(Fault::Unavailable);
    api.send(guest.status())
        .await
        .expect_problem(503, "line-unavailable");
    let body = json!({ "pass": entered.text("pass") });
    api.send(validate_request(&guest, &body))
        .await
        .expect_problem(410, "evicted");
}
