//! A line whose promoter is away: those who call drive it.

use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_backup::Backup;
use vestibule_domain::state::EntryState;
use vestibule_line::{JournalLimits, QueueLine, QueueView};
use vestibule_tests::edge::{Ask, BOUND, EdgeUnderTest, QUEUE, entry, queue};

use crate::{Guest, enters, full};

const BATCH: u64 = 2;

/// Two each second, and room for all.
fn brisk() -> Value {
    json!({ "capacity": 100, "batch": BATCH, "interval_seconds": 1 })
}

async fn driven(settings: Value) -> EdgeUnderTest {
    let edge = EdgeUnderTest::open(settings).await;
    edge.switch.let_calls_drive();
    edge
}

async fn view(edge: &EdgeUnderTest) -> QueueView {
    edge.line.queue_view(&queue()).await.expect("there is the queue")
}

/// The line's clock goes as fast as time, until something is so.
async fn until(edge: &EdgeUnderTest, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    let mut last = began;
    while !is_so().await {
        assert!(began.elapsed() < BOUND, "in {BOUND:?} it was never so: {what}");
        sleep(Duration::from_millis(50)).await;
        let now = Instant::now();
        edge.clock.advance(now.duration_since(last));
        last = now;
    }
}

fn poll(guest: &Guest) -> Ask {
    Ask::get(entry(&guest.token)).visitor(&guest.id)
}

#[tokio::test]
async fn visitors_get_through_by_their_own_polls_and_never_faster_than_the_pace() {
    let edge = driven(brisk()).await;
    let start_ms = edge.now_ms();
    let mut guests = Vec::new();
    for _ in 0..10 {
        guests.push(enters(&edge).await.0);
    }
    until(&edge, "everybody is called", async || {
        let mut waiting = 0;
        for guest in &guests {
            let answer = edge.send(poll(guest)).await;
            waiting += u64::from(answer.is(200).text("state") == "waiting");
            let totals = view(&edge).await.totals;
            let passed_ms = edge.now_ms() - start_ms;
            let let_out = totals.promoted + totals.fast_tracked;
            assert!(
                let_out <= BATCH + passed_ms * BATCH / 1_000,
                "{let_out} in {passed_ms} ms"
            );
        }
        waiting == 0
    })
    .await;
    let view = view(&edge).await;
    assert_eq!(
        (view.totals.promoted, view.heartbeat_ms),
        (8, 0),
        "no promoter has been there"
    );
    for guest in &guests[2..] {
        let token = guest.token.parse().expect("a token");
        let record = edge
            .backup
            .read_entry(&edge.shelf(), token)
            .await
            .expect("an answer");
        let state = record.expect("a record").state;
        // The last tick's are drained beside the answer that follows it.
        assert!(state == EntryState::Ready, "{state:?}");
    }
}

#[tokio::test]
async fn who_are_held_get_their_turn() {
    let edge = driven(json!({ "capacity": 100, "batch": 1, "interval_seconds": 1 })).await;
    enters(&edge).await;
    let mut guests = Vec::new();
    for _ in 0..3 {
        guests.push(enters(&edge).await.0);
    }
    let held = join_all(guests.iter().map(|guest| {
        let ask = Ask::get(format!("{}?wait=20", entry(&guest.token)));
        edge.send(ask.visitor(&guest.id))
    }));
    let moving = until(&edge, "all have been called", async || {
        view(&edge).await.waiting == 0
    });
    let (answers, ()) = join(held, moving).await;
    for answer in answers {
        assert_eq!(answer.is(200).text("state"), "ready");
    }
}

/// Of all who are held, one offers to drive, once a second.
#[tokio::test]
async fn of_all_who_are_held_one_drives() {
    let edge =
        driven(json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 5 })).await;
    let mut guests = Vec::new();
    for _ in 0..21 {
        guests.push(enters(&edge).await.0);
    }
    // As long as the line's clock stands still, nobody moves.
    let before = edge.switch.offers();
    let held = |guest: &Guest| {
        let ask = Ask::get(format!("{}?wait=3", entry(&guest.token)));
        edge.send(ask.visitor(&guest.id))
    };
    for answer in join_all(guests[1..].iter().map(held)).await {
        assert_eq!(answer.is(200).text("state"), "waiting");
    }
    let offers = edge.switch.offers() - before;
    assert!((2..=4).contains(&offers), "{offers} in three seconds");
}

#[tokio::test]
async fn a_promoter_that_is_there_is_left_to_its_work() {
    let edge = EdgeUnderTest::open(brisk()).await;
    for _ in 0..2 {
        enters(&edge).await;
    }
    let (guest, _) = enters(&edge).await;
    edge.switch.let_calls_drive();
    edge.promote().await;
    let polls = async || {
        // What was seen of the queue before is too old by then.
        sleep(Duration::from_millis(1_100)).await;
        for _ in 0..10 {
            edge.send(poll(&guest)).await.is(200);
        }
        edge.switch.offers()
    };
    assert_eq!(polls().await, 0, "no call asks the line for more");
    edge.pass_seconds(2);
    assert_eq!(polls().await, 0);
    edge.pass_seconds(1);
    assert!(polls().await > 0, "three intervals without a heartbeat");
    assert_eq!(view(&edge).await.fallback_ticked_at_ms, edge.now_ms());
}

#[tokio::test]
async fn no_other_call_drives() {
    let edge = full(json!({})).await;
    let (guest, _) = enters(&edge).await;
    // One process offers once a second.
    sleep(Duration::from_millis(1_100)).await;
    edge.switch.let_calls_drive();
    let at = |below: &str| format!("{}{below}", entry(&guest.token));
    for (ask, status) in [
        (Ask::get(format!("/queues/{QUEUE}")), 200),
        (Ask::post(at("/claim")).visitor(&guest.id).json(&json!({})), 409),
        (
            Ask::post(at("/validate")).json(&json!({ "visitor": guest.id })),
            409,
        ),
        (Ask::post(at("/extend")).visitor(&guest.id).json(&json!({})), 409),
        (
            Ask::post(format!("/queues/{QUEUE}/load")).json(&json!({ "tps": 1 })),
            204,
        ),
        (Ask::delete(at("")).visitor(&guest.id), 204),
    ] {
        edge.send(ask).await.is(status);
    }
    assert_eq!(edge.switch.offers(), 0);
    edge.send(poll(&guest)).await;
    assert_eq!(edge.switch.offers(), 1);
}

/// How far the line has been is not known, so nobody can say that it has not come back old.
#[tokio::test]
async fn nobody_is_promoted_while_the_backup_is_away_and_no_answer_waits_for_it() {
    let silent = EdgeUnderTest::with_silent_backup(brisk()).await;
    let away = EdgeUnderTest::without_backup_within(brisk(), JournalLimits::default()).await;
    for edge in [silent, away] {
        let mut guests = Vec::new();
        for _ in 0..3 {
            guests.push(enters(&edge).await.0);
        }
        edge.switch.let_calls_drive();
        edge.pass_seconds(60);
        sleep(Duration::from_millis(1_100)).await;
        let began = Instant::now();
        edge.send(poll(&guests[2])).await.is(200);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        let view = view(&edge).await;
        assert_eq!(view.fallback_ticked_at_ms, edge.now_ms(), "it was to be driven");
        assert_eq!((view.waiting, view.totals.promoted), (1, 0));
    }
}
