//! A visit that ended stays ended although Redis forgot the end, or the table does not take it. The end never affects a
//! later visit.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::state::EntryState;
use vestibule_faults::Fault;
use vestibule_tests::{
    api::Guest,
    in_process::{ApiRequest, ApiResponse, BOUND},
    lines::Backend,
    waiting::wait_until,
};

use crate::scene::{Scene, consume, default_settings};

impl Scene {
    /// Checks that every request about the visitor who left is refused, six times in a row, and that no answer has a pass.
    async fn expect_left(&self, guest: &Guest, pass: &str) {
        for _ in 0..6 {
            let status = self.status(guest).await;
            assert!(status.expect_problem(410, "left").body["pass"].is_null());
            let claimed = self.send(guest.claim()).await;
            assert!(claimed.expect_problem(410, "left").body["pass"].is_null());
            let by_id = json!({ "visitor": guest.id });
            let validated = self.send(guest.of_service("validate", &by_id)).await;
            validated.expect_problem(410, "left");
            let by_pass = json!({ "pass": pass });
            let validated = self.send(guest.of_service("validate", &by_pass)).await;
            assert_ne!(validated.status, 200, "{validated:?}");
        }
    }

    /// Checks that the answer shows a new, durable visit that differs from the one before.
    async fn expect_new_visit(&self, guest: &Guest, answer: &ApiResponse, before: u64) {
        assert_eq!(answer.expect_status(201).body["durable"], true, "{answer:?}");
        assert_ne!(answer.number("visit"), before);
        let record = self.record(guest).await;
        assert!(record.state.is_live());
        assert_eq!(record.visit().number(), answer.number("visit"));
        assert_eq!(self.view().await.unsettled_ends, 0, "the backup has every end");
    }
}

pub(crate) async fn entering_after_a_forgotten_leave_is_at_the_back(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(4).await;
    let before = scene.status(&guests[1]).await.number("visit");
    let snapshot = scene.snapshot().await;
    scene.leave(&guests[1]).await;
    scene.restore_snapshot(&snapshot).await;
    let (_, again) = scene.enter_as(&guests[1].id).await;
    scene.expect_new_visit(&guests[1], &again, before).await;
    assert_eq!(
        again.number("position"),
        3,
        "the old entry no longer counts in the line"
    );
    assert_eq!(scene.positions(&guests[2..]).await, [1, 2]);
}

/// The versions of the new visit are lower than that of the end, too.
pub(crate) async fn entering_after_a_forgotten_leave_works_on_a_slow_clock(backend: Backend) {
    let (scene, clock) = Scene::open_with_clock(backend, default_settings()).await;
    let guests = scene.enter_many(3).await;
    let before = scene.status(&guests[1]).await.number("visit");
    let snapshot = scene.snapshot().await;
    clock.advance(Duration::from_secs(2));
    scene.leave(&guests[1]).await;
    scene.restore_snapshot(&snapshot).await;
    clock.set_back(Duration::from_secs(1));
    let (_, again) = scene.enter_as(&guests[1].id).await;
    scene.expect_new_visit(&guests[1], &again, before).await;
    assert_eq!(again.number("position"), 2);
}

pub(crate) async fn a_forgotten_completion_is_found_and_frees_the_slot(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guests = scene.enter_many(2).await;
    let before = scene.status(&guests[0]).await.number("visit");
    let snapshot = scene.snapshot().await;
    scene.complete(&guests[0]).await;
    let ended_at_ms = scene.record(&guests[0]).await.ended_at_ms;
    let status = guests[0].status();
    let asks = [
        ("status", status),
        ("claim", guests[0].claim()),
        ("extend", guests[0].extend(&json!({ "seconds": 400 }))),
        // A consumed entry cannot be consumed again.
        ("consume", consume(&guests[0])),
    ];
    for (request, ask) in asks {
        scene.restore_snapshot(&snapshot).await;
        let answer = scene.send(ask).await;
        assert_eq!(answer.status, 410, "{request}: {answer:?}");
        assert_eq!(
            answer.expect_problem(410, "completed").number("visit"),
            before,
            "{request}"
        );
        scene.status(&guests[0]).await.expect_problem(410, "completed");
        let view = scene.view().await;
        assert_eq!((view.active, view.unsettled_ends), (0, 0), "{request}");
    }
    let record = scene.record(&guests[0]).await;
    assert_eq!(
        (record.state, record.ended_at_ms),
        (EntryState::Completed, ended_at_ms),
        "the record keeps the first end"
    );
    scene.restore_snapshot(&snapshot).await;
    let (_, again) = scene.enter_as(&guests[0].id).await;
    scene.expect_new_visit(&guests[0], &again, before).await;
}

pub(crate) async fn a_ready_entry_that_left_is_removed_when_read(backend: Backend) {
    let scene = Scene::open(backend, json!({ "capacity": 1, "batch": 2 })).await;
    let guests = scene.enter_many(3).await;
    let before = scene.status(&guests[1]).await.number("visit");
    scene.complete(&guests[0]).await;
    scene.promote().await;
    scene.flush().await;
    let snapshot = scene.snapshot().await;
    assert_eq!(scene.view().await.ready, 1);
    scene.leave(&guests[1]).await;
    scene.restore_snapshot(&snapshot).await;
    scene.status(&guests[1]).await.expect_problem(410, "left");
    assert_eq!(scene.view().await.ready, 0, "the slot is free");
    scene.restore_snapshot(&snapshot).await;
    let (_, again) = scene.enter_as(&guests[1].id).await;
    scene.expect_new_visit(&guests[1], &again, before).await;
}

