//! Visitors of whom one misses the turn, and the requests of the one who comes back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_backup::Backup;
use vestibule_domain::record::EntryRecord;
use vestibule_engine::flush::flush_journal;
use vestibule_tests::in_process::{ApiRequest, ApiResponse, InProcessApi};

use crate::in_process::{Guest, enter_and_expect_created};

/// Promotes one visitor every ten seconds.
pub(super) fn settings() -> Value {
    json!({ "session_seconds": 20, "interval_seconds": 10 })
}

/// Enters three visitors, who wait in this order.
pub(super) async fn enter_three(api: &InProcessApi) -> [(Guest, ApiResponse); 3] {
    [
        enter_and_expect_created(api).await,
        enter_and_expect_created(api).await,
        enter_and_expect_created(api).await,
    ]
}

/// Enters three visitors. The first one misses the turn, and the second one is ready.
pub(super) async fn let_first_of_three_miss_the_turn(api: &InProcessApi) -> [(Guest, ApiResponse); 3] {
    let all = enter_three(api).await;
    api.advance_seconds(20);
    assert_eq!(api.promote().await.promoted, 1);
    api.advance_seconds(60);
    let promotion = api.promote().await;
    assert_eq!((promotion.no_shows, promotion.promoted), (1, 1));
    all
}

/// Writes the journal to the backup, as the promoter does.
pub(super) async fn flush(api: &InProcessApi) {
    let until = Instant::now() + Duration::from_mins(1);
    let flushed = flush_journal(&api.line, &*api.backup, &api.partition(), 1_000, until).await;
    flushed.expect("flushed");
}

pub(super) async fn read_record(api: &InProcessApi, guest: &Guest) -> EntryRecord {
    let id = guest.token.parse().expect("a token");
    let record = api.backup.read_entry(&api.partition(), id).await;
    record.expect("a response").expect("a record")
}

pub(super) async fn get_status(api: &InProcessApi, guest: &Guest) -> ApiResponse {
    api.send(guest.status()).await
}

/// The visitor enters again, and polls at once as the answer says.
pub(super) async fn enter_again(api: &InProcessApi, guest: &Guest) -> ApiResponse {
    let entered = api.send(ApiRequest::enter().visitor(&guest.id)).await;
    if entered.body["state"] == "waiting" {
        assert_eq!(entered.number("retry_after_ms"), 250, "{entered:?}");
        get_status(api, guest).await.expect_status(200);
    }
    entered
}

/// Asserts that the visitor has the old place again.
pub(super) fn expect_old_place(response: &ApiResponse, before: &ApiResponse) {
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    for field in ["token", "visit", "joined_at_ms"] {
        assert_eq!(response.body[field], before.body[field], "{field}: {response:?}");
    }
    assert_eq!(response.number("position"), 1);
    assert_eq!(response.body["durable"], true);
}

/// Requests the status until it matches. The routes cache the settings of a queue for a second.
pub(super) async fn get_status_until(
    api: &InProcessApi,
    guest: &Guest,
    matches: impl Fn(&ApiResponse) -> bool,
) -> ApiResponse {
    api.send_until(|| guest.status(), matches).await
}
