//! Entering with a ticket.

use serde_json::json;
use vestibule_tests::{
    api::new_visitor_id,
    in_process::{ApiRequest, InProcessApi, entry_path},
    tickets::{TicketIssuer, key_set},
};

use super::{TicketScene, status, with_ticket};

crate::in_process::cases![
    tickets_of_every_algorithm_let_visitors_in,
    a_replayed_ticket_gives_the_same_entry_and_secret,
    a_visit_of_a_ticket_queue_begins_with_a_ticket_only,
    a_visitor_who_waits_outlives_the_ticket,
    a_visitor_who_missed_the_turn_returns_without_a_ticket,
    a_visitor_who_missed_the_turn_is_let_in_if_there_is_room,
    a_person_on_two_devices_has_one_place,
    a_visitor_who_gets_a_ticket_keeps_the_anonymous_place,
];

async fn tickets_of_every_algorithm_let_visitors_in() {
    let issuers = [
        TicketIssuer::ec("ec", 21),
        TicketIssuer::rsa("rsa"),
        TicketIssuer::ed25519("ed"),
    ];
    let [ec, rsa, ed] = &issuers;
    let keys = key_set(&[ec, rsa, ed]);
    // The console of DynamoDB stores a text as well as a map.
    for keys in [keys.clone(), json!(keys.to_string())] {
        let api = InProcessApi::start(json!({ "visitors": "ticket", "ticket_keys": keys })).await;
        let mut tokens = Vec::new();
        for issuer in &issuers {
            let entered = api.send(with_ticket(&issuer.ticket("ada", api.now_ms()))).await;
            assert!(entered.status.is_success(), "{:?}: {entered:?}", issuer.algorithm);
            tokens.push(entered.text("token").to_owned());
        }
        tokens.dedup();
        assert_eq!(tokens.len(), 1, "the visitor is the same, whichever key signed");
    }
}

async fn a_replayed_ticket_gives_the_same_entry_and_secret() {
    let scene = TicketScene::start_full().await;
    let ticket = scene.ticket("ada");
    let first = scene.api.send(with_ticket(&ticket)).await;
    let (token, secret) = (first.expect_status(201).text("token"), first.text("visitor"));
    assert!(
        !first.headers.contains_key("set-cookie"),
        "a page keeps the secret itself"
    );
    for _ in 0..3 {
        let again = scene.api.send(with_ticket(&ticket)).await;
        assert_eq!(again.expect_status(200).text("token"), token);
        assert_eq!(again.text("visitor"), secret);
        assert_eq!(again.number("position"), first.number("position"));
    }
    assert_ne!(scene.enter("bob").await.expect_status(201).text("token"), token);
    let shown = scene.api.send(status(token, secret)).await;
    shown.expect_status(200).expect_absent(&["visitor"]);
}

async fn a_visit_of_a_ticket_queue_begins_with_a_ticket_only() {
    let scene = TicketScene::start(json!({})).await;
    let ada = scene.enter("ada").await;
    let (token, secret) = (ada.expect_status(201).text("token"), ada.text("visitor"));
    let by_secret = || ApiRequest::enter().visitor(secret);
    let again = scene.api.send(by_secret()).await;
    assert_eq!(again.expect_status(200).text("token"), token);
    assert_eq!(again.text("visitor"), secret);
    for anonymous in [
        ApiRequest::enter(),
        ApiRequest::enter().visitor(&new_visitor_id()),
        ApiRequest::enter().header("cookie", &format!("vestibule-visitor={}", new_visitor_id())),
    ] {
        let refused = scene.api.send(anonymous).await;
        refused.expect_problem(403, "ticket-required");
        assert!(!refused.headers.contains_key("set-cookie"));
    }
    let complete = ApiRequest::post(format!("{}/complete", entry_path(token)));
    scene.api.send(complete).await.expect_status(204);
    scene
        .api
        .send(by_secret())
        .await
        .expect_problem(403, "ticket-required");
    let new = scene.enter("ada").await;
    assert_eq!(new.expect_status(201).text("token"), token);
    assert_eq!(new.text("visitor"), secret);
    assert!(new.number("visit") > ada.number("visit"));
}

