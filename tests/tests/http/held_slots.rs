//! A visitor who leaves an active session keeps the slot taken while the pass can be shown.

use serde_json::json;
use vestibule_tests::api::Backend;

crate::cases![
    a_left_slot_is_held_until_the_service_completes_the_visit,
    a_visitor_who_comes_back_takes_the_slot_back,
    with_online_passes_a_left_slot_is_free_at_once,
    a_completion_with_a_forged_or_foreign_proof_is_refused,
];

async fn a_left_slot_is_held_until_the_service_completes_the_visit(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    queue.leave(&active).await.expect_status(204);
    queue.get_status(&active).await.expect_problem(410, "left");
    let admin = json!({ "op": "stats" });
    let stats = queue.run_command(admin.clone()).await;
    assert_eq!(
        (&stats["active"], &stats["held"]),
        (&json!(0), &json!(1)),
        "{stats}"
    );
    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "waiting");
    // The protected service knows of the visit, so its slot is free.
    let other = json!({ "visit": active.visit + 1 });
    let ignored = queue.call_as_service("complete", &active, &other).await;
    ignored.expect_status(204);
    assert_eq!(queue.run_command(admin.clone()).await["held"], 1);
    let complete = json!({ "visit": active.visit, "visitor": active.id });
    let completed = queue.call_as_service("complete", &active, &complete).await;
    completed.expect_status(204);
    queue.promote_until_ready(&guest).await;
    assert_eq!(queue.run_command(admin).await["held"], 0);
}

async fn a_visitor_who_comes_back_takes_the_slot_back(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let before = queue.get_status(&active).await;
    queue.leave(&active).await.expect_status(204);
    let back = queue.enter_again(&active).await;
    assert_eq!(back.expect_status(201).text("state"), "active");
    assert_eq!(back.number("expires_at_ms"), before.number("expires_at_ms"));
    assert!(back.number("visit") > active.visit, "{back:?}");
    // The pass of the earlier visit is not one of this visit.
    let earlier = json!({ "pass": before.text("pass") });
    let refused = queue.call_as_service("validate", &active, &earlier).await;
    refused.expect_problem(410, "other-visit");
    let current = json!({ "pass": back.text("pass") });
    let valid = queue.call_as_service("validate", &active, &current).await;
    valid.expect_status(200);
}

async fn with_online_passes_a_left_slot_is_free_at_once(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({ "passes": "online" })).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    queue.leave(&active).await.expect_status(204);
    queue.promote_until_ready(&guest).await;
}

async fn a_completion_with_a_forged_or_foreign_proof_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({ "capacity": 2, "batch": 2 })).await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    let (other, others) = queue.enter_and_expect_created().await;
    for (body, code) in [
        (json!({ "visitor": other.id }), "token-owner-mismatch"),
        (json!({ "pass": others.text("pass") }), "invalid-pass"),
        (json!({ "pass": "a.b.c" }), "invalid-pass"),
    ] {
        let refused = queue.call_as_service("complete", &guest, &body).await;
        refused.expect_problem(403, code);
    }
    let completed = queue
        .call_as_service("complete", &guest, &json!({ "pass": entered.text("pass") }))
        .await;
    completed.expect_status(204);
    queue.get_status(&guest).await.expect_problem(410, "completed");
}
