//! A process killed between the line and the backup: nobody was told anything, and the next call writes what is missing.

use serde_json::json;
use tokio::{join, time::Instant};
use uuid::Uuid;
use vestibule_backup::Backup;
use vestibule_domain::{
    id::{EntryId, IdKey, Salt, Visitor},
    record::EntryRecord,
    state::EntryState,
};
use vestibule_engine::flush::flush_journal;
use vestibule_line::{ClaimOutcome, EntryLine, LeaveOutcome, LeaveReason, ValidateOutcome, Validation};
use vestibule_tests::{
    edge::{Ask, BOUND, EdgeUnderTest, entry, local, queue, send_to},
    functions::root_key,
    waiting::wait_until,
};

use crate::{Guest, enters, full};

async fn record(edge: &EdgeUnderTest, id: EntryId) -> Option<EntryRecord> {
    let record = edge.backup.read_entry(&edge.shelf(), id).await;
    record.expect("the backup answers")
}

fn token(guest: &Guest) -> EntryId {
    guest.token.parse().expect("a token")
}

#[tokio::test]
async fn a_visitor_who_left_stays_gone() {
    let edge = full(json!({})).await;
    for tries_again in [true, false] {
        let (guest, _) = enters(&edge).await;
        let left = edge
            .line
            .leave(&queue(), token(&guest), None, LeaveReason::Leave)
            .await;
        assert!(
            matches!(left, Ok(LeaveOutcome::Ended(_))),
            "and the process dies: {left:?}"
        );
        assert_eq!(
            record(&edge, token(&guest)).await.expect("written").state,
            EntryState::Waiting
        );

        if tries_again {
            edge.send(Ask::delete(entry(&guest.token)).visitor(&guest.id))
                .await
                .is(204);
        } else {
            let gone = edge.send(Ask::get(entry(&guest.token))).await;
            gone.is(410);
            assert_eq!(gone.body["state"], "left", "and not expired");
        }
        assert_eq!(
            record(&edge, token(&guest)).await.expect("written").state,
            EntryState::Left
        );
        assert_eq!(
            edge.line
                .unsettled_end(&queue(), token(&guest))
                .await
                .expect("answered"),
            None,
            "settled"
        );
    }
}

/// Somebody was let in for so long, who had so long to claim, and the record says that they are called.
async fn unwritten_claim(claim_seconds: u64, session_seconds: u64) -> (EdgeUnderTest, Guest) {
    let edge = full(json!({ "interval_seconds": 1 })).await;
    let (guest, _) = enters(&edge).await;
    let settings = json!({
        "interval_seconds": 1,
        "capacity": 100,
        "claim_seconds": claim_seconds,
        "session_seconds": session_seconds,
        "grace_seconds": 600,
    });
    edge.configure(settings, "2").await;
    edge.pass_seconds(1);
    assert_eq!(edge.promote().await.promoted, 1);
    let end = Instant::now() + BOUND;
    let drained = flush_journal(&edge.line, &*edge.backup, &edge.shelf(), 1_000, end).await;
    drained.expect("drained");
    let claimed = edge.line.claim(&queue(), token(&guest)).await;
    assert!(
        matches!(claimed, Ok(ClaimOutcome::Active { .. })),
        "and the process dies: {claimed:?}"
    );
    let record = record(&edge, token(&guest)).await.expect("written");
    assert_eq!(record.state, EntryState::Ready);
    (edge, guest)
}

#[tokio::test]
async fn a_visitor_who_was_let_in_is_written_when_they_look() {
    let (edge, guest) = unwritten_claim(300, 60).await;
    let look = edge.send(Ask::get(entry(&guest.token))).await;
    assert_eq!(look.is(200).text("state"), "active");
    assert_eq!(look.body["durable"], true);
    let record = record(&edge, token(&guest)).await.expect("written");
    assert_eq!(record.state, EntryState::Active);
    assert_eq!(record.expires_at_ms, Some(look.number("expires_at_ms")));
}

