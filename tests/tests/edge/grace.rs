//! Who missed the turn and comes back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{join, time::Instant};
use vestibule_api::config::ApiConfig;
use vestibule_backup::{Backup, PlacePutOutcome};
use vestibule_domain::record::EntryRecord;
use vestibule_engine::flush::flush_journal;
use vestibule_line::{EnterOutcome, EntryLine};
use vestibule_tests::edge::{
    Answer, Ask, EdgeUnderTest, QUEUE, entry, event, queue, with_claims, with_header,
};

use crate::{Guest, enters, full, stranger};

/// One is let in each ten seconds, one at a time.
fn usual() -> Value {
    json!({ "session_seconds": 20, "interval_seconds": 10 })
}

/// Three who wait in this order.
async fn three(edge: &EdgeUnderTest) -> [(Guest, Answer); 3] {
    [enters(edge).await, enters(edge).await, enters(edge).await]
}

/// Three of whom the first was called and did not claim; now it is the second one's turn.
async fn first_of_three_missed(edge: &EdgeUnderTest) -> [(Guest, Answer); 3] {
    let all = three(edge).await;
    edge.pass_seconds(20);
    assert_eq!(edge.promote().await.promoted, 1);
    edge.pass_seconds(60);
    let promotion = edge.promote().await;
    assert_eq!((promotion.no_shows, promotion.promoted), (1, 1));
    all
}

async fn drained(edge: &EdgeUnderTest) {
    let until = Instant::now() + Duration::from_mins(1);
    let drained = flush_journal(&edge.line, &*edge.backup, &edge.shelf(), 1_000, until).await;
    drained.expect("drained");
}

async fn record(edge: &EdgeUnderTest, guest: &Guest) -> EntryRecord {
    let id = guest.token.parse().expect("a token");
    let record = edge.backup.read_entry(&edge.shelf(), id).await;
    record.expect("an answer").expect("a record")
}

async fn look(edge: &EdgeUnderTest, guest: &Guest) -> Answer {
    edge.send(Ask::get(entry(&guest.token)).visitor(&guest.id)).await
}

async fn enters_again(edge: &EdgeUnderTest, guest: &Guest) -> Answer {
    edge.send(Ask::enter().visitor(&guest.id)).await
}

/// They have the place that they had.
fn is_back(answer: &Answer, before: &Answer) {
    assert_eq!(answer.is(200).text("state"), "waiting");
    for field in ["token", "visit", "joined_at_ms"] {
        assert_eq!(answer.body[field], before.body[field], "{field}: {answer:?}");
    }
    assert_eq!(answer.number("position"), 1);
    assert_eq!(answer.body["durable"], true);
}

/// The answer once the edge has seen how the queue stands now.
async fn until_seen(edge: &EdgeUnderTest, guest: &Guest, is_so: impl Fn(&Answer) -> bool) -> Answer {
    let look = || Ask::get(entry(&guest.token)).visitor(&guest.id);
    edge.send_until(look, is_so).await
}

#[tokio::test]
async fn whoever_missed_the_turn_has_the_old_place_once() {
    let edge = full(usual()).await;
    let [(first, waited), (second, _), (third, _)] = first_of_three_missed(&edge).await;
    let gone = look(&edge, &first).await;
    let gone = gone.is_problem(410, "expired");
    assert_eq!(gone.body["visit"], waited.body["visit"]);
    assert_eq!(gone.number("ended_at_ms"), edge.now_ms());
    assert_eq!(gone.number("grace_until_ms"), edge.now_ms() + 600_000);

    edge.pass_seconds(30);
    let back = enters_again(&edge, &first).await;
    is_back(&back, &waited);
    is_back(&enters_again(&edge, &first).await, &waited);
    assert_eq!(look(&edge, &third).await.number("position"), 2);
    drained(&edge).await;
    is_back(&enters_again(&edge, &first).await, &waited);

    // The next turn is theirs, and they miss it again, all of it before the journal is written.
    edge.send(Ask::post(format!("{}/claim", entry(&second.token))).visitor(&second.id))
        .await
        .is(200);
    edge.pass_seconds(20);
    assert_eq!(edge.promote().await.promoted, 1);
    assert_eq!(look(&edge, &first).await.is(200).text("state"), "ready");
    edge.pass_seconds(60);
    assert_eq!(edge.promote().await.no_shows, 1);
    let gone = look(&edge, &first).await;
    assert!(
        gone.is_problem(410, "expired")
            .body
            .get("grace_until_ms")
            .is_none()
    );
    let anew = enters_again(&edge, &first).await;
    assert_eq!(anew.is(201).text("state"), "waiting");
    assert_ne!(anew.body["visit"], waited.body["visit"]);
    assert_eq!(anew.number("joined_at_ms"), edge.now_ms());
}

