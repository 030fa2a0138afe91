//! The end of a visit does not end the next visit, of which the table knows nothing yet.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::state::EntryState;
use vestibule_line::ClaimOutcome;
use vestibule_tests::{
    api::Guest,
    in_process::ApiRequest,
    lines::{Backend, ManualClock, enter_without_backup},
};

use crate::scene::{Scene, consume};

/// The first visit has ended, and the backup knows it. The place of the next visit is not durable: only the journal has
/// it.
async fn open_with_unwritten_second_visit(
    backend: Backend,
    settings: serde_json::Value,
) -> (Scene, ManualClock, Guest) {
    let (scene, clock) = Scene::open_with_clock(backend, settings).await;
    let guests = scene.enter_many(1).await;
    scene.complete(&guests[0]).await;
    clock.advance(Duration::from_secs(4));
    scene.send_heartbeat().await;
    let change = enter_without_backup(&scene.line, &scene.queue, guests[0].entry_id()).await;
    scene
        .line
        .append_to_journal(&scene.queue, &change)
        .await
        .expect("append_to_journal");
    assert_eq!(scene.record(&guests[0]).await.state, EntryState::Completed);
    (scene, clock, guests[0].clone())
}

pub(crate) async fn an_ended_visit_does_not_end_an_unwritten_session(backend: Backend) {
    let settings = json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 });
    let (scene, _, guest) = open_with_unwritten_second_visit(backend, settings).await;
    let status = scene.status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
    let enter = ApiRequest::post(format!("/queues/{}/entries", scene.queue)).visitor(&guest.id);
    for (request, ask) in [
        ("claim", guest.claim()),
        ("extend", guest.extend(&json!({ "seconds": 400 }))),
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
    scene.send(consume(&guest)).await.expect_status(200);
    scene.status(&guest).await.expect_problem(410, "completed");
}

pub(crate) async fn an_ended_visit_does_not_end_an_unwritten_turn(backend: Backend) {
    // With this pace only a promotion lets a visitor in.
    let settings = json!({ "capacity": 2, "batch": 1, "interval_seconds": 5 });
    let (scene, clock, guest) = open_with_unwritten_second_visit(backend, settings).await;
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
    let claimed = scene.line.claim(&scene.queue, guest.entry_id()).await;
    assert!(matches!(claimed, Ok(ClaimOutcome::Active { .. })), "{claimed:?}");
    scene.flush().await;
    assert_eq!(
        scene.status(&guest).await.expect_status(200).text("state"),
        "active"
    );
    assert_eq!(scene.view().await.active, 1);
}
