//! The way of an entry: in, through, and out.

use serde_json::json;
use vestibule_backup::Backup;
use vestibule_line::JournalLine;
use vestibule_tests::edge::{Answer, Ask, EdgeUnderTest, QUEUE, entry, queue, signer};

use crate::{enters, full, stranger};

#[tokio::test]
async fn whoever_finds_room_is_let_in_at_once_with_a_pass() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, answer) = enters(&edge).await;
    assert_eq!(answer.text("state"), "active");
    assert_eq!(answer.text("queue"), QUEUE);
    assert_eq!(answer.header("location"), entry(&guest.token));
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.number("expires_at_ms"), edge.now_ms() + 300_000);
    assert_eq!(answer.number("joined_at_ms"), edge.now_ms());
    assert_eq!(answer.number("promoted_at_ms"), edge.now_ms());
    assert_eq!(answer.number("retry_after_ms"), 40_000, "two thirds of the pass");
    assert_eq!(answer.body["durable"], true);
    assert_eq!(answer.body["degraded"], false);
    for field in [
        "position",
        "waiting",
        "estimated_wait_seconds",
        "claim_by_ms",
        "visitor",
    ] {
        assert!(
            answer.body.get(field).is_none(),
            "{field} does not apply: {answer:?}"
        );
    }
    let claims = signer().verify(
        answer.text("pass"),
        &queue(),
        guest.token.parse().expect("a token"),
        edge.now_ms(),
    );
    assert_eq!(
        u64::from(claims.expect("a good pass").visit),
        answer.number("visit")
    );
}

#[tokio::test]
async fn where_there_is_room_the_pace_says_how_long_it_takes() {
    let settings = json!({ "capacity": 100, "batch": 1, "interval_seconds": 10 });
    let edge = EdgeUnderTest::open(settings.clone()).await;
    enters(&edge).await;
    let (guest, waiting) = enters(&edge).await;
    let told = |answer: &Answer| answer.body.get("estimated_wait_seconds").cloned();
    assert_eq!(told(&waiting), Some(json!({ "low": 9, "high": 11 })));
    let mut paused = settings;
    paused["paused"] = true.into();
    edge.configure(paused, "2").await;
    // What is seen of a queue may be a second old.
    let look = || Ask::get(entry(&guest.token));
    edge.send_until(look, |answer| told(answer).is_none()).await;
}

#[tokio::test]
async fn a_visitor_waits_is_promoted_claims_and_goes() {
    let edge = full(json!({ "session_seconds": 20, "interval_seconds": 10 })).await;
    let (guest, waiting) = enters(&edge).await;
    assert_eq!(waiting.text("state"), "waiting");
    assert_eq!((waiting.number("position"), waiting.number("waiting")), (1, 1));
    assert!(
        waiting.body.get("estimated_wait_seconds").is_none(),
        "full, and nobody was seen to go: {waiting:?}"
    );
    assert!(
        (2_000..=40_000).contains(&waiting.number("retry_after_ms")),
        "{waiting:?}"
    );
    assert!(waiting.body.get("pass").is_none(), "{waiting:?}");

    let claim = || Ask::post(format!("{}/claim", entry(&guest.token))).visitor(&guest.id);
    edge.send(claim()).await.is_problem(409, "not-your-turn");

    edge.pass_seconds(20);
    assert_eq!(edge.promote().await.promoted, 1);
    let look = || Ask::get(entry(&guest.token)).visitor(&guest.id);
    let ready = edge.send(look()).await;
    assert_eq!(ready.is(200).text("state"), "ready");
    assert_eq!(ready.number("claim_by_ms"), edge.now_ms() + 60_000);
    assert_eq!(ready.number("joined_at_ms"), waiting.number("joined_at_ms"));
    assert!(ready.body.get("pass").is_none(), "not claimed yet: {ready:?}");

    let claimed = edge.send(claim()).await;
    assert_eq!(claimed.is(200).text("state"), "active");
    assert_eq!(claimed.number("visit"), waiting.number("visit"));
    assert_eq!(claimed.number("joined_at_ms"), waiting.number("joined_at_ms"));
    assert!(
        claimed.body["pass"].is_string() && claimed.body["durable"] == true,
        "{claimed:?}"
    );
    let again = edge.send(claim()).await;
    assert_eq!(again.is(200).body["expires_at_ms"], claimed.body["expires_at_ms"]);
    assert_ne!(
        again.text("pass"),
        claimed.text("pass"),
        "each has a jti of its own"
    );

    let leave = || Ask::delete(entry(&guest.token)).visitor(&guest.id);
    assert!(edge.send(leave()).await.is(204).body.is_null());
    edge.send(leave()).await.is(204);
    let gone = edge.send(look()).await;
    assert_eq!(gone.is_problem(410, "completed").text("state"), "completed");
    assert_eq!(gone.number("visit"), waiting.number("visit"));
    edge.send(claim()).await.is_problem(410, "completed");
}

