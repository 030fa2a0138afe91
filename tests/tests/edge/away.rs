//! The line is away, and nothing is lost: what is answered from the backup, and what is not.

use futures_util::future::join_all;
use serde_json::json;
use vestibule_line::JournalLine;
use vestibule_tests::{
    edge::{Ask, BOUND, EdgeUnderTest, entry, queue, signer},
    entries::write_all,
    waiting::wait_until,
};

use crate::{Guest, enters, full, stranger};

pub(crate) fn look(guest: &Guest) -> Ask {
    Ask::get(entry(&guest.token)).visitor(&guest.id)
}

#[tokio::test]
async fn who_waits_is_told_so_without_a_position_until_the_line_is_back() {
    let edge = full(json!({ "claim_seconds": 30 })).await;
    let (guest, entered) = enters(&edge).await;
    edge.switch.turn_off();
    let answer = edge.send(look(&guest)).await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(answer.body["degraded"], true);
    for field in ["visit", "joined_at_ms"] {
        assert_eq!(answer.number(field), entered.number(field), "{field}");
    }
    for field in ["position", "waiting", "estimated_wait_seconds", "pass", "durable"] {
        assert!(
            answer.body.get(field).is_none(),
            "nobody knows {field}: {answer:?}"
        );
    }
    let mut paces = Vec::new();
    for _ in 0..20 {
        let answer = edge.send(look(&guest)).await;
        paces.push(answer.is(200).number("retry_after_ms"));
    }
    assert!(
        paces.iter().all(|ms| (2_000..=20_000).contains(ms)),
        "a turn must not be lost: {paces:?}"
    );
    paces.dedup();
    assert!(paces.len() > 10, "all at once: {paces:?}");

    edge.switch.turn_on();
    let back = edge
        .send_until(|| look(&guest), |answer| answer.body["degraded"] == false)
        .await;
    assert_eq!(back.number("position"), 1, "nobody moved");
}

#[tokio::test]
async fn an_active_visitor_keeps_a_pass_and_nobody_else_gets_it() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, entered) = enters(&edge).await;
    edge.switch.turn_off();
    let answer = edge.send(look(&guest)).await;
    assert_eq!(
        (answer.is(200).text("state"), &answer.body["degraded"]),
        ("active", &json!(true))
    );
    assert_eq!(answer.number("expires_at_ms"), entered.number("expires_at_ms"));
    let id = guest.token.parse().expect("a token");
    let claims = signer().verify(answer.text("pass"), &queue(), id, edge.now_ms() + 1_000);
    let claims = claims.expect("a good pass");
    assert!(claims.exp * 1_000 <= entered.number("expires_at_ms"));
    let found = edge.send(Ask::get(entry(&guest.token))).await;
    assert!(
        found.is(200).body.get("pass").is_none(),
        "a token alone only looks"
    );
    let thief = Ask::get(entry(&guest.token)).visitor(&stranger());
    edge.send(thief).await.is_problem(403, "token-owner-mismatch");
}

#[tokio::test]
async fn a_session_that_is_over_gets_no_pass() {
    // The record was made an hour before this process's clock.
    let edge = EdgeUnderTest::an_hour_ago(json!({})).await;
    let (guest, _) = enters(&edge).await;
    edge.switch.turn_off();
    let answer = edge.send(look(&guest)).await;
    assert_eq!(answer.is(200).text("state"), "active", "nobody has ended it");
    assert!(answer.body.get("pass").is_none(), "{answer:?}");
    assert!(answer.number("retry_after_ms") >= 2_000);
}

#[tokio::test]
async fn who_was_promoted_is_told_until_when() {
    let edge = full(json!({ "session_seconds": 5 })).await;
    let (guest, _) = enters(&edge).await;
    edge.pass_seconds(10);
    assert_eq!(edge.promote().await.promoted, 1);
    let ready = edge.send(look(&guest)).await;
    // As the promoter does when it drains the journal.
    for record in edge
        .line
        .due_journal_records(&queue(), 10)
        .await
        .expect("a journal")
    {
        write_all(&*edge.backup, &edge.shelf(), &record.changes).await;
    }
    edge.switch.turn_off();
    let answer = edge.send(look(&guest)).await;
    assert_eq!(answer.is(200).text("state"), "ready");
    assert_eq!(answer.number("claim_by_ms"), ready.number("claim_by_ms"));
    assert!(answer.body.get("expires_at_ms").is_none());
}

#[tokio::test]
async fn of_what_ended_or_never_was_nobody_hears_before_the_line_is_back() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, _) = enters(&edge).await;
    edge.send(Ask::delete(entry(&guest.token)).visitor(&guest.id))
        .await
        .is(204);
    edge.switch.turn_off();
    let nobody = || Ask::get(entry("1777853d-5d52-8cab-a8ce-928d525f6d31"));
    // Either may have entered since, and be in the line alone: whoever hears of an end does not ask again.
    for ask in [look(&guest), nobody()] {
        let answer = edge.send(ask).await;
        answer.is_problem(503, "line-unavailable").header("retry-after");
    }
    edge.send(Ask::get(
        "/queues/never-was/entries/1777853d-5d52-8cab-a8ce-928d525f6d31",
    ))
    .await
    .is_problem(404, "unknown-queue");
    edge.switch.turn_on();
    let answer = edge
        .send_until(|| look(&guest), |answer| answer.status != 503)
        .await;
    answer.is_problem(410, "completed").number("ended_at_ms");
    edge.send(nobody()).await.is_problem(404, "unknown-entry");
}

#[tokio::test]
async fn nothing_can_be_changed_meanwhile() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, _) = enters(&edge).await;
    let at = |what: &str| format!("{}{what}", entry(&guest.token));
    edge.switch.turn_off();
    for ask in [
        Ask::enter(),
        Ask::post(at("/claim")),
        Ask::delete(at("")),
        Ask::post(at("/complete")),
        Ask::post(at("/extend")).json(&json!({ "seconds": 60 })),
    ] {
        let answer = edge.send(ask.visitor(&guest.id)).await;
        answer.is_problem(503, "line-unavailable").header("retry-after");
    }
}

#[tokio::test]
async fn a_held_poll_is_answered_when_the_line_goes_away() {
    let edge = full(json!({ "session_seconds": 5, "interval_seconds": 1 })).await;
    let (guest, _) = enters(&edge).await;
    let poll = Ask::get(format!("{}?wait=20", entry(&guest.token))).visitor(&guest.id);
    let before = edge.looks();
    let (answer, ()) = tokio::join!(edge.send(poll), async {
        wait_until(BOUND, "the poll is held", async || edge.looks() >= before + 3).await;
        edge.switch.turn_off();
    });
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(answer.body["degraded"], true);
    // And none is held meanwhile: this one is answered within the harness's bound, and the line is not asked for it.
    let tries = edge.switch.tries();
    let polls = (0..50).map(|_| edge.send(Ask::get(format!("{}?wait=20", entry(&guest.token)))));
    for answer in join_all(polls).await {
        assert_eq!(answer.is(200).body["degraded"], true);
    }
    assert!(
        edge.switch.tries() <= tries + 2,
        "a crowd does not ask one by one"
    );
}
