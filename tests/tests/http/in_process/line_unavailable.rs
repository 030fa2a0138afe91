//! The line is unavailable: what the routes answer from the backup, and what they refuse.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, json};
use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, StoredQueue};
use vestibule_faults::Fault;
use vestibule_tests::{
    entries::write_all,
    in_process::{ApiRequest, BOUND, InProcessApi, entry_path, queue_id, signer},
    waiting::wait_until,
};

use super::{enter_and_expect_created, new_visitor_id, start_full_queue};

super::cases![
    a_queue_that_the_line_lost_is_recovering,
    during_recovery_the_backup_is_asked_once_a_second,
    a_waiting_visitor_gets_a_status_without_position,
    an_active_visitor_and_no_other_gets_a_pass,
    an_expired_session_gets_no_pass,
    a_ready_visitor_gets_the_deadline,
    an_ended_or_unknown_entry_is_reported_by_the_line_only,
    every_change_is_refused,
    a_held_poll_is_answered_when_the_line_goes_down,
];

async fn a_waiting_visitor_gets_a_status_without_position() {
    let api = start_full_queue(json!({ "claim_seconds": 30 })).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    api.faults.fail_all(Fault::Unavailable);
    let response = api.send(guest.status()).await;
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    assert_eq!(response.body["degraded"], true);
    for field in ["visit", "joined_at_ms"] {
        assert_eq!(response.number(field), entered.number(field), "{field}");
    }
    for field in ["position", "waiting", "estimated_wait_seconds", "pass", "durable"] {
        assert!(
            response.body.get(field).is_none(),
            "only the line knows {field}: {response:?}"
        );
    }
    let mut paces = Vec::new();
    for _ in 0..20 {
        let response = api.send(guest.status()).await;
        paces.push(response.expect_status(200).number("retry_after_ms"));
    }
    assert!(
        paces.iter().all(|ms| (2_000..=20_000).contains(ms)),
        "a visitor must not miss a turn: {paces:?}"
    );
    paces.dedup();
    assert!(
        paces.len() > 10,
        "visitors must not return all at once: {paces:?}"
    );

    api.faults.heal_all();
    let back = api
        .send_until(|| guest.status(), |response| response.body["degraded"] == false)
        .await;
    assert_eq!(back.number("position"), 1, "the place did not change");
}

async fn an_active_visitor_and_no_other_gets_a_pass() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    api.faults.fail_all(Fault::Unavailable);
    let response = api.send(guest.status()).await;
    assert_eq!(
        (
            response.expect_status(200).text("state"),
            &response.body["degraded"]
        ),
        ("active", &json!(true))
    );
    assert_eq!(response.number("expires_at_ms"), entered.number("expires_at_ms"));
    let id = guest.token.parse().expect("a token");
    let claims = signer().verify(response.text("pass"), &queue_id(), id, api.now_ms() + 1_000);
    let claims = claims.expect("a good pass");
    assert!(claims.exp * 1_000 <= entered.number("expires_at_ms"));
    let found = api.send(ApiRequest::get(entry_path(&guest.token))).await;
    found
        .expect_status(200)
        .expect_absent(&["pass", "retry_after_ms"]);
    assert_eq!(found.body["proven"], false, "a token alone proves nothing");
    let thief = ApiRequest::get(entry_path(&guest.token)).visitor(&new_visitor_id());
    api.send(thief).await.expect_problem(403, "token-owner-mismatch");
}

async fn an_expired_session_gets_no_pass() {
    // By the clock of this process, the record is an hour old.
    let api = InProcessApi::start_an_hour_behind(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.faults.fail_all(Fault::Unavailable);
    let response = api.send(guest.status()).await;
    assert_eq!(
        response.expect_status(200).text("state"),
        "active",
        "no change has ended the visit"
    );
    assert!(response.body.get("pass").is_none(), "{response:?}");
    assert!(response.number("retry_after_ms") >= 2_000);
}

async fn a_ready_visitor_gets_the_deadline() {
    let api = start_full_queue(json!({ "session_seconds": 5 })).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.advance_seconds(10);
    assert_eq!(api.promote().await.promoted, 1);
    let ready = api.send(guest.status()).await;
    // The promoter flushes the journal like this.
    for record in api
        .line
        .due_journal_records(&queue_id(), 10)
        .await
        .expect("a journal")
    {
        write_all(&*api.backup, &api.partition(), &record.changes).await;
    }
    api.faults.fail_all(Fault::Unavailable);
    let response = api.send(guest.status()).await;
    assert_eq!(response.expect_status(200).text("state"), "ready");
    assert_eq!(response.number("claim_by_ms"), ready.number("claim_by_ms"));
    assert!(response.body.get("expires_at_ms").is_none());
}

async fn an_ended_or_unknown_entry_is_reported_by_the_line_only() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.send(guest.leave()).await.expect_status(204);
    api.faults.fail_all(Fault::Unavailable);
    let unknown = || ApiRequest::get(entry_path("1777853d-5d52-8cab-a8ce-928d525f6d31"));
    // Both may have entered since, in the line only. A client that is told of an end does not ask again.
    for request in [guest.status(), unknown()] {
        let response = api.send(request).await;
        response
            .expect_problem(503, "line-unavailable")
            .header("retry-after");
    }
    api.send(ApiRequest::get(
        "/queues/never-was/entries/1777853d-5d52-8cab-a8ce-928d525f6d31",
    ))
    .await
    .expect_problem(404, "unknown-queue");
    api.faults.heal_all();
    let response = api
        .send_until(|| guest.status(), |response| response.status != 503)
        .await;
    response.expect_problem(410, "left").number("ended_at_ms");
    api.send(unknown()).await.expect_problem(404, "unknown-entry");
}

