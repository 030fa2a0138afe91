//! Polls that are held.

use std::time::{Duration, Instant};

use serde_json::json;
use vestibule_tests::{
    api::{Backend, Guest, Queue},
    edge::{Answer, Ask},
};

crate::cases![
    a_promotion_ends_the_hold,
    leaving_ends_the_hold,
    a_preference_holds_as_well_and_is_applied,
    nobody_is_held_whose_turn_is_far_or_who_is_through,
    only_whole_seconds_are_waited,
];

/// What happens while a poll is held, so that one poll alone brings the news.
async fn meanwhile(queue: &Queue<'_>, guest: &Guest, happens: impl AsyncFnOnce()) -> Answer {
    let poll = queue
        .backend
        .send(Ask::get(queue.of(guest, "?wait=20")).visitor(&guest.id));
    let (answer, ()) = futures_util::future::join(poll, happens()).await;
    answer
}

async fn a_promotion_ends_the_hold(backend: &Backend) {
    let (queue, inside) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    let news = meanwhile(&queue, &guest, async || {
        // So long at least, the poll is on its way or held.
        assert_eq!(queue.looks(&guest).await.is(200).text("state"), "waiting");
        queue.leaves(&inside).await.is(204);
        queue.is_promoted(&guest).await;
    })
    .await;
    assert_eq!(news.is(200).text("state"), "ready");
}

async fn leaving_ends_the_hold(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    let news = meanwhile(&queue, &guest, async || {
        assert_eq!(queue.looks(&guest).await.is(200).text("state"), "waiting");
        queue.leaves(&guest).await.is(204);
    })
    .await;
    news.is_problem(410, "left");
}

async fn a_preference_holds_as_well_and_is_applied(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    let since = Instant::now();
    let ask = Ask::get(queue.of(&guest, ""))
        .visitor(&guest.id)
        .header("prefer", "respond-async, wait=1");
    let answer = backend.send(ask).await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(answer.header("preference-applied"), "wait=1");
    assert!(since.elapsed() >= Duration::from_secs(1));
}

async fn nobody_is_held_whose_turn_is_far_or_who_is_through(backend: &Backend) {
    let (queue, inside) = backend.full_queue(json!({ "interval_seconds": 3600 })).await;
    let (guest, _) = queue.enters().await;
    for guest in [&inside, &guest] {
        let ask = Ask::get(queue.of(guest, ""))
            .visitor(&guest.id)
            .header("prefer", "wait=20");
        let answer = backend.send(ask).await;
        assert!(
            !answer.is(200).headers.contains_key("preference-applied"),
            "{answer:?}"
        );
    }
}

async fn only_whole_seconds_are_waited(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    for wait in ["-1", "61", "x", "1.5", "99999999999999999999"] {
        let ask = Ask::get(queue.of(&guest, &format!("?wait={wait}")));
        backend.send(ask).await.refuses("wait");
        let ask = Ask::get(queue.of(&guest, "")).header("prefer", &format!("wait={wait}"));
        backend.send(ask).await.refuses("wait");
    }
    for fine in ["?wait=0", "?wait=1", "?other=x"] {
        backend.send(Ask::get(queue.of(&guest, fine))).await.is(200);
    }
}
