//! Who assigns a lane: a ticket or the authorizer, and never the visitor.

use serde_json::{Value, json};
use vestibule_api::config::ApiConfig;
use vestibule_tests::{
    api::ApiResponse,
    in_process::{ApiRequest, InProcessApi, QUEUE, event, with_claims, with_header},
};

use super::{TicketScene, with_ticket};

crate::in_process::cases![
    a_ticket_names_the_lane_of_a_new_place,
    a_later_ticket_leaves_the_lane_as_it_is,
    a_late_lane_is_told_the_wait_behind_the_others,
    an_answer_counts_the_turns_of_all_lanes,
    ahead_is_marked_as_expected_while_lanes_share_the_turns,
    the_authorizers_claim_names_the_lane,
    a_claimed_lane_out_of_range_is_refused,
    no_visitor_chooses_a_lane,
];

impl TicketScene {
    async fn enter_lane(&self, visitor: &str, lane: u8) -> Value {
        let claims = self.claims_with(&json!({ "sub": visitor, "lane": lane }));
        let entered = self.api.send(with_ticket(&self.shop.sign(&claims))).await;
        assert!(entered.status.is_success(), "{entered:?}");
        entered.body
    }
}

async fn a_ticket_names_the_lane_of_a_new_place() {
    let scene = TicketScene::start_full().await;
    let usual = scene.enter("bob").await;
    assert_eq!(
        (&usual.body["lane"], &usual.body["position"]),
        (&json!(4), &json!(1))
    );
    for (visitor, lane, position) in [("vip-1", 0, 1), ("vip-2", 0, 2), ("late", 7, 1)] {
        let entered = scene.enter_lane(visitor, lane).await;
        assert_eq!(
            (&entered["lane"], &entered["position"]),
            (&json!(lane), &json!(position)),
            "{entered}"
        );
    }
    let second = scene.enter("carl").await;
    assert_eq!(second.body["position"], 2, "the position is that in the lane");
    let document = || ApiRequest::get(format!("/queues/{QUEUE}"));
    let document = scene
        .api
        .send_until(document, |document| document.body["waiting"] == 5)
        .await;
    assert!(document.body["lanes"]["4"].is_object(), "{document:?}");
}

async fn a_late_lane_is_told_the_wait_behind_the_others() {
    let scene = TicketScene::start_full().await;
    scene.enter("bob").await;
    for visitor in ["vip-1", "vip-2", "vip-3"] {
        scene.enter_lane(visitor, 0).await;
    }
    // A tick lists a lane that it meets.
    scene.api.promote().await;
    let document = || ApiRequest::get(format!("/queues/{QUEUE}"));
    let document = scene
        .api
        .send_until(document, |document| {
            document.body["waiting"] == 4 && document.body["lanes"]["0"]["estimated_waits"].is_array()
        })
        .await;
    let waits = |lane: &str| document.body["lanes"][lane]["estimated_waits"].clone();
    let (early, late) = (waits("0"), waits("4"));
    assert_eq!(
        (&early[0]["position"], &late[0]["position"]),
        (&json!(1), &json!(1))
    );
    assert!(
        late[0]["high"].as_u64() >= early[2]["high"].as_u64(),
        "bob is the head of his lane, and waits for three visitors: {early} and {late}"
    );
    let told = scene.enter("bob").await.body["estimated_wait_seconds"].clone();
    assert!(
        told["high"].as_u64() > early[0]["high"].as_u64(),
        "{told} and {early}"
    );
}

impl TicketScene {
    /// A line of one visitor in the default lane between so many members and others, and the public document.
    async fn start_with_members(lane_share: u8, members: u64, others: u64) -> (Self, ApiResponse, Value) {
        let settings = json!({ "capacity": 1, "batch": 1, "presence_seconds": 0, "lane_share": lane_share });
        let scene = Self::start(settings).await;
        scene.enter("first").await.expect_status(201);
        for member in 0..members {
            scene.enter_lane(&format!("member-{member}"), 0).await;
        }
        scene.enter("bob").await;
        for other in 0..others {
            scene.enter(&format!("other-{other}")).await;
        }
        // A tick lists a lane that it meets.
        scene.api.promote().await;
        let document = || ApiRequest::get(format!("/queues/{QUEUE}"));
        let is_new = |document: &ApiResponse| {
            document.body["waiting"] == members + others + 1
                && document.body["lanes"]["4"]["ahead"].is_array()
        };
        let document = scene.api.send_until(document, is_new).await.body["lanes"].clone();
        let bob = scene.enter("bob").await;
        (scene, bob, document)
    }
}