async fn every_change_is_refused() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let path = |below: &str| format!("{}{below}", entry_path(&guest.token));
    api.faults.fail_all(Fault::Unavailable);
    for request in [
        ApiRequest::enter(),
        ApiRequest::post(path("/claim")),
        ApiRequest::delete(path("")),
        ApiRequest::post(path("/complete")),
        ApiRequest::post(path("/extend")).json(&json!({ "seconds": 60 })),
    ] {
        let response = api.send(request.visitor(&guest.id)).await;
        response
            .expect_problem(503, "line-unavailable")
            .header("retry-after");
    }
}

async fn a_held_poll_is_answered_when_the_line_goes_down() {
    let api = start_full_queue(json!({ "session_seconds": 5, "interval_seconds": 1 })).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let poll = ApiRequest::get(format!("{}?wait=20", entry_path(&guest.token))).visitor(&guest.id);
    let before = api.line_calls();
    let (response, ()) = tokio::join!(api.send(poll), async {
        wait_until(BOUND, "the poll is held", async || api.line_calls() >= before + 3).await;
        api.faults.fail_all(Fault::Unavailable);
    });
    assert_eq!(response.expect_status(200).text("state"), "waiting");
    assert_eq!(response.body["degraded"], true);
    // While the line is unavailable, no poll is held, and polls do not call the line.
    let failed = api.faults.failed_calls();
    let polls = (0..50).map(|_| {
        let poll = ApiRequest::get(format!("{}?wait=20", entry_path(&guest.token)));
        api.send(poll.visitor(&guest.id))
    });
    for response in join_all(polls).await {
        assert_eq!(response.expect_status(200).body["degraded"], true);
    }
    assert!(
        api.faults.failed_calls() <= failed + 2,
        "many polls together call the line at most twice"
    );
}

async fn a_queue_that_the_line_lost_is_recovering() {
    let api = InProcessApi::start(json!({})).await;
    let stored = api.backup.read_queue(&queue_id()).await.expect("a response");
    let stored = StoredQueue {
        settings: Map::new().into(),
        ..stored.expect("the queue exists")
    };
    let id = "lost".parse().expect("a queue id");
    assert!(api.backup.create_queue(&id, &stored).await.expect("stored"));
    let entering = api.send(ApiRequest::post("/queues/lost/entries")).await;
    let document = api.send(ApiRequest::get("/queues/lost")).await;
    for response in [
        entering.expect_problem(503, "recovering"),
        document.expect_absent_document(503, "recovering"),
    ] {
        let retry_after = response.header("retry-after");
        assert!(retry_after.parse::<u64>().expect("seconds") >= 1);
    }
}

async fn during_recovery_the_backup_is_asked_once_a_second() {
    let api = InProcessApi::start(json!({})).await;
    let stored = api.backup.read_queue(&queue_id()).await.expect("a response");
    let id = "lost".parse().expect("a queue id");
    let stored = stored.expect("the queue exists");
    assert!(api.backup.create_queue(&id, &stored).await.expect("stored"));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2_500) {
        let request = || api.send(ApiRequest::get("/queues/lost"));
        let responses = join_all((0..20).map(|_| request())).await;
        for response in responses {
            response.expect_absent_document(503, "recovering");
        }
        sleep(Duration::from_millis(20)).await;
    }
    let seconds = begun.elapsed().as_secs() + 1;
    let reads = api.backup_faults.calls("read_queue");
    assert!((2..=seconds).contains(&reads), "{reads} reads in {seconds} s");
}
