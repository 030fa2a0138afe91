//! Queues that let only some visitors begin a visit.

use serde_json::{Value, json};
use vestibule_api::config::{ApiConfig, VisitorRoutes};
use vestibule_tests::in_process::{
    ApiRequest, InProcessApi, QUEUE, event, local_config, with_claims, with_header,
};

use super::{enter_and_expect_created, new_visitor_id};

super::cases![
    only_known_visitors_enter_a_queue_for_known_visitors,
    who_waits_keeps_the_place_when_the_queue_becomes_known_only,
];

fn enter() -> Value {
    event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }))
}

async fn only_known_visitors_enter_a_queue_for_known_visitors() {
    let settings = || json!({ "visitors": "known" });
    let api = InProcessApi::start_with_config(ApiConfig::default(), settings()).await;
    for anonymous in [
        enter(),
        with_header(enter(), "X-Visitor-Id", &new_visitor_id()),
        with_header(
            enter(),
            "Cookie",
            &format!("__Host-vestibule-visitor={}", new_visitor_id()),
        ),
    ] {
        let refused = api.send_event(&anonymous).await;
        refused.expect_problem(403, "visitor-required");
        assert!(!refused.headers.contains_key("set-cookie"));
    }
    api.send_event(&with_claims(enter(), &json!({ "sub": "ada" })))
        .await
        .expect_status(201);

    let trusting = json!({ "visitors": "known", "trust_client_visitor_id": true });
    let config = ApiConfig {
        visitor_routes: VisitorRoutes::ApiKey,
        ..ApiConfig::default()
    };
    for (config, key) in [(config, Some("key1")), (local_config(), None)] {
        let api = InProcessApi::start_with_config(config, trusting.clone()).await;
        let mut unnamed = enter();
        unnamed["requestContext"]["identity"]["apiKeyId"] = json!(key);
        api.send_event(&unnamed)
            .await
            .expect_problem(403, "visitor-required");
        let named = with_header(unnamed, "X-Visitor-Id", "ada");
        api.send_event(&named).await.expect_status(201);
    }
}

async fn who_waits_keeps_the_place_when_the_queue_becomes_known_only() {
    let settings = json!({ "capacity": 1, "batch": 1 });
    let api = InProcessApi::start(settings.clone()).await;
    enter_and_expect_created(&api).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let mut known_only = settings;
    known_only["visitors"] = json!("known");
    api.configure_line(known_only, "2").await;
    let stranger = || ApiRequest::enter().visitor(&new_visitor_id());
    api.send_until(stranger, |response| response.status == 403)
        .await
        .expect_problem(403, "visitor-required");
    // Anyone can invent a visitor id, so entering with it looks nothing up. The token finds the place.
    let calls = api.line_calls();
    api.send(ApiRequest::enter().visitor(&guest.id))
        .await
        .expect_problem(403, "visitor-required");
    assert_eq!(api.line_calls(), calls);
    let place = api.send(guest.status()).await;
    assert_eq!(place.expect_status(200).text("state"), "waiting");
}
