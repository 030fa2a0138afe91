//! A failover to a replica that missed the last 1.4 seconds.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_domain::state::EntryState;
use vestibule_tests::{
    api::Guest,
    in_process::{ApiRequest, BOUND},
    lines::{Backend, ManualClock},
    waiting::wait_until,
};

use crate::scene::Scene;

/// How many visitors complete, and how many claim, in the lost time.
const VISITORS: usize = 20;
/// Half of the lost time.
const HALF: Duration = Duration::from_millis(700);

/// Capacity for the visitors that complete and those that claim.
fn settings() -> Value {
    json!({
        "capacity": 2 * VISITORS, "batch": VISITORS, "interval_seconds": 1, "claim_seconds": 60, "session_seconds": 600,
    })
}

impl Scene {
    /// Waits until the promoter has ticked the queue this many times more.
    async fn wait_for_ticks(&self, more: u64) {
        let before = self.view().await.last_tick.ticks;
        wait_until(BOUND, "the promoter ticks", async || {
            self.view().await.last_tick.ticks >= before + more
        })
        .await;
    }

    /// Whether the protected service lets the visitor in, without showing a pass.
    async fn is_session_valid(&self, guest: &Guest) -> bool {
        let by_id = json!({ "visitor": guest.id });
        let answer = self.send(guest.of_service("validate", &by_id)).await;
        answer.status == 200 && answer.text("state") == "active"
    }

    /// The slots of the visitors who completed are free: so many visitors are let in at once, and one more waits.
    async fn expect_free_slots(&self, clock: &ManualClock) {
        clock.advance(Duration::from_secs(1));
        for nth in 0..=VISITORS {
            let enter = ApiRequest::post(format!("/queues/{}/entries", self.queue));
            let entered = self.send(enter.visitor(&uuid::Uuid::new_v4().to_string())).await;
            let expected = if nth < VISITORS { "active" } else { "waiting" };
            assert_eq!(
                entered.expect_status(201).text("state"),
                expected,
                "visitor {nth}"
            );
        }
    }
}

pub(crate) async fn lost_claims_and_completions_return_within_seconds(backend: Backend) {
    let (scene, clock) = Scene::open_with_clock(backend, settings()).await;
    let guests = scene.enter_many(2 * VISITORS).await;
    let (completing, claiming) = guests.split_at(VISITORS);
    clock.advance(Duration::from_secs(1));
    let work = async {
        wait_until(BOUND, "the others are ready", async || {
            scene.view().await.ready == 20
        })
        .await;
        let replica = scene.snapshot().await;
        for (completed, claimed) in completing.iter().zip(claiming) {
            scene.complete(completed).await;
            let answer = scene.send(claimed.claim()).await;
            assert_eq!(answer.expect_status(200).body["durable"], true);
        }
        scene.wait_for_ticks(2).await;
        let epoch = scene.line_epoch().await;
        scene.fail_over_to(&replica).await;
        let begun = Instant::now();
        // Only the check that is due for the loss repairs the line. The line's clock stands still, so the regular check
        // does not come.
        let is_recovered = async || {
            let view = scene.view().await;
            (view.ready, view.active) == (0, 20)
        };
        wait_until(BOUND, "Redis has the lost changes again", is_recovered).await;
        for guest in claiming {
            assert!(scene.is_session_valid(guest).await);
        }
        println!("recovered after {:?}", begun.elapsed());
        assert_eq!(scene.line_epoch().await, epoch, "by a check and not by a restore");
    };
    scene.with_promoters(1, work).await;
    for guest in completing {
        scene.status(guest).await.expect_problem(410, "completed");
    }
    wait_until(BOUND, "the check ends", async || {
        scene.view().await.check_due_ms == 0
    })
    .await;
    scene.expect_free_slots(&clock).await;
}

pub(crate) async fn a_check_finds_lost_claims_and_completions(backend: Backend) {
    let (scene, clock) = Scene::open_with_clock(backend, settings()).await;
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
        let answer = scene.send(claimed.claim()).await;
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
    assert_eq!(checked["eviction_policy"], "noeviction");
    let view = scene.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 20));
    for (guest, session_end_ms) in claiming.iter().zip(session_ends) {
        let by_id = json!({ "visitor": guest.id });
        let valid = scene.send(guest.of_service("validate", &by_id)).await;
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

    scene.expect_free_slots(&clock).await;
}

/// Redis drops a whole key when its memory is full and its policy is not `noeviction`.
pub(crate) async fn evicted_entries_return_without_their_visitors(backend: Backend) {
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 600 });
    let scene = Scene::open(backend, settings).await;
    let guests = scene.enter_many(11).await;
    let work = async {
        scene.wait_for_ticks(2).await;
        let waiting = scene.view().await.waiting;
        assert_eq!(waiting, 10);
        let evicted: Result<u64, _> = ::redis::cmd("DEL")
            .arg(scene.key("waiting"))
            .query_async(&mut scene.connection.clone())
            .await;
        assert_eq!(evicted.expect("Redis answers"), 1);
        wait_until(BOUND, "the entries are back", async || {
            scene.view().await.waiting == 10
        })
        .await;
        // The check has set the baseline.
        scene.wait_for_ticks(3).await;
        let view = scene.view().await;
        assert_eq!(view.imbalance.visits, view.imbalance.at_check);
        assert_eq!((view.imbalance.visits, view.check_due_ms), (10, 0));
    };
    scene.with_promoters(1, work).await;
    let positions: Vec<_> = (1..=10).collect();
    assert_eq!(scene.positions(&guests[1..]).await, positions);
}
