//! A claim that comes too early: a client sends it while the gateway refuses its polls.

use serde_json::json;

use super::{enter_and_expect_created, start_full_queue};

super::cases![a_claim_before_the_turn_checks_the_visitor_in];

async fn a_claim_before_the_turn_checks_the_visitor_in() {
    let settings = json!({ "session_seconds": 60, "presence_seconds": 20, "call_seconds": 10 });
    let api = start_full_queue(settings).await;
    let (claiming, _) = enter_and_expect_created(&api).await;
    let (polling, _) = enter_and_expect_created(&api).await;
    for _ in 0..11 {
        api.advance_seconds(5);
        api.promote().await;
        let early = api.send(claiming.claim()).await;
        early.expect_problem(409, "not-your-turn");
        api.send(polling.status()).await.expect_status(200);
    }
    api.advance_seconds(5);
    assert_eq!(api.promote().await.promoted, 1);
    let turn = api.send(claiming.claim()).await;
    assert_eq!(turn.expect_status(200).text("state"), "active");
    let behind = api.send(polling.status()).await;
    assert_eq!(behind.expect_status(200).text("state"), "waiting");
}
