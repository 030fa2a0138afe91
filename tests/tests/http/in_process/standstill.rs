//! The line stands still: the clock of its server is wrong, the queue is paused, or the protected service is full.

use serde_json::json;
use vestibule_domain::pace::LimitedBy;
use vestibule_line::AdjustClockOutcome;
use vestibule_tests::in_process::{ApiRequest, ApiResponse, InProcessApi, QUEUE, entry_path, queue_id};

use super::{Guest, enter_and_expect_created, start_full_queue};

super::cases![
    a_wrong_clock_stops_promotions_and_ends_no_entry,
    the_time_to_claim_does_not_pass_during_a_pause,
    the_document_says_why_no_entry_is_promoted,
    the_document_says_that_the_service_is_down,
];

const HOUR_MS: i64 = 3_600_000;

/// Reads the public document until it names this limit. The document may be a second old.
async fn wait_for_limit(api: &InProcessApi, limited_by: serde_json::Value) {
    let read = || ApiRequest::get(format!("/queues/{QUEUE}"));
    let names_limit = |document: &ApiResponse| document.expect_status(200).body["limited_by"] == limited_by;
    api.send_until(read, names_limit).await;
}

async fn a_wrong_clock_stops_promotions_and_ends_no_entry() {
    for off_ms in [HOUR_MS, -HOUR_MS] {
        let api = InProcessApi::start(json!({ "capacity": 3, "batch": 1, "interval_seconds": 1 })).await;
        let (active, entered) = enter_and_expect_created(&api).await;
        assert_eq!(entered.text("state"), "active");
        let (waiting, _) = enter_and_expect_created(&api).await;
        api.promote().await;
        wait_for_limit(&api, json!(null)).await;
        api.advance_seconds(1);

        api.clock.set_server_error_ms(off_ms);
        assert_eq!(api.promote().await.limited_by, LimitedBy::Clock);
        wait_for_limit(&api, json!("clock")).await;
        let status = api.send(active.status()).await;
        assert_eq!(status.expect_status(200).text("state"), "active");
        assert_eq!(status.number("expires_at_ms"), entered.number("expires_at_ms"));
        for body in [
            json!({ "visitor": active.id }),
            json!({ "pass": status.text("pass") }),
        ] {
            let validate = ApiRequest::post(format!("{}/validate", entry_path(&active.token))).json(&body);
            assert_eq!(
                api.send(validate).await.expect_status(200).body["valid"],
                true,
                "{body}"
            );
        }
        // The line does not move, so no poll is held, and a new visitor enters at the end.
        let poll = ApiRequest::get(format!("{}?wait=20", entry_path(&waiting.token))).visitor(&waiting.id);
        let response = api.send(poll).await;
        assert_eq!(
            (response.text("state"), response.number("position")),
            ("waiting", 1)
        );
        let (_, late) = enter_and_expect_created(&api).await;
        assert_eq!((late.text("state"), late.number("position")), ("waiting", 2));
        assert!(late.number("joined_at_ms").abs_diff(api.now_ms()) <= 10_000);

        let clocks = api.line.queue_view(&queue_id()).await.expect("seen").clocks;
        let adjusted = api
            .line
            .adjust_clock(&queue_id(), clocks.wanted_offset_ms())
            .await;
        assert_eq!(adjusted.expect("adjust"), AdjustClockOutcome::Applied);
        wait_for_limit(&api, json!(null)).await;
        assert_eq!(api.promote().await.promoted, 1);
        let status = api.send(waiting.status()).await;
        assert_eq!(status.text("state"), "ready");
    }
}

async fn the_document_says_why_no_entry_is_promoted() {
    let api = start_full_queue(json!({ "interval_seconds": 1 })).await;
    let (waiting, _) = enter_and_expect_created(&api).await;
    api.advance_seconds(1);
    assert_eq!(api.promote().await.limited_by, LimitedBy::Capacity);
    wait_for_limit(&api, json!("capacity")).await;
    api.configure_line(json!({ "capacity": 1, "paused": true }), "paused")
        .await;
    api.promote().await;
    wait_for_limit(&api, json!("switch")).await;

    api.configure_line(json!({ "capacity": 2 }), "two").await;
    api.advance_seconds(1);
    assert_eq!(api.promote().await.promoted, 1);
    wait_for_limit(&api, json!(null)).await;
    let status = api.send(waiting.status()).await;
    assert_eq!(status.text("state"), "ready");
}

async fn the_time_to_claim_does_not_pass_during_a_pause() {
    let settings = json!({ "capacity": 1, "batch": 1, "session_seconds": 20, "interval_seconds": 10 });
    let with = |paused: bool| {
        let mut settings = settings.clone();
        settings["paused"] = paused.into();
        settings
    };
    let api = start_full_queue(settings.clone()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.advance_seconds(20);
    api.promote().await;
    api.advance_seconds(50);
    api.configure_line(with(true), "paused").await;
    let get_status = async |guest: &Guest| api.send(guest.status()).await;
    let paused = get_status(&guest).await;
    assert_eq!(paused.expect_status(200).text("state"), "ready");
    assert_eq!(paused.number("claim_by_ms"), api.now_ms() + 10_000);
    // The pause is far longer than the time to claim.
    api.advance_seconds(3_600);
    let promotion = api.promote().await;
    assert_eq!((promotion.no_shows, promotion.promoted), (0, 0));
    let still = get_status(&guest).await;
    assert_eq!(still.expect_status(200).text("state"), "ready");
    assert_eq!(still.number("claim_by_ms"), api.now_ms() + 10_000);
    api.configure_line(with(false), "resumed").await;
    api.advance_seconds(9);
    assert_eq!(api.promote().await.no_shows, 0);
    let claim = guest.claim();
    assert_eq!(api.send(claim).await.expect_status(200).text("state"), "active");

    // After the pause the rest of the time to claim passes.
    let (late, _) = enter_and_expect_created(&api).await;
    api.advance_seconds(20);
    api.promote().await;
    api.configure_line(with(true), "paused again").await;
    api.advance_seconds(3_600);
    api.configure_line(with(false), "resumed again").await;
    api.advance_seconds(61);
    assert_eq!(api.promote().await.no_shows, 1);
    assert!(get_status(&late).await.expect_problem(410, "expired").body["grace_until_ms"].is_u64());
}

async fn the_document_says_that_the_service_is_down() {
    let settings = json!({ "adaptive": true, "load_low": 100, "load_high": 500, "load_ttl_seconds": 30 });
    let api = InProcessApi::start(settings).await;
    let (_, entered) = enter_and_expect_created(&api).await;
    assert_eq!(entered.text("state"), "waiting");
    let silent = api.promote().await;
    assert_eq!((silent.promoted, silent.limited_by), (0, LimitedBy::Service));
    wait_for_limit(&api, json!("service")).await;
    let report = ApiRequest::post(format!("/queues/{QUEUE}/load")).json(&json!({ "tps": 50 }));
    let answer = api.send(report).await;
    assert_eq!(answer.expect_status(200).body, json!({ "acts": true }));
    assert_eq!(api.promote().await.promoted, 1);
    wait_for_limit(&api, json!(null)).await;
}
