//! Callers who present nothing but the token of an entry. They read, and what they read has no effect.

use serde_json::json;
use vestibule_backup::Backup;
use vestibule_domain::{id::EntryId, state::EntryState};
use vestibule_line::{LeaveOutcome, LeaveReason};
use vestibule_tests::in_process::{ApiRequest, InProcessApi, entry_path, queue_id};

use super::{Guest, enter_and_expect_created, start_full_queue};

super::cases![
    a_strangers_polls_call_no_absent_visitor,
    a_stranger_is_told_the_same_place,
    a_stranger_restores_no_lost_entry,
    a_stranger_writes_no_end,
];

fn token_alone(guest: &Guest) -> ApiRequest {
    ApiRequest::get(entry_path(&guest.token))
}

fn entry_id(guest: &Guest) -> EntryId {
    guest.token.parse().expect("a token")
}

/// Ticks once a second, while a stranger polls. Returns how many entries were promoted.
async fn run_seconds(api: &InProcessApi, seconds: u64, guest: &Guest) -> u64 {
    let mut promoted = 0;
    for _ in 0..seconds {
        let stranger = api.send(token_alone(guest)).await;
        assert_eq!(stranger.expect_status(200).body["proven"], false);
        api.advance_seconds(1);
        promoted += api.promote().await.promoted;
    }
    promoted
}

async fn a_strangers_polls_call_no_absent_visitor() {
    let settings = json!({
        "interval_seconds": 1, "presence_seconds": 4, "call_seconds": 2, "claim_seconds": 10, "session_seconds": 10,
    });
    let api = start_full_queue(settings).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.promote().await;
    api.send(guest.status()).await.expect_status(200);
    let promoted = run_seconds(&api, 60, &guest).await;
    assert_eq!(
        promoted, 0,
        "the visitor has not asked since before the slot was free"
    );
    // The visitor comes back, and is the first in line.
    let back = api.send(guest.status()).await;
    assert_eq!(back.expect_status(200).number("position"), 1);
    assert_eq!(run_seconds(&api, 2, &guest).await, 1);
}

async fn a_stranger_is_told_the_same_place() {
    let api = start_full_queue(json!({})).await;
    enter_and_expect_created(&api).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let own = api.send(guest.status()).await;
    let stranger = api.send(token_alone(&guest)).await;
    for field in [
        "token",
        "visit",
        "state",
        "position",
        "place",
        "lane",
        "joined_at_ms",
    ] {
        assert_eq!(
            own.expect_status(200).body[field],
            stranger.body[field],
            "{field}"
        );
    }
    assert_eq!(stranger.number("position"), 2);
}

async fn a_stranger_restores_no_lost_entry() {
    let api = start_full_queue(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    api.lose_entry(entry_id(&guest)).await;
    let ids = [entry_id(&guest)];
    let before = api.snapshot_entries(&ids).await;
    api.send(token_alone(&guest))
        .await
        .expect_problem(503, "recovering");
    assert_eq!(api.snapshot_entries(&ids).await, before);
    let own = api.send(guest.status()).await;
    assert_eq!(own.expect_status(200).number("visit"), guest.visit);
}

async fn a_stranger_writes_no_end() {
    let api = start_full_queue(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let id = entry_id(&guest);
    let left = api.line.leave(&queue_id(), id, None, LeaveReason::Leave).await;
    assert!(matches!(left, Ok(LeaveOutcome::Ended(_))), "{left:?}");
    for (request, stored) in [
        (token_alone(&guest), EntryState::Waiting),
        (guest.status(), EntryState::Left),
    ] {
        api.send(request).await.expect_problem(410, "left");
        let record = api.backup.read_entry(&api.partition(), id).await;
        assert_eq!(record.expect("an answer").expect("a record").state, stored);
    }
}
