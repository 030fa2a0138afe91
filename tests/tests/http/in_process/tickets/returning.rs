//! The secret leads back to a visit that goes on, and to no other one. So does a ticket with an anonymous place.

use serde_json::json;
use tokio::join;
use vestibule_domain::id::EntryId;
use vestibule_line::{Arrival, LeaveOutcome, LeaveReason};
use vestibule_tests::{
    in_process::{ApiRequest, ApiResponse, BOUND, anonymous_visitor, entry_path, queue_id},
    waiting::poll_until,
};

use super::{TicketScene, status, with_ticket};

crate::in_process::cases![
    a_visit_that_ends_meanwhile_is_not_begun_anew,
    the_lane_of_a_ticket_begins_no_anonymous_visit,
    a_ticket_begins_no_anonymous_visit,
];

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

/// Enters with a ticket of lane 0 beside the id of an anonymous visitor in line, who leaves meanwhile.
async fn enter_while_the_anonymous_visit_ends(scene: &TicketScene) -> (EntryId, ApiResponse) {
    let (visitor, id) = anonymous_visitor(1);
    let entered = scene.api.line.enter(&queue_id(), id, Arrival::Ordinary).await;
    entered.expect("entered");
    let gate = scene.api.faults.gate_after("zrank");
    let arrived = gate.arrivals();
    gate.shut();
    let ticket = scene.shop.sign(&scene.claims_with(&json!({ "lane": 0 })));
    let enters = scene.api.send(with_ticket(&ticket).visitor(&visitor));
    let leaves = async {
        poll_until(BOUND, async || gate.arrivals(), |arrivals| *arrivals > arrived).await;
        let left = scene
            .api
            .line
            .leave(&queue_id(), id, None, LeaveReason::Leave)
            .await;
        assert!(matches!(left, Ok(LeaveOutcome::Ended(_))), "{left:?}");
        gate.open();
    };
    (id, join!(enters, leaves).0)
}

async fn the_lane_of_a_ticket_begins_no_anonymous_visit() {
    let settings = json!({ "visitors": "anyone", "capacity": 1, "batch": 1, "presence_seconds": 0 });
    let scene = TicketScene::start(settings).await;
    scene.enter("first").await.expect_status(201);
    let (id, entered) = enter_while_the_anonymous_visit_ends(&scene).await;
    assert_eq!(entered.expect_status(201).text("token"), id.to_string());
    assert_eq!(entered.body["lane"], 4, "the lane is for the sub of the ticket");
}

async fn a_ticket_begins_no_anonymous_visit() {
    let scene = TicketScene::start_full().await;
    let (id, refused) = enter_while_the_anonymous_visit_ends(&scene).await;
    refused.expect_problem(503, "recovering");
    // The next request finds no anonymous place.
    let again = with_ticket(&scene.ticket("ada")).visitor(&anonymous_visitor(1).0);
    let again = scene.api.send(again).await;
    assert_ne!(again.expect_status(201).text("token"), id.to_string());
}
