//! The secret of a visitor who entered with a ticket.

use serde_json::json;
use vestibule_domain::id::{IdKey, Salt, Visitor};
use vestibule_tests::{
    api::new_visitor_id,
    functions::root_key,
    in_process::{ApiRequest, entry_path, queue_id},
};

use super::{TicketScene, status, with_ticket};

crate::in_process::cases![
    the_secret_proves_the_entry_on_every_route,
    the_secret_of_another_entry_proves_nothing,
    a_secret_of_another_queue_or_generation_is_void,
    a_void_secret_stands_in_the_way_of_no_ticket,
];

async fn the_secret_proves_the_entry_on_every_route() {
    let scene = TicketScene::start(json!({ "session_seconds": 600 })).await;
    let ada = scene.enter("ada").await;
    let (token, secret) = (ada.expect_status(201).text("token"), ada.text("visitor"));
    let path = entry_path(token);
    let shown = scene.api.send(status(token, secret)).await;
    assert!(
        shown.expect_status(200).body["pass"].is_string(),
        "the owner gets a pass"
    );
    for route in ["claim", "extend"] {
        let request = ApiRequest::post(format!("{path}/{route}")).visitor(secret);
        assert!(scene.api.send(request).await.expect_status(200).body["pass"].is_string());
    }
    let validate = || ApiRequest::post(format!("{path}/validate"));
    for visitor in [secret, "ada"] {
        let valid = scene
            .api
            .send(validate().json(&json!({ "visitor": visitor })))
            .await;
        valid.expect_status(200);
    }
    let complete = ApiRequest::post(format!("{path}/complete"));
    let complete = complete.json(&json!({ "visitor": secret }));
    scene.api.send(complete).await.expect_status(204);
    scene.enter("ada").await.expect_status(201);
    let leave = ApiRequest::delete(&*path).visitor(secret);
    scene.api.send(leave).await.expect_status(204);
}

async fn the_secret_of_another_entry_proves_nothing() {
    let scene = TicketScene::start(json!({})).await;
    let (ada, bob) = (scene.enter("ada").await, scene.enter("bob").await);
    let token = ada.expect_status(201).text("token");
    let (adas, bobs) = (ada.text("visitor"), bob.expect_status(201).text("visitor"));
    let mixed = format!("{}{}", &adas[..26], &bobs[26..]);
    let upper = adas.to_uppercase();
    let path = entry_path(token);
    for stolen in [bobs, &mixed, &new_visitor_id()] {
        for request in [
            ApiRequest::get(&*path),
            ApiRequest::delete(&*path),
            ApiRequest::post(format!("{path}/claim")),
            ApiRequest::post(format!("{path}/extend")),
        ] {
            let refused = scene.api.send(request.visitor(stolen)).await;
            refused.expect_problem(403, "token-owner-mismatch");
        }
        let validate = ApiRequest::post(format!("{path}/validate")).json(&json!({ "visitor": stolen }));
        let refused = scene.api.send(validate).await;
        refused.expect_problem(403, "token-owner-mismatch");
    }
    let not_a_secret = scene.api.send(status(token, &upper)).await;
    not_a_secret.expect_invalid_field("X-Visitor-Id");
    // The token alone is a name and not a key.
    let alone = scene.api.send(ApiRequest::get(&*path)).await;
    alone.expect_status(200).expect_absent(&["pass", "visitor"]);
}

/// The secret of a visitor whom a ticket names, in another queue or another generation of the queue.
fn secret_elsewhere(queue: &str, salt: u8) -> String {
    let queue = queue.parse().expect("a queue id");
    let ids =
        IdKey::derive_for_queue(&root_key(), &queue, &Salt::new([salt; 32])).expect("the key of the salt");
    let entry = ids.entry_id(&Visitor::known("ada").expect("a visitor"));
    ids.visitor_secret(entry).reveal().to_owned()
}

async fn a_secret_of_another_queue_or_generation_is_void() {
    let scene = TicketScene::start(json!({})).await;
    let ada = scene.enter("ada").await;
    let token = ada.expect_status(201).text("token");
    assert_eq!(
        ada.text("visitor"),
        secret_elsewhere(queue_id().as_str(), 1),
        "the test derives secrets as the server does"
    );
    for void in [
        secret_elsewhere("TIMEDEAL:124", 1),
        secret_elsewhere(queue_id().as_str(), 2),
    ] {
        let refused = scene.api.send(status(token, &void)).await;
        refused.expect_problem(403, "token-owner-mismatch");
        let refused = scene.api.send(ApiRequest::enter().visitor(&void)).await;
        refused.expect_problem(403, "ticket-required");
    }
}

async fn a_void_secret_stands_in_the_way_of_no_ticket() {
    let scene = TicketScene::start(json!({})).await;
    let void = secret_elsewhere(queue_id().as_str(), 2);
    let entered = scene
        .api
        .send(with_ticket(&scene.ticket("ada")).visitor(&void))
        .await;
    assert_ne!(entered.expect_status(201).text("visitor"), void);
    // Another person on the same device.
    let bob = scene
        .api
        .send(with_ticket(&scene.ticket("bob")).visitor(entered.text("visitor")))
        .await;
    assert_ne!(bob.expect_status(201).text("token"), entered.text("token"));
    // A queue that no longer takes tickets says what is wrong.
    let open = json!({ "visitors": "anyone" });
    scene.api.configure_line(open, "2").await;
    let by_void = || ApiRequest::enter().visitor(&void);
    let refused = scene.api.send_until(by_void, |answer| answer.status == 400).await;
    refused.expect_invalid_field("X-Visitor-Id");
    let again = scene
        .api
        .send(ApiRequest::enter().visitor(entered.text("visitor")))
        .await;
    assert_eq!(again.expect_status(200).text("token"), entered.text("token"));
}
