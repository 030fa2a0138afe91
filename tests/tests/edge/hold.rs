//! Polls that are held: what wakes them, and how little they ask meanwhile.

use std::{pin::pin, time::Duration};

use futures_util::future::{Either, join, join_all, select};
use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_api::config::ApiConfig;
use vestibule_line::{EntryLine, LeaveOutcome, LeaveReason};
use vestibule_tests::{
    edge::{Answer, Ask, BOUND, EdgeUnderTest, QUEUE, entry, event, local, queue},
    waiting::wait_until,
};

use crate::{Guest, enters, full};

/// A line that moves fast enough for its head to be held.
fn brisk() -> Value {
    json!({ "session_seconds": 5, "interval_seconds": 1 })
}

fn held(guest: &Guest) -> Ask {
    Ask::get(format!("{}?wait=20", entry(&guest.token))).visitor(&guest.id)
}

/// Sends a poll that must not be answered before something happened.
async fn wakes(edge: &EdgeUnderTest, ask: Ask, happens: impl AsyncFnOnce()) -> (Answer, Duration) {
    let mut poll = pin!(edge.send(ask));
    let before = edge.looks();
    // The look, then two views more: it is held, and has been for a second.
    let is_held = pin!(wait_until(BOUND, "the poll is held", async || edge.looks() >= before + 3));
    let Either::Right(_) = select(&mut poll, is_held).await else {
        panic!("answered before anything happened");
    };
    happens().await;
    let since = Instant::now();
    (poll.await, since.elapsed())
}

#[tokio::test]
async fn a_promotion_ends_the_hold() {
    let edge = full(brisk()).await;
    let (guest, _) = enters(&edge).await;
    let (answer, after) = wakes(&edge, held(&guest), async || {
        edge.pass_seconds(5);
        assert_eq!(edge.promote().await.promoted, 1);
    })
    .await;
    assert_eq!(answer.is(200).text("state"), "ready");
    assert!(after < Duration::from_secs(3), "{after:?}");
}

#[tokio::test]
async fn polls_that_are_held_are_counted() {
    let edge = full(brisk()).await;
    let (guest, _) = enters(&edge).await;
    edge.send(Ask::get(entry(&guest.token)).visitor(&guest.id))
        .await
        .is(200);
    assert!(edge.written.lines().is_empty(), "it did not offer to be held");
    wakes(&edge, held(&guest), async || {
        edge.pass_seconds(5);
        edge.promote().await;
    })
    .await;
    let lines = edge.written.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (&lines[0]["HeldPolls"], &lines[0]["Queue"]),
        (&json!(1), &json!(QUEUE))
    );
    let text = edge.written.text();
    assert!(!text.contains(&guest.id) && !text.contains(&guest.token));
}

#[tokio::test]
async fn leaving_ends_the_hold() {
    let edge = full(brisk()).await;
    let (guest, _) = enters(&edge).await;
    let (answer, after) = wakes(&edge, held(&guest), async || {
        let leave = Ask::delete(entry(&guest.token)).visitor(&guest.id);
        edge.send(leave).await.is(204);
    })
    .await;
    answer.is_problem(410, "left");
    assert!(after < Duration::from_secs(3), "{after:?}");
}

/// No view tells of it: nobody left, and nobody was promoted.
#[tokio::test]
async fn going_to_the_back_ends_the_hold_by_itself() {
    let mut settings = brisk();
    settings["re_entry"] = json!("requeue");
    let edge = full(settings).await;
    let (guest, first) = enters(&edge).await;
    let (answer, after) = wakes(&edge, held(&guest), async || {
        edge.pass_seconds(1);
        edge.send(Ask::enter().visitor(&guest.id)).await.is(200);
    })
    .await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_ne!(answer.number("visit"), first.number("visit"));
    assert!(after < Duration::from_secs(3), "{after:?}");
}

#[tokio::test]
async fn what_another_process_ends_ends_the_hold_and_nobody_elses() {
    let edge = full(brisk()).await;
    let (evicted, _) = enters(&edge).await;
    let (other, _) = enters(&edge).await;
    let since = Instant::now();
    let others = edge.send(Ask::get(format!("{}?wait=4", entry(&other.token))));
    let own = wakes(&edge, held(&evicted), async || {
        let id = evicted.token.parse().expect("a token");
        let departed = edge.line.leave(&queue(), id, None, LeaveReason::Evict).await;
        assert!(matches!(departed, Ok(LeaveOutcome::Ended(_))), "{departed:?}");
    });
    let (others, (answer, after)) = join(async { (others.await, since.elapsed()) }, own).await;
    answer.is(410);
    assert!(after < Duration::from_secs(3), "{after:?}");
    let (others, held) = others;
    assert_eq!(others.is(200).number("position"), 1);
    assert!(held >= Duration::from_secs(4), "{held:?}");
}

