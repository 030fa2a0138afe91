//! A visitor who enters again after Redis forgot the entry gets the old place.

use serde_json::json;
use tokio::join;
use vestibule_domain::state::EntryState;
use vestibule_line::{Arrival, EntryLookup, LeaveReason, NotFound};
use vestibule_tests::{
    in_process::{ApiRequest, BOUND, send_to},
    lines::Backend,
    waiting::poll_until,
};

use crate::scene::{Scene, default_settings};

pub(crate) async fn entering_again_returns_the_forgotten_place(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(5).await;
    let before = scene.status(&guests[2]).await;
    scene.forget_entries(&guests[2..3]).await;
    let (_, again) = scene.enter_as(&guests[2].id).await;
    again.expect_status(200);
    assert_eq!(again.number("position"), 2);
    assert_eq!(again.body["durable"], true);
    for field in ["visit", "joined_at_ms"] {
        assert_eq!(again.number(field), before.number(field), "{field}");
    }
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3, 4]);
    let record = scene.record(&guests[2]).await;
    assert_eq!(
        (record.state, record.visit().number()),
        (EntryState::Waiting, before.number("visit"))
    );
}

pub(crate) async fn an_empty_line_lets_no_forgotten_visitor_in_early(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(4).await;
    scene.forget_entries(&guests).await;
    // The bucket has a token again and the line is empty, so without the backup the last visitor would be let
    // in at once.
    let filled: Result<(), _> = redis::cmd("HSET")
        .arg(scene.key("state"))
        .arg("credit")
        .arg(3_600_000)
        .query_async(&mut scene.connection.clone())
        .await;
    filled.expect("Redis answers");
    let (_, again) = scene.enter_as(&guests[3].id).await;
    again.expect_status(200);
    assert_eq!(again.text("state"), "waiting", "{again:?}");
    assert!(again.body["pass"].is_null());
    let view = scene.line.queue_view(&scene.queue).await.expect("view");
    assert_eq!((view.waiting, view.active), (1, 0));
    for guest in &guests[1..3] {
        scene.enter_as(&guest.id).await.1.expect_status(200);
    }
    let first = scene.enter_as(&guests[0].id).await.1;
    assert_eq!(first.text("state"), "active", "the active entry is still active");
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
}

pub(crate) async fn a_place_of_a_killed_process_yields_to_the_old_one(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(4).await;
    scene.forget_entries(&guests[1..2]).await;
    scene
        .line
        .enter(&scene.queue, guests[1].entry_id(), Arrival::Ordinary)
        .await
        .expect("the visitor enters, and the process dies");
    let (_, again) = scene.enter_as(&guests[1].id).await;
    assert_eq!(again.expect_status(200).number("position"), 1);
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
}

pub(crate) async fn two_processes_enter_a_forgotten_visitor_once(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(4).await;
    for _ in 0..5 {
        scene.forget_entries(&guests[1..2]).await;
        let ask = || ApiRequest::post(format!("/queues/{}/entries", scene.queue)).visitor(&guests[1].id);
        let (one, two) = join!(
            send_to(&scene.routers[0], ask()),
            send_to(&scene.routers[1], ask())
        );
        for answer in [one, two] {
            assert_eq!(answer.expect_status(200).number("position"), 1);
        }
        assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
    }
}

pub(crate) async fn entering_after_an_end_gives_a_new_place(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(4).await;
    scene.leave(&guests[1]).await;
    // The process of the next visitor dies before it writes the end, so only the line knows it.
    let left = scene
        .line
        .leave(&scene.queue, guests[2].entry_id(), None, LeaveReason::Leave)
        .await;
    left.expect("left");
    assert_eq!(scene.record(&guests[2]).await.state, EntryState::Waiting);
    for (position, guest) in (2..).zip(&guests[1..3]) {
        let (_, again) = scene.enter_as(&guest.id).await;
        assert_eq!(
            again.expect_status(201).number("position"),
            position,
            "the new place is at the back"
        );
        assert_eq!(again.body["durable"], true);
    }
    let view = scene.line.queue_view(&scene.queue).await.expect("view");
    assert_eq!(view.unsettled_ends, 0, "the backup has every end");
}

pub(crate) async fn entering_after_an_expired_session_gives_a_new_place(backend: Backend) {
    let scene = Scene::open(backend, json!({ "session_seconds": 1, "interval_seconds": 1 })).await;
    let guests = scene.enter_many(1).await;
    // A promoter is up, so no request runs a fallback tick.
    scene.promote().await;
    let before = scene.record(&guests[0]).await;
    // No tick has dropped the entry yet, so the backup still shows a session.
    let lookup = async || scene.line.status(&scene.queue, guests[0].entry_id()).await;
    let has_ended = |lookup: &_| matches!(lookup, Ok(EntryLookup::NotFound(NotFound::Ended(_))));
    let ended = poll_until(BOUND, lookup, has_ended).await;
    ended.expect("an answer");
    assert_eq!(scene.record(&guests[0]).await.state, EntryState::Active);
    let (_, again) = scene.enter_as(&guests[0].id).await;
    again.expect_status(201);
    assert_ne!(again.number("visit"), before.visit().number());
    let record = scene.record(&guests[0]).await;
    assert_eq!(record.visit().number(), again.number("visit"));
    let view = scene.line.queue_view(&scene.queue).await.expect("view");
    assert_eq!(view.unsettled_ends, 0);
}

pub(crate) async fn requeueing_still_moves_to_the_back(backend: Backend) {
    let scene = Scene::open(backend, json!({ "re_entry": "requeue" })).await;
    let guests = scene.enter_many(4).await;
    let (_, again) = scene.enter_as(&guests[1].id).await;
    assert_eq!(again.expect_status(200).number("position"), 3);
    assert_eq!(again.body["durable"], true);
    let record = scene.record(&guests[1]).await;
    assert_eq!(record.visit().number(), again.number("visit"));
    // Redis forgets the entry again, and the visitor gets the place at the back.
    scene.forget_entries(&guests[1..2]).await;
    assert_eq!(scene.positions(&guests[1..]).await, [3, 1, 2]);
}
