//! How visitors are let in, by the settings of the queue.

use serde_json::json;
use vestibule_tests::in_process::InProcessApi;

use super::{enter_and_expect_created, status_request};

super::cases![without_the_fast_track_a_visitor_enters_an_empty_line];

async fn without_the_fast_track_a_visitor_enters_an_empty_line() {
    let api = InProcessApi::start(json!({ "fast_track": false })).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    assert_eq!(
        (entered.text("state"), entered.number("position")),
        ("waiting", 1)
    );
    assert!(entered.body["pass"].is_null());
    assert_eq!(api.promote().await.promoted, 1);
    let status = api.send(status_request(&guest)).await;
    assert_eq!(status.expect_status(200).text("state"), "ready");
}