/// An answer would be a promise that nobody else knows of.
#[tokio::test]
async fn a_visitor_who_was_let_in_is_not_told_where_the_line_goes_away() {
    let (edge, guest) = unwritten_claim(300, 60).await;
    edge.switch.looking.shut();
    let looks = edge.send(Ask::get(entry(&guest.token)));
    let goes_away = async {
        wait_until(BOUND, "it looks", async || edge.switch.looking.passes() > 0).await;
        edge.switch.turn_off();
        edge.switch.looking.open();
    };
    let (look, ()) = join!(looks, goes_away);
    look.is_problem(503, "line-unavailable");
    edge.switch.turn_on();
    let look = edge.send(Ask::get(entry(&guest.token))).await;
    assert_eq!(look.is(200).text("state"), "active");
}

/// The protected service was told that they may act: who had a session has no second turn, nor the place of a no-show.
#[tokio::test]
async fn a_session_that_nobody_wrote_is_over_when_it_ran_out() {
    // By the record they may claim still, or had missed their turn.
    for (claim_seconds, session_seconds, enters_again) in [
        (300, 60, false),
        (300, 60, true),
        (60, 300, false),
        (60, 300, true),
    ] {
        let (edge, guest) = unwritten_claim(claim_seconds, session_seconds).await;
        let acts = Ask::post(format!("{}/validate", entry(&guest.token)));
        let acts = acts.json(&json!({ "visitor": guest.id }));
        assert_eq!(edge.send(acts).await.is(200).text("state"), "active");
        edge.pass_seconds(session_seconds + 1);
        let record = record(&edge, token(&guest)).await.expect("written");
        let may_claim = record.expires_at_ms > Some(edge.now_ms());
        assert_eq!(
            (record.state, may_claim),
            (EntryState::Ready, claim_seconds == 300)
        );
        // A process that has not looked at the queue yet knows how late it is.
        let late = edge.beside(local());
        if enters_again {
            let again = send_to(&late, Ask::enter().visitor(&guest.id)).await;
            let visit = record.visit.number();
            assert_ne!(again.is(201).number("visit"), u64::from(visit), "{again:?}");
        } else {
            let look = send_to(&late, Ask::get(entry(&guest.token))).await;
            look.is_problem(410, "expired");
            assert_eq!(look.body["grace_until_ms"], json!(null));
        }
    }
}

#[tokio::test]
async fn a_visitor_who_was_consumed_stays_so() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, _) = enters(&edge).await;
    let check = Validation {
        visit: None,
        claims: false,
        consumes: true,
        reactivate_until_ms: None,
    };
    let consumed = edge.line.validate(&queue(), token(&guest), check).await;
    assert!(
        matches!(consumed, Ok(ValidateOutcome::Active { .. })),
        "and the process dies: {consumed:?}"
    );
    edge.send(Ask::post(format!("{}/complete", entry(&guest.token))))
        .await
        .is(204);
    assert_eq!(
        record(&edge, token(&guest)).await.expect("written").state,
        EntryState::Completed
    );
}

#[tokio::test]
async fn whoever_was_let_in_at_once_is_written_when_they_ask_again() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let visitor = Uuid::new_v4();
    let id = IdKey::derive_for_queue(&root_key(), &queue(), &Salt::new([1; 32]))
        .entry_id(&Visitor::from_random(visitor));
    edge.line.enter(&queue(), id).await.expect("and the process dies");
    assert_eq!(record(&edge, id).await, None);

    let again = edge.send(Ask::enter().visitor(&visitor.to_string())).await;
    again.is(200);
    assert_eq!(again.text("token"), id.to_string());
    assert_eq!(again.body["durable"], true, "a pass is given for what is written");
    let record = record(&edge, id).await.expect("written");
    assert_eq!(
        (record.state, record.expires_at_ms),
        (EntryState::Active, Some(again.number("expires_at_ms")))
    );
}
