//! Tickets next to another name of the visitor: an authorizer's claim, or the word of a trusted caller.

use serde_json::{Value, json};
use vestibule_api::config::{ApiConfig, VisitorRoutes};
use vestibule_tests::{
    api::new_visitor_id,
    in_process::{ApiRequest, InProcessApi, QUEUE, event, local_config, with_claims, with_header},
    tickets::{TicketIssuer, key_set},
};

use super::{TicketScene, status, with_ticket};

crate::in_process::cases![
    the_ticket_and_the_claim_must_name_the_same_visitor,
    a_ticket_names_known_visitors_where_nothing_else_does,
    a_trusted_name_is_no_ticket,
];

fn enter_event(ticket: Option<&str>) -> Value {
    let mut enter = event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }));
    if let Some(ticket) = ticket {
        enter["body"] = json!(json!({ "ticket": ticket }).to_string());
        enter = with_header(enter, "Content-Type", "application/json");
    }
    enter
}

async fn the_ticket_and_the_claim_must_name_the_same_visitor() {
    let config = ApiConfig {
        visitor_routes: VisitorRoutes::Authorizer,
        ..ApiConfig::default()
    };
    let shop = TicketIssuer::ec("shop-1", 21);
    let settings = json!({ "visitors": "ticket", "ticket_keys": key_set(&[&shop]) });
    let api = InProcessApi::start_with_config(config, settings).await;
    let ticket = shop.ticket("ada", api.now_ms());
    let as_ada = |event| with_claims(event, &json!({ "sub": "ada" }));
    api.send_event(&as_ada(enter_event(None)))
        .await
        .expect_problem(403, "ticket-required");
    let stolen = with_claims(enter_event(Some(&ticket)), &json!({ "sub": "eve" }));
    let refused = api.send_event(&stolen).await;
    assert_eq!(
        refused.expect_problem(403, "invalid-ticket").text("reason"),
        "other-visitor"
    );
    let entered = api.send_event(&as_ada(enter_event(Some(&ticket)))).await;
    let token = entered.expect_status(201).text("token");
    let by_claim = api.send_event(&as_ada(enter_event(None))).await;
    assert_eq!(
        by_claim.expect_status(200).text("token"),
        token,
        "the claim and the ticket name the same known visitor"
    );
    // The secret is of no use to another member.
    let status = event(
        "GET",
        "/queues/{queue}/entries/{token}",
        &json!({ "queue": QUEUE, "token": token }),
    );
    let thief = with_claims(
        with_header(status, "X-Visitor-Id", entered.text("visitor")),
        &json!({ "sub": "eve" }),
    );
    api.send_event(&thief)
        .await
        .expect_problem(403, "token-owner-mismatch");
}

async fn a_ticket_names_known_visitors_where_nothing_else_does() {
    let scene = TicketScene::start(json!({ "visitors": "known" })).await;
    let anonymous = ApiRequest::enter().visitor(&new_visitor_id());
    scene
        .api
        .send(anonymous)
        .await
        .expect_problem(403, "ticket-required");
    scene.enter("ada").await.expect_status(201);
}

async fn a_trusted_name_is_no_ticket() {
    let shop = TicketIssuer::ec("shop-1", 21);
    let keys = key_set(&[&shop]);
    let trusting = json!({ "visitors": "ticket", "ticket_keys": keys, "trust_client_visitor_id": true });
    let api = InProcessApi::start_with_config(local_config(), trusting).await;
    api.send(ApiRequest::enter().visitor("ada"))
        .await
        .expect_problem(403, "ticket-required");
    let ticket = shop.ticket("ada", api.now_ms());
    let other = api.send(with_ticket(&ticket).visitor("bob")).await;
    assert_eq!(
        other.expect_problem(403, "invalid-ticket").text("reason"),
        "other-visitor"
    );
    let entered = api.send(with_ticket(&ticket).visitor("ada")).await;
    let (token, secret) = (entered.expect_status(201).text("token"), entered.text("visitor"));
    // The name and the secret prove the same entry, and a name may look like a secret.
    for credential in ["ada", secret] {
        api.send(status(token, credential)).await.expect_status(200);
    }
    let mut other_secret = secret.to_owned();
    other_secret.replace_range(30..31, if &secret[30..31] == "A" { "B" } else { "A" });
    api.send(status(token, &other_secret))
        .await
        .expect_problem(403, "token-owner-mismatch");
}
