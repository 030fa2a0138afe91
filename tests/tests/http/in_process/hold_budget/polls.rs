//! A deployment with a limit of held polls, and polls of its visitors.

use std::{pin::pin, time::Duration};

use axum::Router;
use futures_util::future::{Either, select};
use serde_json::{Value, json};
use tokio::time::timeout;
use vestibule_api::config::ApiConfig;
use vestibule_line::{HoldOrder, HoldOutcome};
use vestibule_tests::{
    in_process::{ApiRequest, ApiResponse, BOUND, InProcessApi, entry_path, local_config, send_to},
    lines::visitor,
    waiting::poll_until,
};

use crate::in_process::{Guest, enter_and_expect_created};

/// A poll that is answered by then was not held, because a hold takes 20 s.
pub(super) const UNHELD_MAX: Duration = Duration::from_secs(10);

/// Promotes one visitor every second, and none before the first tick.
pub(super) fn fast_settings() -> Value {
    json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 5 })
}

/// Starts a deployment that may hold this many polls. The only place of its queue is taken.
pub(super) async fn start_with_hold_budget(held_budget: u32, settings: Value) -> (InProcessApi, ApiConfig) {
    let config = ApiConfig {
        held_polls_max: held_budget,
        ..local_config()
    };
    let api = InProcessApi::start_with_config(config.clone(), settings).await;
    let (_, first) = enter_and_expect_created(&api).await;
    assert_eq!(first.text("state"), "active");
    (api, config)
}

/// A request that may be held for 20 s.
pub(super) fn poll_request(guest: &Guest) -> ApiRequest {
    ApiRequest::get(format!("{}?wait=20", entry_path(&guest.token))).visitor(&guest.id)
}

/// Returns the number of held polls that the line counts.
pub(super) async fn count_held_polls(api: &InProcessApi, config: &ApiConfig) -> u64 {
    let one_more = HoldOrder {
        deployment: &config.deployment,
        id: visitor(1),
        below: u64::MAX,
        unknown_speed_below: None,
        lease_ms: 1_000,
    };
    let Ok(HoldOutcome::Counted { held }) = api.line.take_hold(&one_more).await else {
        panic!("the budget has room");
    };
    api.line
        .release_holds(&config.deployment, &[visitor(1)])
        .await
        .expect("released");
    held - 1
}

/// Waits until the line counts this many held polls.
pub(super) async fn wait_for_held_polls(api: &InProcessApi, config: &ApiConfig, polls: u64) {
    poll_until(
        BOUND,
        async || count_held_polls(api, config).await,
        |held| *held == polls,
    )
    .await;
}

/// Asserts that the poll of a waiting visitor is answered at once.
pub(super) async fn expect_immediate_response(routes: &Router, guest: &Guest) {
    let response = timeout(UNHELD_MAX, send_to(routes, poll_request(guest))).await;
    let response = response.expect("answered at once");
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    assert!(response.number("retry_after_ms") >= 2_000);
}

/// Sends a poll, and makes the change once the line counts it. The change must end the hold.
pub(super) async fn hold_poll_until<F: Future<Output = ()>>(
    (api, config): (&InProcessApi, &ApiConfig),
    routes: &Router,
    guest: &Guest,
    change: F,
) -> ApiResponse {
    let mut response = pin!(send_to(routes, poll_request(guest)));
    let before = count_held_polls(api, config).await;
    let held = pin!(wait_for_held_polls(api, config, before + 1));
    let Either::Right(_) = select(&mut response, held).await else {
        panic!("the poll was answered before the change");
    };
    change.await;
    response.await
}