async fn a_visitor_who_waits_outlives_the_ticket() {
    let scene = TicketScene::start_full().await;
    let ticket = scene.ticket("ada");
    let ada = scene.api.send(with_ticket(&ticket)).await;
    let (token, secret) = (ada.expect_status(201).text("token"), ada.text("visitor"));
    scene.api.advance_seconds(700);
    // The ticket alone has expired.
    let is_refused = |answer: &vestibule_tests::api::ApiResponse| answer.status == 403;
    let refused = scene.api.send_until(|| with_ticket(&ticket), is_refused).await;
    assert_eq!(refused.text("reason"), "expired");
    let waiting = scene.api.send(status(token, secret)).await;
    assert_eq!(waiting.expect_status(200).text("state"), "waiting");
    for request in [
        ApiRequest::enter().visitor(secret),
        with_ticket(&ticket).visitor(secret),
    ] {
        let again = scene.api.send(request).await;
        assert_eq!(again.expect_status(200).text("token"), token);
        assert_eq!(again.number("visit"), ada.number("visit"));
    }
    // Any other fault of a ticket is told, whatever comes with it.
    let forged = TicketIssuer::ec("shop-1", 22).ticket("ada", scene.api.now_ms());
    let refused = scene.api.send(with_ticket(&forged).visitor(secret)).await;
    assert_eq!(
        refused.expect_problem(403, "invalid-ticket").text("reason"),
        "bad-signature"
    );
}

async fn a_visitor_who_missed_the_turn_returns_without_a_ticket() {
    let settings = json!({
        "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 60, "claim_seconds": 10,
        "presence_seconds": 0,
    });
    let scene = TicketScene::start(settings).await;
    scene.enter("first").await.expect_status(201);
    let ada = scene.enter("ada").await;
    let (token, secret) = (ada.expect_status(201).text("token"), ada.text("visitor"));
    scene.enter("next").await.expect_status(201);
    scene.api.advance_seconds(61);
    scene.api.promote().await;
    scene.api.advance_seconds(11);
    scene.api.promote().await;
    let missed = scene
        .api
        .send_until(|| status(token, secret), |answer| answer.status == 410)
        .await;
    assert!(missed.expect_problem(410, "expired").body["grace_until_ms"].is_number());
    // The next in line has the turn, so the old place is the first in line.
    let back = scene.api.send(ApiRequest::enter().visitor(secret)).await;
    assert_eq!(back.expect_status(200).number("visit"), ada.number("visit"));
    assert_eq!(back.number("position"), 1);
}

async fn a_visitor_who_missed_the_turn_is_let_in_if_there_is_room() {
    let settings = json!({
        "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 60, "claim_seconds": 10,
        "presence_seconds": 0,
    });
    let scene = TicketScene::start(settings).await;
    scene.enter("first").await.expect_status(201);
    let ada = scene.enter("ada").await;
    let secret = ada.expect_status(201).text("visitor");
    for seconds in [61, 11] {
        scene.api.advance_seconds(seconds);
        scene.api.promote().await;
    }
    let by_secret = || ApiRequest::enter().visitor(secret);
    let back = scene
        .api
        .send_until(by_secret, |answer| answer.status == 201)
        .await;
    assert_eq!(back.text("state"), "active");
}

async fn a_person_on_two_devices_has_one_place() {
    let scene = TicketScene::start_full().await;
    let (phone, laptop) = (scene.enter("ada").await, scene.enter("ada").await);
    assert_eq!(
        laptop.expect_status(200).text("token"),
        phone.expect_status(201).text("token")
    );
    assert_eq!(laptop.text("visitor"), phone.text("visitor"));
    let (token, secret) = (phone.text("token"), phone.text("visitor"));
    let left = ApiRequest::delete(entry_path(token)).visitor(secret);
    scene.api.send(left).await.expect_status(204);
    let told = scene.api.send(status(token, laptop.text("visitor"))).await;
    told.expect_problem(410, "left");
}

async fn a_visitor_who_gets_a_ticket_keeps_the_anonymous_place() {
    let scene = TicketScene::start(json!({ "visitors": "anyone", "capacity": 1, "batch": 1 })).await;
    let enter_as = |id: &str| ApiRequest::enter().visitor(id);
    scene
        .api
        .send(enter_as(&new_visitor_id()))
        .await
        .expect_status(201);
    let id = new_visitor_id();
    let before = scene.api.send(enter_as(&id)).await;
    let token = before.expect_status(201).text("token");
    let after = scene
        .api
        .send(with_ticket(&scene.ticket("ada")).visitor(&id))
        .await;
    assert_eq!(after.expect_status(200).text("token"), token);
    assert_eq!(after.number("position"), before.number("position"));
    // Either credential proves the place from then on.
    let secret = after.text("visitor");
    for credential in [id.as_str(), secret] {
        let shown = scene.api.send(status(token, credential)).await;
        shown.expect_status(200);
    }
    let again = scene
        .api
        .send(with_ticket(&scene.ticket("ada")).visitor(secret))
        .await;
    assert_eq!(again.expect_status(200).text("token"), token);
    // After the anonymous visit has ended, the known visitor enters.
    let left = ApiRequest::delete(entry_path(token)).visitor(secret);
    scene.api.send(left).await.expect_status(204);
    let known = scene
        .api
        .send(with_ticket(&scene.ticket("ada")).visitor(secret))
        .await;
    assert_ne!(known.expect_status(201).text("token"), token);
}
