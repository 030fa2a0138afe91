//! Visitors who close the page, in a queue with `leave_on_close`.

use serde_json::{Value, json};
use vestibule_tests::in_process::{ApiRequest, InProcessApi, entry_path};

use super::{Guest, enter_and_expect_created, hold_wakeups::hold_poll_until, start_full_queue};

super::cases![
    a_waiting_visitor_leaves_by_closing_the_page,
    any_request_of_the_visitor_keeps_the_place,
    the_end_of_a_held_poll_does_not_keep_the_place,
    closing_the_page_changes_nothing_elsewhere,
    the_page_of_another_visitor_cannot_be_closed,
    a_request_with_the_token_alone_keeps_no_place,
];

/// The seconds from the closing to the end.
const SECONDS: u64 = 15;

fn leaving() -> Value {
    json!({ "leave_on_close": true, "session_seconds": 3_600 })
}

fn close_request(guest: &Guest) -> ApiRequest {
    ApiRequest::delete(format!(
        "{}?closed=true&visit={}",
        entry_path(&guest.token),
        guest.visit
    ))
    .visitor(&guest.id)
}

/// Ticks once a second. Returns how many visitors left.
async fn run_seconds(api: &InProcessApi, seconds: u64) -> u64 {
    let mut left = 0;
    for _ in 0..seconds {
        api.advance_seconds(1);
        left += api.promote().await.left;
    }
    left
}

async fn a_waiting_visitor_leaves_by_closing_the_page() {
    let api = start_full_queue(leaving()).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    assert_eq!(entered.body["leave_on_close"], true);
    let (behind, _) = enter_and_expect_created(&api).await;
    run_seconds(&api, 1).await;
    let closing = api.send(close_request(&guest)).await;
    assert_eq!(closing.expect_status(202).number("leaves_in_ms"), SECONDS * 1_000);
    assert_eq!(run_seconds(&api, SECONDS - 1).await, 0);
    assert_eq!(run_seconds(&api, 1).await, 1);
    let status = api.send(guest.status()).await;
    assert_eq!(status.expect_problem(410, "left").text("state"), "left");
    let status = api.send(behind.status()).await;
    assert_eq!(status.expect_status(200).number("position"), 1);
}

async fn any_request_of_the_visitor_keeps_the_place() {
    let requests: [fn(&Guest) -> ApiRequest; 3] = [Guest::status, Guest::claim, |guest| {
        ApiRequest::enter().visitor(&guest.id)
    }];
    for (request, status) in requests.into_iter().zip([200, 409, 200]) {
        let api = start_full_queue(leaving()).await;
        let (guest, _) = enter_and_expect_created(&api).await;
        run_seconds(&api, 1).await;
        api.send(close_request(&guest)).await.expect_status(202);
        run_seconds(&api, SECONDS - 1).await;
        api.send(request(&guest)).await.expect_status(status);
        assert_eq!(run_seconds(&api, 2 * SECONDS).await, 0);
        let waiting = api.send(guest.status()).await;
        assert_eq!(waiting.expect_status(200).text("state"), "waiting");
    }
}

async fn the_end_of_a_held_poll_does_not_keep_the_place() {
    // A pause ends the hold, or its time does. The turn is near, so that the poll is held.
    for (wait_seconds, pause_ends_hold) in [(20, true), (4, false)] {
        let mut settings = json!({
            "leave_on_close": true, "session_seconds": 5, "interval_seconds": 1, "capacity": 1, "batch": 1,
        });
        let api = start_full_queue(settings.clone()).await;
        api.promote().await;
        settings["paused"] = json!(true);
        let (guest, _) = enter_and_expect_created(&api).await;
        let path = format!("{}?wait={wait_seconds}", entry_path(&guest.token));
        let poll = ApiRequest::get(path).visitor(&guest.id);
        let (polled, _) = hold_poll_until(&api, poll, async || {
            api.send(close_request(&guest)).await.expect_status(202);
            if pause_ends_hold {
                api.configure_line(settings.clone(), "2").await;
            }
        })
        .await;
        assert_eq!(polled.expect_status(200).text("state"), "waiting");
        api.configure_line(settings, "3").await;
        assert_eq!(
            run_seconds(&api, SECONDS).await,
            1,
            "after a hold of {wait_seconds} s at most"
        );
    }
}

async fn closing_the_page_changes_nothing_elsewhere() {
    let api = start_full_queue(json!({ "session_seconds": 3_600 })).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    assert!(entered.body["leave_on_close"].is_null());
    api.send(close_request(&guest)).await.expect_status(204);

    let api = start_full_queue(leaving()).await;
    let (ended, _) = enter_and_expect_created(&api).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.send(ended.leave()).await.expect_status(204);
    api.send(close_request(&ended)).await.expect_status(204);
    let of_other_visit = Guest {
        visit: ended.visit,
        ..guest
    };
    api.send(close_request(&of_other_visit)).await.expect_status(204);
    assert_eq!(run_seconds(&api, 2 * SECONDS).await, 0);

    let unclear = format!("{}?closed=yes", entry_path(&of_other_visit.token));
    let unclear = api
        .send(ApiRequest::delete(unclear).visitor(&of_other_visit.id))
        .await;
    assert_eq!(
        unclear.expect_problem(400, "invalid-field").text("field"),
        "closed"
    );
}

async fn the_page_of_another_visitor_cannot_be_closed() {
    let api = start_full_queue(leaving()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let (other, _) = enter_and_expect_created(&api).await;
    let foreign = Guest {
        id: other.id,
        ..guest
    };
    let refused = api.send(close_request(&foreign)).await;
    refused.expect_problem(403, "token-owner-mismatch");
}

async fn a_request_with_the_token_alone_keeps_no_place() {
    let api = start_full_queue(leaving()).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    run_seconds(&api, 1).await;
    api.send(close_request(&guest)).await.expect_status(202);
    let mut left = 0;
    for _ in 0..SECONDS {
        let stranger = api.send(ApiRequest::get(entry_path(&guest.token))).await;
        stranger.expect_status(200).expect_absent(&["leave_on_close"]);
        left += run_seconds(&api, 1).await;
    }
    assert_eq!(left, 1);
}