pub(crate) async fn a_ready_entry_that_completed_cannot_be_claimed(backend: Backend) {
    let scene = Scene::open(backend, json!({ "capacity": 1, "batch": 2 })).await;
    let guests = scene.enter_many(3).await;
    scene.complete(&guests[0]).await;
    scene.promote().await;
    scene.flush().await;
    let snapshot = scene.snapshot().await;
    scene.send(guests[1].claim()).await.expect_status(200);
    scene.complete(&guests[1]).await;
    scene.restore_snapshot(&snapshot).await;
    scene.status(&guests[1]).await.expect_problem(410, "completed");
    assert_eq!(scene.view().await.ready, 0);
    scene
        .send(guests[1].claim())
        .await
        .expect_problem(410, "completed");
}

pub(crate) async fn a_promoted_entry_that_left_is_removed_by_the_flush(backend: Backend) {
    let scene = Scene::open(backend, json!({ "interval_seconds": 1 })).await;
    let guests = scene.enter_many(3).await;
    scene.complete(&guests[0]).await;
    let snapshot = scene.snapshot().await;
    scene.leave(&guests[1]).await;
    scene.restore_snapshot(&snapshot).await;
    wait_until(BOUND, "one entry is promoted", async || {
        scene.promote().await;
        scene.view().await.totals.promoted == 1
    })
    .await;
    assert_eq!(
        scene.positions(&guests[2..]).await,
        [1],
        "the promoted entry is the one that had left"
    );
    scene.flush().await;
    assert_eq!(scene.view().await.ready, 0, "the slot is free");
    scene.status(&guests[1]).await.expect_problem(410, "left");
    wait_until(BOUND, "the next entry is promoted", async || {
        scene.promote().await;
        scene.status(&guests[2]).await.body["state"] == "ready"
    })
    .await;
}

/// The table refuses writes and answers reads. By the table alone, the first visit is still active.
pub(crate) async fn a_completed_visit_stays_ended_while_the_table_refuses_writes(backend: Backend) {
    const TRIES: usize = 6;
    let settings = json!({ "capacity": TRIES, "batch": TRIES });
    for fault in [Fault::Unavailable, Fault::Rejected] {
        let scene = Scene::open(backend, settings.clone()).await;
        let guests = scene.enter_many(TRIES).await;
        let faults = scene.backup.faults();
        faults.fail("put_change", fault);
        for guest in &guests {
            let pass = scene.status(guest).await.text("pass").to_owned();
            scene.complete(guest).await;
            let (_, again) = scene.enter_as(&guest.id).await;
            assert_eq!(again.expect_status(201).text("state"), "waiting");
            assert_eq!(again.body["durable"], false);
            scene.leave(guest).await;
            assert_eq!(scene.record(guest).await.state, EntryState::Active);
            scene.expect_left(guest, &pass).await;
        }
        assert_eq!(scene.view().await.active, 0, "every slot is free");

        // A check that the table refuses as well changes nothing.
        scene.try_command(scene.check_command()).await;
        for guest in &guests {
            scene.status(guest).await.expect_problem(410, "left");
        }
        faults.heal("put_change");
        scene.check_until_clean().await;
        for guest in &guests {
            scene.status(guest).await.expect_problem(410, "left");
            assert_eq!(scene.record(guest).await.state, EntryState::Left);
        }
        let view = scene.view().await;
        assert_eq!(
            (view.waiting, view.ready, view.active, view.unsettled_ends),
            (0, 0, 0, 0)
        );
    }
}

pub(crate) async fn a_forgotten_later_visit_can_be_left(backend: Backend) {
    let scene = Scene::open(backend, default_settings()).await;
    let guest = scene.enter_many(2).await.remove(1);
    let mut connection = scene.connection.clone();
    let earlier_place: f64 = redis::Cmd::zscore(scene.key("waiting"), guest.member())
        .query_async(&mut connection)
        .await
        .expect("the visitor waits");
    scene.leave(&guest).await;
    let (_, again) = scene.enter_as(&guest.id).await;
    let visit = again.expect_status(201).number("visit");
    // A replica took over that has neither the end of the first visit nor the second visit.
    let mut stale = redis::pipe();
    stale.hdel(scene.key("ended"), guest.member());
    stale.zadd(scene.key("waiting"), guest.member(), earlier_place);
    stale.exec_async(&mut connection).await.expect("Redis answers");

    let path = guest.path(&format!("?visit={visit}"));
    let left = scene.send(ApiRequest::delete(path).visitor(&guest.id)).await;
    left.expect_status(204);
    scene.status(&guest).await.expect_problem(410, "left");
    let record = scene.record(&guest).await;
    assert_eq!(
        (record.state, record.visit().number()),
        (EntryState::Left, visit),
        "the named visit ended"
    );
}