#[tokio::test]
async fn a_turn_that_nobody_takes_runs_out() {
    let edge = full(json!({ "session_seconds": 20 })).await;
    let (guest, _) = enters(&edge).await;
    edge.pass_seconds(20);
    edge.promote().await;
    edge.pass_seconds(60);
    let claim = Ask::post(format!("{}/claim", entry(&guest.token))).visitor(&guest.id);
    let late = edge.send(claim).await;
    assert_eq!(late.is_problem(410, "expired").text("state"), "expired");
}

#[tokio::test]
async fn entering_again_keeps_the_place() {
    let edge = full(json!({})).await;
    let (guest, first) = enters(&edge).await;
    enters(&edge).await;
    let again = edge.send(Ask::enter().visitor(&guest.id).json(&json!({}))).await;
    again.is(200);
    for field in ["token", "visit", "position", "joined_at_ms"] {
        assert_eq!(again.body[field], first.body[field], "{field}");
    }
    assert_eq!(again.header("location"), entry(&guest.token));
}

#[tokio::test]
async fn a_late_retry_never_ends_the_next_visit() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let (guest, first) = enters(&edge).await;
    let last_visit = first.number("visit");
    let leave = |visit: u64| Ask::delete(format!("{}?visit={visit}", entry(&guest.token))).visitor(&guest.id);
    edge.send(leave(last_visit)).await.is(204);
    edge.pass_seconds(1);
    let second = edge.send(Ask::enter().visitor(&guest.id)).await;
    assert_eq!(second.is(201).text("token"), guest.token);
    assert_ne!(second.number("visit"), last_visit);

    edge.send(leave(last_visit)).await.is(204);
    let call = |what: &str| Ask::post(format!("{}/{what}", entry(&guest.token)));
    edge.send(call("complete").json(&json!({ "visit": last_visit })))
        .await
        .is(204);
    let late = call("extend").visitor(&guest.id);
    edge.send(late.json(&json!({ "visit": last_visit })))
        .await
        .is(204);
    let used_up = json!({ "visitor": guest.id, "consume": true, "visit": last_visit });
    edge.send(call("validate").json(&used_up))
        .await
        .is_problem(410, "other-visit");
    let late_pass = json!({ "pass": first.text("pass"), "consume": true });
    let refused = edge.send(call("validate").json(&late_pass)).await;
    assert_eq!(
        refused.is_problem(403, "invalid-pass").text("detail"),
        "it is of another visit"
    );

    let look = edge.send(Ask::get(entry(&guest.token)).visitor(&guest.id)).await;
    assert_eq!(look.is(200).text("state"), "active");
    assert_eq!(
        look.body["expires_at_ms"], second.body["expires_at_ms"],
        "and nothing was extended"
    );
    edge.send(call("complete").json(&json!({ "visit": second.number("visit") })))
        .await
        .is(204);
    edge.send(Ask::get(entry(&guest.token)))
        .await
        .is_problem(410, "completed");
}