#[tokio::test]
async fn whoever_comes_back_may_claim_the_turn_that_is_next() {
    let edge = full(usual()).await;
    let [(first, waited), (second, _), _] = first_of_three_missed(&edge).await;
    is_back(&enters_again(&edge, &first).await, &waited);
    edge.send(Ask::delete(entry(&second.token)).visitor(&second.id))
        .await
        .is(204);
    edge.pass_seconds(10);
    assert_eq!(edge.promote().await.promoted, 1);
    drained(&edge).await;
    let claim = || Ask::post(format!("{}/claim", entry(&first.token))).visitor(&first.id);
    let claimed = edge.send(claim()).await;
    assert_eq!(claimed.is(200).text("state"), "active");
    assert_eq!(claimed.body["durable"], true);
    for field in ["visit", "joined_at_ms"] {
        assert_eq!(claimed.body[field], waited.body[field], "{field}");
    }
    // That session has no grace.
    edge.pass_seconds(20);
    edge.promote().await;
    let over = look(&edge, &first).await;
    assert!(
        over.is_problem(410, "expired")
            .body
            .get("grace_until_ms")
            .is_none()
    );
    assert_eq!(
        enters_again(&edge, &first).await.is(201).number("joined_at_ms"),
        edge.now_ms()
    );
}

#[tokio::test]
async fn a_turn_that_nobody_dropped_yet_is_missed_all_the_same() {
    let edge = full(usual()).await;
    let [(first, waited), (second, _), (third, _)] = three(&edge).await;
    edge.pass_seconds(20);
    edge.promote().await;
    drained(&edge).await;
    edge.pass_seconds(90);
    is_back(&enters_again(&edge, &first).await, &waited);
    assert_eq!(look(&edge, &third).await.number("position"), 3);
    let promotion = edge.promote().await;
    assert_eq!(
        (promotion.no_shows, promotion.promoted),
        (0, 1),
        "the place that timed out is free"
    );
    assert_eq!(look(&edge, &first).await.text("state"), "ready");

    // Nor does a look need that.
    let claim = Ask::post(format!("{}/claim", entry(&first.token))).visitor(&first.id);
    edge.send(claim).await.is(200);
    edge.pass_seconds(20);
    edge.promote().await;
    drained(&edge).await;
    let called = record(&edge, &second).await;
    edge.pass_seconds(90);
    let claim_by_ms = called.expires_at_ms.expect("a deadline");
    let gone = look(&edge, &second).await;
    let until_ms = gone.is_problem(410, "expired").number("grace_until_ms");
    let possible = claim_by_ms + 600_000..=edge.now_ms() + 600_000;
    assert!(possible.contains(&until_ms), "{called:?} {gone:?}");
}

#[tokio::test]
async fn whoever_is_too_late_stands_at_the_end() {
    let mut settings = usual();
    settings["grace_seconds"] = 30.into();
    let edge = full(settings).await;
    let [(first, waited), ..] = first_of_three_missed(&edge).await;
    assert!(look(&edge, &first).await.body["grace_until_ms"].is_u64());
    edge.pass_seconds(31);
    let gone = until_seen(&edge, &first, |gone| gone.body.get("grace_until_ms").is_none()).await;
    assert!(gone.is_problem(410, "expired").body["ended_at_ms"].is_u64());
    let anew = enters_again(&edge, &first).await;
    assert_eq!(anew.is(201).number("position"), 2);
    assert_ne!(anew.body["visit"], waited.body["visit"]);
}

