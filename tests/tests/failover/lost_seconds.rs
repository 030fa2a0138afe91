//! A failover to a replica that missed the last 1.4 seconds.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::state::EntryState;
use vestibule_tests::{in_process::ApiRequest, lines::Backend};

use crate::scene::Scene;

/// How many visitors complete, and how many claim, in the lost time.
const VISITORS: usize = 20;
/// Half of the lost time.
const HALF: Duration = Duration::from_millis(700);

pub(crate) async fn a_check_finds_lost_claims_and_completions(backend: Backend) {
    let settings = json!({
        "capacity": 2 * VISITORS, "batch": VISITORS, "interval_seconds": 1, "claim_seconds": 60, "session_seconds": 600,
    });
    let (scene, clock) = Scene::open_with_clock(backend, settings).await;
    let guests = scene.enter_many(2 * VISITORS).await;
    let (completing, claiming) = guests.split_at(VISITORS);
    clock.advance(Duration::from_secs(1));
    scene.promote().await;
    scene.flush().await;
    let before = scene.view().await;
    assert_eq!((before.ready, before.active), (20, 20));
    let replica = scene.snapshot().await;

    clock.advance(HALF);
    let mut session_ends = Vec::new();
    for (completed, claimed) in completing.iter().zip(claiming) {
        scene.complete(completed).await;
        let answer = scene.send(scene.claim(claimed)).await;
        assert_eq!(answer.expect_status(200).body["durable"], true);
        session_ends.push(answer.number("expires_at_ms"));
    }
    clock.advance(HALF);
    scene.restore_snapshot(&replica).await;
    let after = scene.view().await;
    assert_eq!((after.ready, after.active), (20, 20), "Redis shows the old data");

    let checked = scene.run_command(scene.check_command()).await;
    assert_eq!(
        (&checked["removed"], &checked["adopted"]),
        (&json!(20), &json!(20)),
        "{checked}"
    );
    let view = scene.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 20));
    for (guest, session_end_ms) in claiming.iter().zip(session_ends) {
        let by_id = json!({ "visitor": guest.id });
        let valid = scene.send(scene.service(guest, "validate", &by_id)).await;
        assert_eq!(valid.expect_status(200).text("state"), "active");
        assert_eq!(valid.number("expires_at_ms"), session_end_ms);
        assert!(scene.status(guest).await.expect_status(200).body["pass"].is_string());
        assert_eq!(scene.record(guest).await.state, EntryState::Active);
    }
    for guest in completing {
        scene.status(guest).await.expect_problem(410, "completed");
        assert_eq!(scene.record(guest).await.state, EntryState::Completed);
    }
    scene.check_until_clean().await;

    // The slots are free: the next visitors are let in at once, one more than slots is not.
    clock.advance(Duration::from_secs(1));
    for nth in 0..=VISITORS {
        let enter = ApiRequest::post(format!("/queues/{}/entries", scene.queue));
        let entered = scene.send(enter.visitor(&uuid::Uuid::new_v4().to_string())).await;
        let expected = if nth < VISITORS { "active" } else { "waiting" };
        assert_eq!(
            entered.expect_status(201).text("state"),
            expected,
            "visitor {nth}"
        );
    }
}