async fn an_answer_counts_the_turns_of_all_lanes() {
    let (_scene, bob, lanes) = TicketScene::start_with_members(0, 40, 33).await;
    let told = ["position", "ahead", "behind"].map(|field| bob.number(field));
    assert_eq!(told, [1, 40, 33]);
    bob.expect_absent(&["ahead_is_expected"]);
    assert_eq!(lanes["4"]["ahead"][0], json!({ "position": 1, "ahead": 40 }));
    assert_eq!(lanes["0"]["ahead"][0], json!({ "position": 1, "ahead": 0 }));
    assert!(lanes["4"]["ahead_is_expected"].is_null(), "{lanes}");
}

async fn ahead_is_marked_as_expected_while_lanes_share_the_turns() {
    let (_scene, bob, lanes) = TicketScene::start_with_members(10, 40, 0).await;
    // Each tenth turn is one of the default lane.
    let ahead = bob.number("ahead");
    assert_eq!((ahead, bob.number("behind")), (9, 31), "{bob:?}");
    assert_eq!(bob.body["ahead_is_expected"], true);
    assert_eq!(lanes["4"]["ahead_is_expected"], true, "{lanes}");
    assert_eq!(lanes["4"]["ahead"][0]["ahead"], ahead);
}

async fn a_later_ticket_leaves_the_lane_as_it_is() {
    let scene = TicketScene::start_full().await;
    let first = scene.enter("ada").await;
    let again = scene.enter_lane("ada", 0).await;
    assert_eq!(again["token"], first.body["token"]);
    assert_eq!(
        (&again["lane"], &again["place"]),
        (&json!(4), &first.body["place"])
    );
}

fn lane_config() -> ApiConfig {
    ApiConfig {
        lane_claim: Some("tier".to_owned()),
        ..ApiConfig::default()
    }
}

/// A queue with one slot, which another visitor has taken, in a deployment whose authorizer names lanes.
async fn start_full_with_claims() -> InProcessApi {
    let settings = json!({ "capacity": 1, "batch": 1, "presence_seconds": 0 });
    let api = InProcessApi::start_with_config(lane_config(), settings).await;
    api.send_event(&enter_as(&json!({ "sub": "first" })))
        .await
        .expect_status(201);
    api
}

fn enter_as(claims: &Value) -> Value {
    let enter = event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }));
    with_claims(enter, claims)
}

async fn the_authorizers_claim_names_the_lane() {
    let api = start_full_with_claims().await;
    for (visitor, tier, lane) in [
        ("text", json!("2"), 2),
        ("number", json!(0), 0),
        ("none", Value::Null, 4),
    ] {
        let entered = api
            .send_event(&enter_as(&json!({ "sub": visitor, "tier": tier })))
            .await;
        assert_eq!(entered.expect_status(201).body["lane"], lane, "{visitor}");
    }
}

async fn a_claimed_lane_out_of_range_is_refused() {
    let api = start_full_with_claims().await;
    for tier in [
        json!("8"),
        json!(-1),
        json!("gold"),
        json!(""),
        json!(true),
        json!(1.5),
    ] {
        let refused = api
            .send_event(&enter_as(&json!({ "sub": "ada", "tier": tier })))
            .await;
        let detail = refused.expect_invalid_field("tier").text("detail");
        assert!(detail.contains("from 0 to 7"), "{tier}: {detail}");
    }
}

async fn no_visitor_chooses_a_lane() {
    let api = start_full_with_claims().await;
    let with_field = ApiRequest::enter().json(&json!({ "lane": 0 }));
    api.send(with_field).await.expect_invalid_field("lane");
    let enter = event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }));
    for (name, value) in [("tier", "0"), ("X-Lane", "0"), ("lane", "0")] {
        let entered = api.send_event(&with_header(enter.clone(), name, value)).await;
        assert_eq!(entered.expect_status(201).body["lane"], 4, "{name}");
    }
}
