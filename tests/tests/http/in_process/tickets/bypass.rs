//! Tickets by which the shop's own test visitors enter past the line.

use serde_json::json;
use vestibule_tests::in_process::{ApiRequest, anonymous_visitor, entry_path, id_key, queue_id};

use super::{TicketScene, with_ticket};

crate::in_process::cases![
    a_bypass_ticket_lets_a_visitor_in_past_the_line,
    a_visitor_in_line_is_let_in_with_a_bypass_ticket,
    without_a_free_slot_a_bypass_visitor_waits,
    a_bypass_lets_in_its_sub_and_no_anonymous_visitor,
];

impl TicketScene {
    fn bypass(&self, visitor: &str) -> ApiRequest {
        let claims = self.claims_with(&json!({ "sub": visitor, "bypass": true }));
        with_ticket(&self.shop.sign(&claims))
    }

    async fn bypassed(&self) -> u64 {
        let view = self
            .api
            .line
            .queue_view(&queue_id())
            .await
            .expect("the queue exists");
        view.totals.bypassed
    }
}

/// Two slots, and a pace that lets one visitor in.
async fn start_with_a_line() -> TicketScene {
    let settings = json!({ "capacity": 2, "batch": 1, "interval_seconds": 3_600, "presence_seconds": 0 });
    let scene = TicketScene::start(settings).await;
    assert_eq!(
        scene.enter("first").await.expect_status(201).text("state"),
        "active"
    );
    assert_eq!(
        scene.enter("ada").await.expect_status(201).text("state"),
        "waiting"
    );
    scene
}

async fn a_bypass_ticket_lets_a_visitor_in_past_the_line() {
    let scene = start_with_a_line().await;
    let tester = scene.api.send(scene.bypass("tester")).await;
    assert_eq!(tester.expect_status(201).text("state"), "active");
    assert!(tester.body["pass"].is_string());
    let again = scene.api.send(scene.bypass("tester")).await;
    assert_eq!(again.expect_status(200).text("token"), tester.text("token"));
    assert_eq!(scene.bypassed().await, 1, "a repeated ticket is the same visit");
    // A closed queue serves the shop's own tests.
    let complete = ApiRequest::post(format!("{}/complete", entry_path(tester.text("token"))));
    scene.api.send(complete).await.expect_status(204);
    let mut closed = json!({ "visitors": "ticket", "entrance": "closed", "capacity": 2 });
    closed["ticket_keys"] = vestibule_tests::tickets::key_set(&[&scene.shop]);
    scene.api.configure_line(closed, "2").await;
    scene.enter("bob").await.expect_problem(409, "queue-closed");
    let inside = scene.api.send(scene.bypass("tester")).await;
    assert_eq!(inside.expect_status(201).text("state"), "active");
    assert_eq!(scene.bypassed().await, 2);
}

async fn a_visitor_in_line_is_let_in_with_a_bypass_ticket() {
    let scene = start_with_a_line().await;
    let inside = scene.api.send(scene.bypass("ada")).await;
    assert_eq!(inside.expect_status(200).text("state"), "active");
    assert!(inside.body["pass"].is_string());
    let shown = ApiRequest::get(entry_path(inside.text("token"))).visitor(inside.text("visitor"));
    assert_eq!(
        scene.api.send(shown).await.expect_status(200).text("state"),
        "active"
    );
    assert_eq!(scene.bypassed().await, 1);
}

async fn without_a_free_slot_a_bypass_visitor_waits() {
    let scene = TicketScene::start_full().await;
    let tester = scene.api.send(scene.bypass("tester")).await;
    assert_eq!(tester.expect_status(201).text("state"), "waiting");
    assert_eq!(scene.bypassed().await, 0);
}

/// Thirty visitors share one ticket. By each of their proofs: the id in the header, the cookie, and the secret.
async fn a_bypass_lets_in_its_sub_and_no_anonymous_visitor() {
    let settings = json!({ "visitors": "anyone", "capacity": 100, "batch": 1, "interval_seconds": 60 });
    let scene = TicketScene::start(settings).await;
    scene.enter("first").await.expect_status(201);
    let mut tokens = Vec::new();
    for number in 0..30 {
        let (visitor, id) = anonymous_visitor(number);
        let waiting = scene.api.send(ApiRequest::enter().visitor(&visitor)).await;
        assert_eq!(waiting.expect_status(201).text("state"), "waiting");
        let secret = id_key().visitor_secret(id);
        let proof = match number % 3 {
            0 => scene.bypass("tester").visitor(&visitor),
            1 => scene.bypass("tester").visitor(secret.reveal()),
            _ => scene
                .bypass("tester")
                .header("cookie", &format!("vestibule-visitor={visitor}")),
        };
        let inside = scene.api.send(proof).await;
        assert_eq!(inside.text("state"), "active");
        tokens.push(inside.text("token").to_owned());
        let status = ApiRequest::get(entry_path(&id.to_string())).visitor(&visitor);
        scene.api.send(status).await.expect_problem(410, "left");
    }
    tokens.dedup();
    assert_eq!(tokens.len(), 1, "each ticket leads to the entry of its sub");
    assert_eq!(scene.bypassed().await, 1);
}
