//! A live token instead of a pass.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;
use vestibule_tests::in_process::InProcessApi;

use super::{
    super::{enter_and_expect_created, start_full_queue},
    ask, authorizer, event_with_token, request_event,
};

super::super::cases![
    a_token_needs_the_visitor_id,
    a_waiting_visitor_is_denied_and_not_claimed,
];

async fn a_token_needs_the_visitor_id() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let (other, _) = enter_and_expect_created(&api).await;
    let authorizer = authorizer(&api);
    let bearer = format!("Bearer {}", guest.token);
    ask(&authorizer, request_event(&[("Authorization", &bearer)]))
        .await
        .expect_denied("visitor-required");
    ask(&authorizer, event_with_token(&guest.token, &other.id))
        .await
        .expect_denied("token-owner-mismatch");
    ask(&authorizer, event_with_token(&guest.token, &guest.id))
        .await
        .expect_allowed();

    // The event of the type TOKEN has one header, so both are in it.
    let token_event = |token: &str, visitor: &str| {
        let pair = STANDARD.encode(format!("{token}:{visitor}"));
        json!({
            "type": "TOKEN", "methodArn": "arn:aws:execute-api:a:1:b/c/GET/",
            "authorizationToken": format!("Basic {pair}"),
        })
    };
    ask(&authorizer, token_event(&guest.token, &guest.id))
        .await
        .expect_allowed();
    ask(&authorizer, token_event(&guest.token, &other.id))
        .await
        .expect_denied("token-owner-mismatch");
}

async fn a_waiting_visitor_is_denied_and_not_claimed() {
    let api = start_full_queue(json!({})).await;
    let (second, _) = enter_and_expect_created(&api).await;
    let authorizer = authorizer(&api);
    let event = || event_with_token(&second.token, &second.id);
    ask(&authorizer, event()).await.expect_denied("not-your-turn");
    api.configure_line(json!({ "capacity": 9 }), "2").await;
    api.advance_seconds(60);
    assert_eq!(api.promote().await.promoted, 1);
    ask(&authorizer, event()).await.expect_denied("not-your-turn");
    let status = api.send(second.status()).await;
    assert_eq!(status.text("state"), "ready", "the authorizer claims no turn");
    api.send(second.claim()).await.expect_status(200);
    ask(&authorizer, event()).await.expect_allowed();
}
