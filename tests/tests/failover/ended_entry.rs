//! A visit that ended stays ended although Redis forgot the end. The end never affects a later visit.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::state::EntryState;
use vestibule_line::{ClaimOutcome, EnterOutcome, EntryLine, JournalLine};
use vestibule_tests::{
    in_process::{ApiRequest, ApiResponse, BOUND},
    lines::{Backend, ManualClock},
    waiting::wait_until,
};

use crate::scene::{Guest, Scene, default_settings};

impl Scene {
    fn consume(&self, guest: &Guest) -> ApiRequest {
        self.service(
            guest,
            "validate",
            &json!({ "visitor": guest.id, "consume": true }),
        )
    }

    fn extend(&self, guest: &Guest) -> ApiRequest {
        let longer = json!({ "seconds": 400 });
        self.service(guest, "extend", &longer).visitor(&guest.id)
    }

    /// Checks that the answer shows a new, durable visit that differs from the one before.
    async fn expect_new_visit(&self, guest: &Guest, answer: &ApiResponse, before: u64) {
        assert_eq!(answer.expect_status(201).body["durable"], true, "{answer:?}");
        assert_ne!(answer.number("visit"), before);
        let record = self.record(guest).await;
        assert!(record.state.is_live());
        assert_eq!(u64::from(record.visit.number()), answer.number("visit"));
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
    let status = ApiRequest::get(scene.path(&guests[0])).visitor(&guests[0].id);
    let asks = [
        ("status", status),
        ("claim", scene.claim(&guests[0])),
        ("extend", scene.extend(&guests[0])),
        // A consumed entry cannot be consumed again.
        ("consume", scene.consume(&guests[0])),
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
    scene.send(scene.claim(&guests[1])).await.expect_status(200);
    scene.complete(&guests[1]).await;
    scene.restore_snapshot(&snapshot).await;
    scene.status(&guests[1]).await.expect_problem(410, "completed");
    assert_eq!(scene.view().await.ready, 0);
    scene
        .send(scene.claim(&guests[1]))
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

/// The first visit has ended, and the backup knows it. A new visit gets the same number by chance. Its place is
/// not durable and is written to the backup by the journal.
async fn open_with_repeated_visit_number(
    backend: Backend,
    settings: serde_json::Value,
) -> (Scene, ManualClock, Guest) {
    let (scene, clock) = Scene::open_with_clock(backend, settings).await;
    let guests = scene.enter_many(1).await;
    let before = scene.record(&guests[0]).await;
    clock.advance(Duration::from_millis(1_096));
    scene.complete(&guests[0]).await;
    clock.advance(Duration::from_secs(3));
    scene.send_heartbeat().await;
    let EnterOutcome::Joined {
        status,
        change: Some(change),
        ..
    } = scene
        .line
        .enter(&scene.queue, guests[0].entry())
        .await
        .expect("entered")
    else {
        panic!("the visitor got no place");
    };
    assert_eq!(status.visit(), before.visit, "visit numbers repeat after 4096 ms");
    scene
        .line
        .append_to_journal(&scene.queue, &change)
        .await
        .expect("append_to_journal");
    assert_eq!(scene.record(&guests[0]).await.state, EntryState::Completed);
    (scene, clock, guests[0].clone())
}

pub(crate) async fn an_ended_visit_does_not_end_a_session_of_equal_number(backend: Backend) {
    let settings = json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 });
    let (scene, _, guest) = open_with_repeated_visit_number(backend, settings).await;
    let status = scene.status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
    let enter = ApiRequest::post(format!("/queues/{}/entries", scene.queue)).visitor(&guest.id);
    for (request, ask) in [
        ("claim", scene.claim(&guest)),
        ("extend", scene.extend(&guest)),
        ("enter", enter),
    ] {
        let answer = scene.send(ask).await;
        assert_eq!(answer.status, 200, "{request}: {answer:?}");
        assert_eq!(answer.text("state"), "active", "{request}");
        assert_eq!(answer.body["visit"], status.body["visit"], "{request}");
    }
    assert_eq!(scene.view().await.active, 1);
    // After the flush the backup has the visit.
    scene.flush().await;
    assert_eq!(scene.record(&guest).await.state, EntryState::Active);
    scene.send(scene.consume(&guest)).await.expect_status(200);
    scene.status(&guest).await.expect_problem(410, "completed");
}

pub(crate) async fn an_ended_visit_does_not_end_a_turn_of_equal_number(backend: Backend) {
    // With this pace only a promotion lets a visitor in.
    let settings = json!({ "capacity": 2, "batch": 1, "interval_seconds": 5 });
    let (scene, clock, guest) = open_with_repeated_visit_number(backend, settings).await;
    assert_eq!(
        scene.status(&guest).await.expect_status(200).text("state"),
        "waiting"
    );
    clock.advance(Duration::from_secs(1));
    scene.promote().await;
    assert_eq!(
        scene.status(&guest).await.expect_status(200).text("state"),
        "ready"
    );
    let (_, again) = scene.enter_as(&guest.id).await;
    assert_eq!(again.expect_status(200).text("state"), "ready");
    let claimed = scene.line.claim(&scene.queue, guest.entry()).await;
    assert!(matches!(claimed, Ok(ClaimOutcome::Active { .. })), "{claimed:?}");
    scene.flush().await;
    assert_eq!(
        scene.status(&guest).await.expect_status(200).text("state"),
        "active"
    );
    assert_eq!(scene.view().await.active, 1);
}
