//! How visitors are let in, by the settings of the queue.

use serde_json::json;
use vestibule_tests::in_process::{ApiRequest, InProcessApi, QUEUE};

use super::enter_and_expect_created;

super::cases![
    without_the_fast_track_a_visitor_enters_an_empty_line,
    in_passthrough_every_visitor_has_a_pass_at_once,
    a_visitor_who_waited_too_long_is_told_why,
];

async fn without_the_fast_track_a_visitor_enters_an_empty_line() {
    let api = InProcessApi::start(json!({ "fast_track": false })).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    assert_eq!(
        (entered.text("state"), entered.number("position")),
        ("waiting", 1)
    );
    assert!(entered.body["pass"].is_null());
    assert_eq!(api.promote().await.promoted, 1);
    let status = api.send(guest.status()).await;
    assert_eq!(status.expect_status(200).text("state"), "ready");
}

async fn in_passthrough_every_visitor_has_a_pass_at_once() {
    let api = InProcessApi::start(json!({ "capacity": 1, "batch": 1, "mode": "passthrough" })).await;
    for _ in 0..3 {
        let (_, entered) = enter_and_expect_created(&api).await;
        assert_eq!(entered.text("state"), "active");
        assert!(entered.body["pass"].is_string());
    }
    let document = ApiRequest::get(format!("/queues/{QUEUE}"));
    let document = api.send(document).await;
    let document = document.expect_status(200);
    assert_eq!(
        (document.text("mode"), document.text("state")),
        ("passthrough", "open")
    );
}

async fn a_visitor_who_waited_too_long_is_told_why() {
    let api = InProcessApi::start(json!({ "fast_track": false, "waiting_seconds_max": 60 })).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    assert_eq!(entered.text("state"), "waiting");
    api.advance_seconds(60);
    assert_eq!(api.promote().await.overlong_waits, 1);
    // Before the backup has the end, and afterwards.
    for _ in 0..2 {
        let status = api.send(guest.status()).await;
        status.expect_problem(410, "expired");
        assert_eq!(
            (status.text("reason"), status.text("state")),
            ("overlong-wait", "expired")
        );
        assert!(status.body["grace_until_ms"].is_null());
    }
    let (_, again) = enter_and_expect_created(&api).await;
    assert_eq!(again.text("state"), "waiting");
}
