//! The secret leads back to a visit that goes on, and to no other one.

use serde_json::json;
use tokio::join;
use vestibule_tests::{
    in_process::{ApiRequest, BOUND, entry_path, queue_id},
    waiting::poll_until,
};

use super::{TicketScene, status};

crate::in_process::cases![a_visit_that_ends_meanwhile_is_not_begun_anew];

async fn a_visit_that_ends_meanwhile_is_not_begun_anew() {
    let scene = TicketScene::start(json!({ "capacity": 1, "batch": 10, "interval_seconds": 1 })).await;
    let ada = scene.enter("ada").await;
    let (token, secret) = (ada.expect_status(201).text("token"), ada.text("visitor"));
    let gate = scene.api.faults.gate_before("enter");
    let arrived = gate.arrivals();
    gate.shut();
    let by_secret = scene.api.send(ApiRequest::enter().visitor(secret));
    let ends = async {
        poll_until(BOUND, async || gate.arrivals(), |arrivals| *arrivals > arrived).await;
        let complete = ApiRequest::post(format!("{}/complete", entry_path(token)));
        scene.api.send(complete).await.expect_status(204);
        gate.open();
    };
    let (refused, ()) = join!(by_secret, ends);
    refused.expect_problem(403, "ticket-required");
    let view = scene
        .api
        .line
        .queue_view(&queue_id())
        .await
        .expect("the queue exists");
    assert_eq!(
        view.totals.entered, 2,
        "the line had begun a visit, which is taken back"
    );
    let ended = scene.api.send(status(token, secret)).await;
    ended.expect_status(410);
    // The visit that was taken back holds no slot.
    let bob = scene.enter("bob").await;
    assert_eq!(bob.expect_status(201).text("state"), "active");
}
