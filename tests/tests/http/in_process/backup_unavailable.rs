//! The backup cannot be reached: the journal keeps the changes, up to its limits.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_backup::Backup;
use vestibule_domain::state::EntryState;
use vestibule_engine::{
    check::{CheckConfig, check_queue},
    flush::flush_journal,
};
use vestibule_line::JournalLimits;
use vestibule_tests::in_process::{ApiRequest, ApiResponse, InProcessApi, entry_path, queue_id};

use super::{Guest, enter_and_expect_created, new_visitor_id};

super::cases![
    without_the_backup_changes_are_not_durable,
    a_full_journal_refuses_new_visitors_and_serves_the_others,
    without_journal_reserve_no_change_is_acknowledged,
    a_visitor_who_repeats_requests_does_not_fill_the_journal,
];

/// Starts without a backup. The queue lets two visitors in at once.
pub(super) async fn start_with_limits(newcomers: u64, all: u64) -> InProcessApi {
    let limits = JournalLimits {
        new_entries: newcomers,
        all_changes: all,
        ..JournalLimits::default()
    };
    let settings = json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 });
    InProcessApi::start_without_backup_and_with_limits(settings, limits).await
}

async fn journal_len(api: &InProcessApi) -> u64 {
    api.line
        .queue_view(&queue_id())
        .await
        .expect("the queue")
        .journal_len
}

fn enter_again(guest: &Guest) -> ApiRequest {
    ApiRequest::enter().visitor(&guest.id)
}

/// Flushes the journal, as the promoter does once the backup is back.
async fn flush(api: &InProcessApi) {
    let until = Instant::now() + Duration::from_mins(1);
    let flushed = flush_journal(&api.line, &*api.backup, &api.partition(), 1_000, until).await;
    flushed.expect("flushed");
    assert_eq!(journal_len(api).await, 0);
}

async fn stored_state(api: &InProcessApi, guest: &Guest) -> Option<EntryState> {
    let id = guest.token.parse().expect("a token");
    let record = api.backup.read_entry(&api.partition(), id).await;
    record.expect("a response").map(|record| record.state)
}

async fn a_full_journal_refuses_new_visitors_and_serves_the_others() {
    let api = start_with_limits(3, 100).await;
    let mut guests = Vec::new();
    for _ in 0..3 {
        let (guest, response) = enter_and_expect_created(&api).await;
        assert_eq!(response.body["durable"], false, "the response says so");
        guests.push(guest);
    }
    // A tick notices that the journal is full.
    assert_eq!(api.promote().await.promoted, 0);
    let newcomer = new_visitor_id();
    let refused = api.send(ApiRequest::enter().visitor(&newcomer)).await;
    let wait = refused
        .expect_problem(503, "backup-behind")
        .header("retry-after")
        .to_owned();
    assert!(wait.parse::<u64>().expect("whole seconds") >= 5, "{wait}");

    // A visitor in line keeps the place, and the visit of an active one can be completed.
    let again = api.send(enter_again(&guests[2])).await;
    assert_eq!(again.expect_status(200).text("token"), guests[2].token);
    assert_eq!((again.text("state"), again.number("position")), ("waiting", 1));
    api.send(ApiRequest::get(entry_path(&guests[2].token)))
        .await
        .expect_status(200);
    let complete = ApiRequest::post(format!("{}/complete", entry_path(&guests[0].token)));
    api.send(complete).await.expect_status(204);
    let status = api.send(guests[1].status()).await;
    assert!(status.expect_status(200).body["pass"].is_string());
    api.advance_seconds(1);
    assert_eq!(
        api.promote().await.promoted,
        1,
        "the limit for newcomers does not stop a promotion"
    );

    flush(&api).await;
    for (guest, state) in guests
        .iter()
        .zip([EntryState::Completed, EntryState::Active, EntryState::Ready])
    {
        assert_eq!(stored_state(&api, guest).await, Some(state));
    }
    api.promote().await;
    api.send(ApiRequest::enter().visitor(&newcomer))
        .await
        .expect_status(201);
}

