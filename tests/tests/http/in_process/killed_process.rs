//! A process is killed after the line has made a change and before the backup stores it. No response was sent, and the
//! next request writes what is missing.

use serde_json::json;
use tokio::{join, time::Instant};
use vestibule_backup::Backup;
use vestibule_domain::{id::EntryId, record::EntryRecord, state::EntryState};
use vestibule_engine::flush::flush_journal;
use vestibule_faults::Fault;
use vestibule_line::{Arrival, ClaimOutcome, LeaveOutcome, LeaveReason, ValidateOutcome, Validation};
use vestibule_tests::{
    in_process::{
        ApiRequest, BOUND, InProcessApi, anonymous_visitor, entry_path, local_config, queue_id, send_to,
    },
    waiting::wait_until,
};

use super::{Guest, enter_and_expect_created, start_full_queue};

super::cases![
    an_unwritten_leave_is_written_by_the_next_request,
    an_unwritten_claim_is_written_by_a_status_request,
    an_unwritten_claim_is_not_shown_while_the_line_is_down,
    an_unwritten_session_that_expired_gives_no_second_turn,
    an_unwritten_consumption_is_written_by_complete,
    an_unwritten_entry_is_written_by_entering_again,
];

async fn read_record(api: &InProcessApi, id: EntryId) -> Option<EntryRecord> {
    let record = api.backup.read_entry(&api.partition(), id).await;
    record.expect("the backup answers")
}

fn entry_id(guest: &Guest) -> EntryId {
    guest.token.parse().expect("a token")
}

async fn an_unwritten_leave_is_written_by_the_next_request() {
    let api = start_full_queue(json!({})).await;
    for leaves_again in [true, false] {
        let (guest, _) = enter_and_expect_created(&api).await;
        let left = api
            .line
            .leave(&queue_id(), entry_id(&guest), None, LeaveReason::Leave)
            .await;
        assert!(matches!(left, Ok(LeaveOutcome::Ended(_))), "{left:?}");
        assert_eq!(
            read_record(&api, entry_id(&guest)).await.expect("written").state,
            EntryState::Waiting
        );

        if leaves_again {
            api.send(guest.leave()).await.expect_status(204);
        } else {
            let ended = api.send(guest.status()).await;
            ended.expect_status(410);
            assert_eq!(
                ended.body["state"], "left",
                "the visitor left, and did not expire"
            );
        }
        assert_eq!(
            read_record(&api, entry_id(&guest)).await.expect("written").state,
            EntryState::Left
        );
        let view = api.line.queue_view(&queue_id()).await.expect("answered");
        assert_eq!(view.unsettled_ends, 0, "the end is acknowledged");
    }
}

/// Makes a visitor active in the line only. The backup still says that the visitor is ready.
async fn claim_in_line_only(claim_seconds: u64, session_seconds: u64) -> (InProcessApi, Guest) {
    let api = start_full_queue(json!({ "interval_seconds": 1 })).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let settings = json!({
        "interval_seconds": 1,
        "capacity": 100,
        "claim_seconds": claim_seconds,
        "session_seconds": session_seconds,
        "grace_seconds": 600,
    });
    api.configure_line(settings, "2").await;
    api.advance_seconds(1);
    assert_eq!(api.promote().await.promoted, 1);
    let end = Instant::now() + BOUND;
    let flushed = flush_journal(&api.line, &*api.backup, &api.partition(), 1_000, end).await;
    flushed.expect("flushed");
    let claimed = api.line.claim(&queue_id(), entry_id(&guest)).await;
    assert!(matches!(claimed, Ok(ClaimOutcome::Active { .. })), "{claimed:?}");
    let record = read_record(&api, entry_id(&guest)).await.expect("written");
    assert_eq!(record.state, EntryState::Ready);
    (api, guest)
}

async fn an_unwritten_claim_is_written_by_a_status_request() {
    let (api, guest) = claim_in_line_only(300, 60).await;
    let status = api.send(guest.status()).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
    assert_eq!(status.body["durable"], true);
    let record = read_record(&api, entry_id(&guest)).await.expect("written");
    assert_eq!(record.state, EntryState::Active);
    assert_eq!(record.expires_at_ms, Some(status.number("expires_at_ms")));
}