#[tokio::test]
async fn the_grace_is_what_the_setting_says_when_they_come() {
    let mut settings = usual();
    settings["capacity"] = 1.into();
    settings["batch"] = 1.into();
    let edge = full(settings.clone()).await;
    let [(first, waited), ..] = first_of_three_missed(&edge).await;
    let says = |gone: &Answer| gone.body.get("grace_until_ms").is_some();
    until_seen(&edge, &first, says).await;
    for (name, value) in [("grace_seconds", json!(0)), ("entrance", json!("draining"))] {
        let mut other = settings.clone();
        other[name] = value;
        edge.configure(other, name).await;
        until_seen(&edge, &first, |gone| !says(gone)).await;
    }
    // Nobody enters who is not in line.
    enters_again(&edge, &first)
        .await
        .is_problem(409, "queue-draining");
    edge.configure(settings, "as before").await;
    until_seen(&edge, &first, says).await;
    is_back(&enters_again(&edge, &first).await, &waited);
}

#[tokio::test]
async fn two_who_come_back_at_once_are_one() {
    let edge = full(usual()).await;
    let [(first, waited), ..] = first_of_three_missed(&edge).await;
    let (one, two) = join!(enters_again(&edge, &first), enters_again(&edge, &first));
    for answer in [one, two] {
        is_back(&answer, &waited);
    }
    assert_eq!(edge.promote().await.waiting, 2, "they stand there once");
}

#[tokio::test]
async fn a_process_that_dies_while_somebody_comes_back_costs_nothing() {
    // Where a waiting one who enters again moves to the back, a place that the backup has is one that is given up.
    for (re_entry, is_written) in [("keep", false), ("keep", true), ("requeue", false)] {
        let mut settings = usual();
        settings["re_entry"] = re_entry.into();
        let edge = full(settings).await;
        let [(first, waited), ..] = first_of_three_missed(&edge).await;
        drained(&edge).await;
        let id = first.token.parse().expect("a token");
        let entered = edge.line.enter(&queue(), id).await;
        let Ok(EnterOutcome::Joined {
            change: Some(change), ..
        }) = entered
        else {
            panic!("{entered:?}");
        };
        if is_written {
            let placed = edge.backup.put_place(&edge.shelf(), &change).await;
            assert!(
                matches!(placed, Ok(PlacePutOutcome::Conflict(_))),
                "and the process dies: {placed:?}"
            );
        }
        edge.pass_seconds(1);
        is_back(&enters_again(&edge, &first).await, &waited);
        assert_eq!(edge.promote().await.waiting, 2);
    }
}

#[tokio::test]
async fn without_the_backup_nobody_knows_the_old_place() {
    let edge =
        EdgeUnderTest::without_backup(json!({ "capacity": 1, "batch": 1, "session_seconds": 20 })).await;
    enters(&edge).await;
    let (guest, waited) = enters(&edge).await;
    enters(&edge).await;
    edge.pass_seconds(20);
    edge.promote().await;
    edge.pass_seconds(60);
    edge.promote().await;
    let again = enters_again(&edge, &guest).await;
    assert_eq!(again.is(201).body["durable"], false, "and it says so");
    assert_ne!(again.body["visit"], waited.body["visit"]);
}

#[tokio::test]
async fn whoever_missed_the_turn_anonymously_and_then_logged_in_is_back_as_well() {
    let edge = EdgeUnderTest::with(
        ApiConfig::default(),
        json!({ "capacity": 1, "batch": 1, "session_seconds": 20 }),
    );
    let edge = edge.await;
    let enter = || event("POST", "/queues/{queue}/entries", &json!({ "queue": QUEUE }));
    edge.send_event(&enter()).await.is(201);
    let id = stranger();
    let anonymous = || with_header(enter(), "X-Visitor-Id", &id);
    let waited = edge.send_event(&anonymous()).await;
    waited.is(201);
    edge.send_event(&enter()).await.is(201);
    edge.pass_seconds(20);
    edge.promote().await;
    edge.pass_seconds(60);
    assert_eq!(edge.promote().await.no_shows, 1);
    let known = with_claims(anonymous(), &json!({ "sub": "ada" }));
    is_back(&edge.send_event(&known).await, &waited);
}
