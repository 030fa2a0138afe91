//! Keys of tickets that change while visitors wait.

use serde_json::json;
use vestibule_tests::{
    in_process::ApiRequest,
    tickets::{TicketIssuer, key_set},
};

use super::{TicketScene, status, with_ticket};

crate::in_process::cases![rotated_keys_cost_no_visitor_the_place];

async fn rotated_keys_cost_no_visitor_the_place() {
    let scene = TicketScene::start_full().await;
    let old_ticket = scene.ticket("ada");
    let ada = scene.api.send(with_ticket(&old_ticket)).await;
    let (token, secret) = (ada.expect_status(201).text("token"), ada.text("visitor"));
    let next = TicketIssuer::ed25519("shop-2");
    let settings = |keys| json!({ "visitors": "ticket", "capacity": 1, "batch": 1, "presence_seconds": 0, "ticket_keys": keys });
    // Both keys count for a while.
    scene
        .api
        .configure_line(settings(key_set(&[&scene.shop, &next])), "2")
        .await;
    let by_next = || with_ticket(&next.ticket("bob", scene.api.now_ms()));
    let bob = scene
        .api
        .send_until(by_next, |answer| answer.status.is_success())
        .await;
    assert_ne!(bob.text("token"), token);
    let again = scene.api.send(with_ticket(&old_ticket)).await;
    assert_eq!(again.expect_status(200).text("token"), token);
    // Then the old key is gone.
    scene.api.configure_line(settings(key_set(&[&next])), "3").await;
    let refused = scene
        .api
        .send_until(|| with_ticket(&old_ticket), |answer| answer.status == 403)
        .await;
    assert_eq!(
        refused.expect_problem(403, "invalid-ticket").text("reason"),
        "unknown-key"
    );
    let waiting = scene.api.send(status(token, secret)).await;
    assert_eq!(waiting.expect_status(200).text("state"), "waiting");
    let by_secret = scene.api.send(ApiRequest::enter().visitor(secret)).await;
    assert_eq!(by_secret.expect_status(200).number("visit"), ada.number("visit"));
    let new_ticket = with_ticket(&next.ticket("ada", scene.api.now_ms()));
    let by_new = scene.api.send(new_ticket).await;
    assert_eq!(by_new.expect_status(200).text("token"), token);
    assert_eq!(by_new.text("visitor"), secret);
}
