//! A request about an entry that Redis forgot restores it to its old place.

use serde_json::json;
use tokio::join;
use vestibule_domain::state::EntryState;
use vestibule_line::{EntryLookup, LeaveOutcome, LeaveReason, NotFound};
use vestibule_tests::{
    in_process::{ApiRequest, send_to},
    lines::Backend,
};

use crate::scene::{Scene, default_settings};

pub(crate) async fn a_forgotten_entry_keeps_its_place(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(6).await;
    scene
        .forget_entries(&[guests[4].clone(), guests[2].clone()])
        .await;
    // A new visitor meanwhile does not get ahead of earlier ones.
    let newcomer = scene.enter_many(1).await;
    // The last entry is asked for first: the order of the requests does not matter.
    scene.status(&guests[4]).await.expect_status(200);
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3, 4, 5]);
    assert_eq!(scene.positions(&newcomer).await, [6]);
    let record = scene.record(&guests[2]).await;
    assert_eq!(record.state, EntryState::Waiting);
    // The visit number is the old one, and the visitor may leave by it.
    let leave = ApiRequest::delete(format!(
        "{}?visit={}",
        guests[2].path(""),
        record.visit().number()
    ));
    scene.send(leave.visitor(&guests[2].id)).await.expect_status(204);
    assert_eq!(scene.record(&guests[2]).await.state, EntryState::Left);
    scene.status(&guests[2]).await.expect_problem(410, "left");
}

pub(crate) async fn a_forgotten_entry_that_ended_is_not_restored(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(3).await;
    scene.forget_entries(&guests).await;
    scene.leave(&guests[1]).await;
    assert_eq!(scene.record(&guests[1]).await.state, EntryState::Left);
    // The first entry is active, and the protected service completes it.
    scene.complete(&guests[0]).await;
    assert_eq!(scene.record(&guests[0]).await.state, EntryState::Completed);
    // Redis forgets the ends as well.
    scene.forget_entries(&guests).await;
    for guest in &guests[..2] {
        assert_eq!(scene.status(guest).await.status, 410);
        let status = scene.line.status(&scene.queue, guest.entry_id()).await;
        let status = status.expect("status");
        assert!(
            matches!(status, EntryLookup::NotFound(NotFound::Unknown { .. })),
            "{status:?}"
        );
    }
    assert_eq!(scene.positions(&guests[2..]).await, [1]);
}

pub(crate) async fn a_forgotten_turn_can_be_claimed(backend: Backend) {
    let scene = Scene::open(backend, json!({ "capacity": 1, "batch": 2 })).await;
    let guests = scene.enter_many(3).await;
    scene.complete(&guests[0]).await;
    scene.promote().await;
    scene.flush().await;
    let called = scene.status(&guests[1]).await.number("promoted_at_ms");
    scene.forget_entries(&guests).await;
    let claimed = scene.send(guests[1].claim()).await;
    claimed.expect_status(200);
    assert_eq!(claimed.text("state"), "active");
    assert_eq!(claimed.body["durable"], true);
    assert_eq!(
        claimed.number("promoted_at_ms"),
        called,
        "the entry was promoted once"
    );
    assert!(claimed.body["pass"].is_string());
    assert_eq!(
        scene.positions(&guests[2..]).await,
        [1],
        "no other entry is promoted"
    );
    scene.promote().await;
    assert_eq!(scene.positions(&guests[2..]).await, [1]);
}

pub(crate) async fn a_forgotten_session_keeps_its_end(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(2).await;
    let before = scene.status(&guests[0]).await;
    let asked = json!({ "visitor": guests[0].id });
    scene.forget_entries(&guests).await;
    let valid = scene.send(guests[0].of_service("validate", &asked)).await;
    valid.expect_status(200);
    assert_eq!(valid.number("expires_at_ms"), before.number("expires_at_ms"));
    scene.forget_entries(&guests).await;
    let longer = json!({ "seconds": 400 });
    let extended = scene.send(guests[0].extend(&longer)).await;
    assert!(extended.expect_status(200).number("expires_at_ms") > before.number("expires_at_ms"));
    let waits = scene
        .send(guests[1].of_service("validate", &json!({ "visitor": guests[1].id })))
        .await;
    waits.expect_problem(409, "not-your-turn");
}

pub(crate) async fn a_held_poll_of_a_forgotten_entry_returns_its_place(backend: Backend) {
    let scene = Scene::open(backend, json!({ "interval_seconds": 1 })).await;
    let guests = scene.enter_many(3).await;
    let held = scene.send(guests[2].held_poll(3));
    let forgets = async {
        // Redis forgets the entry before or after the poll reads it. The result is the same.
        tokio::task::yield_now().await;
        scene.forget_entries(&guests[1..]).await;
    };
    let (answer, ()) = join!(held, forgets);
    answer.expect_status(200);
    assert_eq!(answer.text("state"), "waiting");
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2]);
}

pub(crate) async fn an_end_that_the_backup_lacks_is_reported(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(3).await;
    let left = scene
        .line
        .leave(&scene.queue, guests[1].entry_id(), None, LeaveReason::Leave)
        .await;
    assert!(
        matches!(left, Ok(LeaveOutcome::Ended(_))),
        "the visitor leaves, and the process dies: {left:?}"
    );
    assert_eq!(scene.record(&guests[1]).await.state, EntryState::Waiting);
    scene.status(&guests[1]).await.expect_problem(410, "left");
    assert_eq!(scene.record(&guests[1]).await.state, EntryState::Left);
    assert_eq!(scene.positions(&guests[2..]).await, [1]);
}

pub(crate) async fn many_requests_restore_a_forgotten_entry_once(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(4).await;
    scene.forget_entries(&guests).await;
    let asks = (0..12).map(|n| {
        let guest = &guests[1 + n % 3];
        let ask = guest.status();
        send_to(&scene.routers[n % 2], ask)
    });
    for answer in futures_util::future::join_all(asks).await {
        answer.expect_status(200);
    }
    assert_eq!(scene.positions(&guests[1..]).await, [1, 2, 3]);
    let view = scene.line.queue_view(&scene.queue).await.expect("view");
    assert_eq!((view.waiting, view.ready, view.active), (3, 0, 0));
}

pub(crate) async fn an_earlier_visit_in_redis_does_not_end_the_current_one(backend: Backend) {
    let scene = Scene::open(
        backend,
        json!({ "capacity": 1, "batch": 1, "interval_seconds": 1 }),
    )
    .await;
    let guests = scene.enter_many(1).await;
    let snapshot = scene.snapshot().await;
    // The visit ends. The visitor enters again and waits behind another one.
    scene.complete(&guests[0]).await;
    scene.enter_many(1).await;
    let (again, entered) = scene.enter_as(&guests[0].id).await;
    assert_eq!(entered.expect_status(201).text("state"), "waiting");
    // Redis has only the earlier visit, and that one times out.
    scene.restore_snapshot(&snapshot).await;
    let key = format!("vestibule:{{{}}}:active", scene.queue);
    let past: Result<(), _> = ::redis::cmd("ZADD")
        .arg(key)
        .arg(1)
        .arg(again.member())
        .query_async(&mut scene.connection.clone())
        .await;
    past.expect("Redis answers");
    scene.promote().await;
    scene.flush().await;
    let answer = scene.status_once_served(&again).await;
    assert_eq!(answer.expect_status(200).number("visit"), entered.number("visit"));
    assert_eq!(answer.number("joined_at_ms"), entered.number("joined_at_ms"));
    assert_eq!(
        scene.record(&again).await.visit().number(),
        entered.number("visit")
    );
}