#[tokio::test]
async fn nobody_new_enters_a_queue_that_drains_or_is_closed() {
    let edge = full(json!({})).await;
    let (guest, _) = enters(&edge).await;
    for (entrance, code) in [("draining", "queue-draining"), ("closed", "queue-closed")] {
        edge.configure(json!({ "capacity": 1, "entrance": entrance }), entrance)
            .await;
        edge.send(Ask::enter().visitor(&stranger()))
            .await
            .is_problem(409, code);
        edge.send(Ask::enter().visitor(&guest.id)).await.is(200);
    }
}

#[tokio::test]
async fn what_was_lost_with_the_line_is_recovering_and_not_gone() {
    let edge = EdgeUnderTest::open(json!({})).await;
    let lost = serde_json::Map::new();
    let stored = edge
        .backup
        .read_queue(&queue())
        .await
        .expect("an answer")
        .expect("the queue");
    let id = "lost".parse().expect("a queue id");
    let stored = vestibule_backup::StoredQueue {
        settings: lost.into(),
        ..stored
    };
    assert!(edge.backup.create_queue(&id, &stored).await.expect("taken"));
    for ask in [Ask::post("/queues/lost/entries"), Ask::get("/queues/lost")] {
        let answer = edge.send(ask).await;
        let seconds: u64 = answer
            .is_problem(503, "recovering")
            .header("retry-after")
            .parse()
            .expect("seconds");
        assert!(seconds >= 1);
    }
}

#[tokio::test]
async fn without_the_backup_visitors_are_served_and_told_that_it_is_not_durable() {
    let edge = EdgeUnderTest::without_backup(json!({ "capacity": 1, "batch": 1 })).await;
    let (active, entered) = enters(&edge).await;
    assert_eq!(entered.body["durable"], false);
    assert!(entered.body["pass"].is_string());
    assert_eq!(
        edge.line
            .due_journal_records(&queue(), 10)
            .await
            .expect("the queue")
            .len(),
        1,
        "it goes by the journal"
    );
    let look = edge
        .send(Ask::get(entry(&active.token)).visitor(&active.id))
        .await;
    assert!(
        look.is(200).body["pass"].is_string() && look.body.get("joined_at_ms").is_none(),
        "{look:?}"
    );
    // What cannot be known without it is not guessed.
    for ask in [
        Ask::post(format!("{}/extend", entry(&active.token))).visitor(&active.id),
        Ask::get(entry("0f8fad5b-d9cb-869f-a165-70867728950e")),
        Ask::get("/queues/nowhere"),
    ] {
        let answer = edge.send(ask).await;
        assert_eq!(
            answer.is_problem(503, "backup-unavailable").header("retry-after"),
            "2"
        );
    }
}

#[tokio::test]
async fn everybody_may_see_how_the_queue_stands_and_which_keys_check_passes() {
    let edge = full(json!({ "message": "soon", "target_url": "https://shop.example/" })).await;
    enters(&edge).await;
    let view = edge.send(Ask::get(format!("/queues/{QUEUE}"))).await;
    assert_eq!(view.is(200).header("cache-control"), "public, max-age=2");
    assert_eq!(view.body["queue"], QUEUE);
    assert_eq!(view.body["rate"], json!(null));
    assert_eq!(view.body["paused"], false);
    assert_eq!(view.body["entrance"], "open");
    assert_eq!(
        (view.text("message"), view.text("target_url")),
        ("soon", "https://shop.example/")
    );
    assert!(view.body["waiting"].is_u64());

    let jwks = edge.send(Ask::get("/.well-known/jwks.json")).await;
    assert_eq!(jwks.is(200).header("cache-control"), "public, max-age=300");
    assert_eq!(jwks.body, serde_json::to_value(signer().jwks()).expect("JSON"));
}