async fn without_journal_reserve_no_change_is_acknowledged() {
    let api = start_with_limits(4, 4).await;
    let (active, _) = enter_and_expect_created(&api).await;
    let (other, _) = enter_and_expect_created(&api).await;
    let (waiting, _) = enter_and_expect_created(&api).await;
    api.send(other.leave()).await.expect_status(204);
    assert_eq!(journal_len(&api).await, 4);

    // A visitor in line keeps the place.
    let again = api.send(enter_again(&waiting)).await;
    assert_eq!(again.expect_status(200).body["durable"], Value::Bool(false));
    let leave = || active.leave();
    api.send(leave())
        .await
        .expect_problem(503, "backup-behind")
        .header("retry-after");
    // The visit has ended all the same, so leaving again changes nothing. The status is unknown until the backup can
    // say that no later visit began.
    api.send(ApiRequest::get(entry_path(&active.token)))
        .await
        .expect_problem(503, "backup-unavailable");
    api.send(leave()).await.expect_status(204);

    flush(&api).await;
    assert_eq!(
        stored_state(&api, &active).await,
        Some(EntryState::Active),
        "the end is not written yet"
    );
    // The line remembers the end, so the consistency check writes it.
    let config = CheckConfig {
        second_read_after: Duration::ZERO,
        ..CheckConfig::default()
    };
    let checked = check_queue(&api.line, &*api.backup, &api.partition(), 0, config).await;
    assert_eq!(checked.expect("checked").ended, 1);
    assert_eq!(stored_state(&api, &active).await, Some(EntryState::Left));
}

async fn a_visitor_who_repeats_requests_does_not_fill_the_journal() {
    let api = start_with_limits(100, 200).await;
    let (active, _) = enter_and_expect_created(&api).await;
    enter_and_expect_created(&api).await;
    let (waiting, _) = enter_and_expect_created(&api).await;
    assert_eq!(journal_len(&api).await, 3);
    for _ in 0..1_000 {
        let again = api.send(enter_again(&waiting)).await;
        assert_eq!(again.expect_status(200).text("state"), "waiting");
    }
    assert_eq!(
        journal_len(&api).await,
        3,
        "the journal has the place of each visitor once"
    );
    // Each of these visits is new.
    for _ in 0..20 {
        api.send(waiting.leave()).await.expect_status(204);
        api.send(enter_again(&waiting)).await.expect_status(201);
        api.send(enter_again(&active)).await.expect_status(200);
    }
    let records = journal_len(&api).await;
    assert!(
        records <= 5,
        "a place and an end of one, a place and a session of another: {records}"
    );
    flush(&api).await;
    assert_eq!(stored_state(&api, &waiting).await, Some(EntryState::Waiting));
    assert_eq!(stored_state(&api, &active).await, Some(EntryState::Active));
}

async fn without_the_backup_changes_are_not_durable() {
    let api = InProcessApi::start_without_backup(json!({ "capacity": 1, "batch": 1 })).await;
    let (active, entered) = enter_and_expect_created(&api).await;
    assert_eq!(entered.body["durable"], false);
    assert!(entered.body["pass"].is_string());
    assert_eq!(journal_len(&api).await, 1);
    let status = api.send(active.status()).await;
    assert!(status.expect_status(200).body["pass"].is_string(), "{status:?}");
    // Only the record in the backup says when the visitor joined, or whether an entry or a queue exists.
    status.expect_absent(&["joined_at_ms"]);
    for request in [
        ApiRequest::post(format!("{}/extend", entry_path(&active.token))).visitor(&active.id),
        ApiRequest::get(entry_path("0f8fad5b-d9cb-869f-a165-70867728950e")),
    ] {
        let refused = api.send(request).await;
        expect_short_retry(refused.expect_problem(503, "backup-unavailable"));
    }
    let document = api.send(ApiRequest::get("/queues/nowhere")).await;
    expect_short_retry(document.expect_absent_document(503, "backup-unavailable"));
}

/// Without a line there is no crowd to spread, so the floor and its width count.
fn expect_short_retry(refused: &ApiResponse) {
    let retry_after: u64 = refused.header("retry-after").parse().expect("whole seconds");
    assert!((2..=4).contains(&retry_after), "{retry_after}");
}