#[tokio::test]
async fn a_pause_and_a_message_end_the_hold() {
    for changed in [
        json!({ "paused": true }),
        json!({ "message": "soon" }),
        json!({ "entrance": "closed" }),
    ] {
        let edge = full(brisk()).await;
        let (guest, _) = enters(&edge).await;
        let (answer, after) = wakes(&edge, held(&guest), async || {
            let mut settings = brisk();
            settings["capacity"] = json!(1);
            settings["batch"] = json!(1);
            settings
                .as_object_mut()
                .expect("an object")
                .extend(changed.as_object().expect("an object").clone());
            edge.configure(settings, "2").await;
        })
        .await;
        assert_eq!(answer.is(200).text("state"), "waiting");
        assert!(after < Duration::from_secs(3), "{changed}: {after:?}");
    }
}

#[tokio::test]
async fn a_shutdown_ends_the_hold_with_a_normal_answer() {
    let edge = full(brisk()).await;
    let (guest, _) = enters(&edge).await;
    let ask = Ask::get(entry(&guest.token)).header("prefer", "respond-async, wait=20");
    let (answer, after) = wakes(&edge, ask, async || edge.stop()).await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(answer.number("position"), 1);
    assert_eq!(answer.header("preference-applied"), "wait=20");
    assert!(after < Duration::from_millis(500), "{after:?}");
    // And nobody is held any more.
    let since = Instant::now();
    edge.send(held(&guest)).await.is(200);
    assert!(since.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn the_end_of_the_wait_ends_the_hold() {
    let edge = full(brisk()).await;
    let (guest, _) = enters(&edge).await;
    let since = Instant::now();
    let answer = edge
        .send(Ask::get(format!("{}?wait=1", entry(&guest.token))))
        .await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert!(since.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn no_hold_outlives_its_function() {
    let mut settings = brisk();
    settings["capacity"] = json!(1);
    settings["batch"] = json!(1);
    let edge = EdgeUnderTest::with(ApiConfig::default(), settings).await;
    enters(&edge).await;
    let (guest, _) = enters(&edge).await;
    let resource = "/queues/{queue}/entries/{token}";
    let mut look = event("GET", resource, &json!({ "queue": QUEUE, "token": guest.token }));
    look["multiValueQueryStringParameters"] = json!({ "wait": ["20"] });
    let limit = Duration::from_millis(2_500);
    let since = Instant::now();
    let answer = edge.send_event_within(&look, limit).await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    let held = since.elapsed();
    assert!(held >= Duration::from_millis(900) && held < limit, "{held:?}");
}

#[tokio::test]
async fn a_crowd_of_held_polls_asks_the_line_once_a_second() {
    let mut settings = brisk();
    settings["batch"] = json!(100);
    settings["capacity"] = json!(1);
    let edge = EdgeUnderTest::open(settings).await;
    enters(&edge).await;
    let mut guests = Vec::new();
    for _ in 0..50 {
        guests.push(enters(&edge).await.0);
    }
    let before = edge.looks();
    let polls = guests
        .iter()
        .map(|guest| edge.send(Ask::get(format!("{}?wait=3", entry(&guest.token)))));
    for answer in join_all(polls).await {
        assert_eq!(answer.is(200).text("state"), "waiting");
    }
    let looks = edge.looks() - before;
    assert!(
        (150..=160).contains(&looks),
        "each looks when it comes, is counted, and looks when it goes, and all share the rest: {looks}"
    );
}

#[tokio::test]
async fn nobody_is_held_whose_turn_is_far_or_who_is_one_too_many() {
    let quick = async |edge: &EdgeUnderTest, guest: &Guest| {
        let since = Instant::now();
        edge.send(held(guest)).await.is(200);
        assert!(since.elapsed() < Duration::from_secs(1), "answered at once");
    };
    let slow = full(json!({ "interval_seconds": 3600 })).await;
    let (guest, _) = enters(&slow).await;
    quick(&slow, &guest).await;

    let paused = full(json!({ "interval_seconds": 1, "paused": false })).await;
    let (guest, _) = enters(&paused).await;
    paused
        .configure(
            json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "paused": true }),
            "2",
        )
        .await;
    let view = || Ask::get(format!("/queues/{QUEUE}"));
    paused.send_until(view, |view| view.body["paused"] == true).await;
    quick(&paused, &guest).await;

    let config = ApiConfig {
        held_polls_max: 1,
        ..local()
    };
    let mut settings = brisk();
    settings["capacity"] = json!(1);
    settings["batch"] = json!(1);
    let edge = EdgeUnderTest::with(config, settings).await;
    let (active, _) = enters(&edge).await;
    quick(&edge, &active).await;
    let (first, _) = enters(&edge).await;
    let (second, _) = enters(&edge).await;
    let (answer, _) = wakes(&edge, held(&first), async || {
        quick(&edge, &second).await;
        edge.stop();
    })
    .await;
    answer.is(200);
}