/// A response would acknowledge a claim that only the unavailable line holds.
async fn an_unwritten_claim_is_not_shown_while_the_line_is_down() {
    let (api, guest) = claim_in_line_only(300, 60).await;
    let lookup_gate = api.faults.gate_after("check_in");
    lookup_gate.shut();
    let get_status = api.send(guest.status());
    let line_goes_away = async {
        wait_until(BOUND, "the status request has reached the line", async || {
            lookup_gate.arrivals() > 0
        })
        .await;
        api.faults.fail_all(Fault::Unavailable);
        lookup_gate.open();
    };
    let (status, ()) = join!(get_status, line_goes_away);
    status.expect_problem(503, "line-unavailable");
    api.faults.heal_all();
    let status = api.send(guest.status()).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
}

/// The service was told that the visitor is active. So the visitor gets neither a second turn nor the place of a
/// no-show.
async fn an_unwritten_session_that_expired_gives_no_second_turn() {
    // By the record in the backup, the visitor may still claim, or has missed the turn.
    for (claim_seconds, session_seconds, enters_again) in [
        (300, 60, false),
        (300, 60, true),
        (60, 300, false),
        (60, 300, true),
    ] {
        let (api, guest) = claim_in_line_only(claim_seconds, session_seconds).await;
        let validate = ApiRequest::post(format!("{}/validate", entry_path(&guest.token)));
        let validate = validate.json(&json!({ "visitor": guest.id }));
        assert_eq!(
            api.send(validate).await.expect_status(200).text("state"),
            "active"
        );
        api.advance_seconds(session_seconds + 1);
        let record = read_record(&api, entry_id(&guest)).await.expect("written");
        let may_claim = record.expires_at_ms > Some(api.now_ms());
        assert_eq!(
            (record.state, may_claim),
            (EntryState::Ready, claim_seconds == 300)
        );
        // A process without a cached snapshot reads the line's current time.
        let second_process = api.start_second_process(local_config());
        if enters_again {
            let again = send_to(&second_process, ApiRequest::enter().visitor(&guest.id)).await;
            let visit = record.visit().number();
            assert_ne!(again.expect_status(201).number("visit"), visit, "{again:?}");
        } else {
            let status = send_to(&second_process, guest.status()).await;
            status.expect_problem(410, "expired");
            assert_eq!(status.body["grace_until_ms"], json!(null));
        }
    }
}

async fn an_unwritten_consumption_is_written_by_complete() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, _) = enter_and_expect_created(&api).await;
    let check = Validation {
        visit: None,
        claims: false,
        consumes: true,
        use_id: None,
        reactivate_until_ms: None,
    };
    let consumed = api.line.validate(&queue_id(), entry_id(&guest), check).await;
    assert!(
        matches!(consumed, Ok(ValidateOutcome::Active { .. })),
        "{consumed:?}"
    );
    api.send(ApiRequest::post(format!("{}/complete", entry_path(&guest.token))))
        .await
        .expect_status(204);
    assert_eq!(
        read_record(&api, entry_id(&guest)).await.expect("written").state,
        EntryState::Completed
    );
}

async fn an_unwritten_entry_is_written_by_entering_again() {
    let api = InProcessApi::start(json!({})).await;
    let (visitor, id) = anonymous_visitor(1);
    api.line
        .enter(&queue_id(), id, Arrival::Ordinary)
        .await
        .expect("entered");
    assert_eq!(read_record(&api, id).await, None);

    let again = api.send(ApiRequest::enter().visitor(&visitor)).await;
    again.expect_status(200);
    assert_eq!(again.text("token"), id.to_string());
    assert_eq!(
        again.body["durable"], true,
        "the pass is for an entry that the backup holds"
    );
    let record = read_record(&api, id).await.expect("written");
    assert_eq!(
        (record.state, record.expires_at_ms),
        (EntryState::Active, Some(again.number("expires_at_ms")))
    );
}
