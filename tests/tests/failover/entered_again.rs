//! Whoever enters after Redis forgot them has the place that they had.

use serde_json::json;
use tokio::join;
use vestibule_domain::state::EntryState;
use vestibule_line::{LeaveReason, Line};
use vestibule_tests::{
    edge::{Ask, BOUND, send_to},
    lines::Backend,
    waiting::poll_until,
};

use crate::scene::{Scene, usual};

pub(crate) async fn the_old_place_and_not_a_new_one_at_the_end(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(5).await;
    let before = scene.status(&guests[2]).await;
    scene.forget(&guests[2..3]).await;
    let (_, again) = scene.enters_as(&guests[2].id).await;
    again.is(200);
    assert_eq!(again.number("position"), 2);
    assert_eq!(again.body["durable"], true);
    for field in ["visit", "joined_at_ms"] {
        assert_eq!(again.number(field), before.number(field), "{field}");
    }
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3, 4]);
    let record = scene.record(&guests[2]).await;
    assert_eq!(
        (record.state, u64::from(record.visit.number())),
        (EntryState::Waiting, before.number("visit"))
    );
}

pub(crate) async fn nobody_slips_in_because_everybody_was_forgotten(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(4).await;
    scene.forget(&guests).await;
    // A bucket that has a token again: the line is empty, and the last one would be let in at once.
    let filled: Result<(), _> = redis::cmd("HSET")
        .arg(scene.key("state"))
        .arg("credit")
        .arg(3_600_000)
        .query_async(&mut scene.link.clone())
        .await;
    filled.expect("Redis answers");
    let (_, again) = scene.enters_as(&guests[3].id).await;
    again.is(200);
    assert_eq!(again.text("state"), "waiting", "{again:?}");
    assert!(again.body["pass"].is_null());
    let view = scene.line.queue_view(&scene.queue).await.expect("view");
    assert_eq!((view.waiting, view.active), (1, 0));
    for guest in &guests[1..3] {
        scene.enters_as(&guest.id).await.1.is(200);
    }
    let first = scene.enters_as(&guests[0].id).await.1;
    assert_eq!(first.text("state"), "active", "and whoever was in is in");
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
}

pub(crate) async fn killed_before_the_new_place_was_written(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(4).await;
    scene.forget(&guests[1..2]).await;
    scene
        .line
        .enter(&scene.queue, guests[1].entry())
        .await
        .expect("and the process dies");
    let (_, again) = scene.enters_as(&guests[1].id).await;
    assert_eq!(again.is(200).number("position"), 1);
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
}

pub(crate) async fn two_enter_at_once(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(4).await;
    for _ in 0..5 {
        scene.forget(&guests[1..2]).await;
        let ask = || Ask::post(format!("/queues/{}/entries", scene.queue)).visitor(&guests[1].id);
        let (one, two) = join!(
            send_to(&scene.routers[0], ask()),
            send_to(&scene.routers[1], ask())
        );
        for answer in [one, two] {
            assert_eq!(answer.is(200).number("position"), 1);
        }
        assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
    }
}

pub(crate) async fn after_an_end_it_is_a_new_place_whoever_knows_of_the_end(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(4).await;
    let leave = Ask::delete(scene.path(&guests[1])).visitor(&guests[1].id);
    scene.send(leave).await.is(204);
    // The next one's process dies before the end is written: the line alone knows.
    let left = scene
        .line
        .leave(&scene.queue, guests[2].entry(), None, LeaveReason::Leave)
        .await;
    left.expect("left");
    assert_eq!(scene.record(&guests[2]).await.state, EntryState::Waiting);
    for (position, guest) in (2..).zip(&guests[1..3]) {
        let (_, again) = scene.enters_as(&guest.id).await;
        assert_eq!(again.is(201).number("position"), position, "at the back");
        assert_eq!(again.body["durable"], true);
    }
    let view = scene.line.queue_view(&scene.queue).await.expect("view");
    assert_eq!(view.unsettled_ends, 0, "the backup has every end");
}

pub(crate) async fn after_a_session_that_ran_out_it_is_a_new_place(on: Backend) {
    let scene = Scene::open(on, json!({ "session_seconds": 1, "interval_seconds": 1 })).await;
    let guests = scene.guests(1).await;
    // There is a promoter, so that no call drives.
    scene.promote().await;
    let before = scene.record(&guests[0]).await;
    // Nobody has dropped it: the backup shows a session still.
    let look = async || scene.status(&guests[0]).await;
    poll_until(BOUND, look, |answer| answer.status == 410).await;
    assert_eq!(scene.record(&guests[0]).await.state, EntryState::Active);
    let (_, again) = scene.enters_as(&guests[0].id).await;
    again.is(201);
    assert_ne!(again.number("visit"), u64::from(before.visit.number()));
    let record = scene.record(&guests[0]).await;
    assert_eq!(u64::from(record.visit.number()), again.number("visit"));
    let view = scene.line.queue_view(&scene.queue).await.expect("view");
    assert_eq!(view.unsettled_ends, 0);
}

pub(crate) async fn moving_to_the_back_still_does(on: Backend) {
    let scene = Scene::open(on, json!({ "re_entry": "requeue" })).await;
    let guests = scene.guests(4).await;
    let (_, again) = scene.enters_as(&guests[1].id).await;
    assert_eq!(again.is(200).number("position"), 3);
    assert_eq!(again.body["durable"], true);
    let record = scene.record(&guests[1]).await;
    assert_eq!(u64::from(record.visit.number()), again.number("visit"));
    // Forgotten since then, it comes back to the place at the back.
    scene.forget(&guests[1..2]).await;
    assert_eq!(scene.positions(&guests[1..]).await, [3, 1, 2]);
}

pub(crate) async fn an_end_that_the_redis_forgot_is_no_way_back_in(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 2, "batch": 1, "interval_seconds": 1 })).await;
    let guests = scene.guests(1).await;
    let first = scene.record(&guests[0]).await.visit;
    let old = scene.snapshot().await;
    scene
        .send(scene.service(&guests[0], "complete", &json!({})))
        .await
        .is(204);
    scene.go_back_to(&old).await;
    // Inside as far as the Redis knows, and done.
    let enter = Ask::post(format!("/queues/{}/entries", scene.queue)).visitor(&guests[0].id);
    let entered = scene.send(enter).await;
    assert_eq!(entered.is(201).body["durable"], true);
    assert_ne!(
        entered.number("visit"),
        u64::from(first.number()),
        "it is a visit of its own"
    );
    assert_eq!(
        scene.record(&guests[0]).await.visit.number(),
        u16::try_from(entered.number("visit")).expect("a visit")
    );
}
