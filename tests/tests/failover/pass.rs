//! A failover lost the last changes of a visit, and the protected service presents the visitor's pass before a check has
//! run.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_domain::state::EntryState;
use vestibule_faults::Fault;
use vestibule_tests::{
    api::Guest,
    in_process::{ApiResponse, send_to},
    lines::{Backend, ManualClock},
};

use crate::{data_loss::Snapshot, scene::Scene};

/// One visitor is active, and another has claimed since a replica took its copy of Redis.
struct Claim {
    scene: Scene,
    clock: ManualClock,
    replica: Snapshot,
    guest: Guest,
    pass: String,
    /// The end of the session of the second visitor, in Unix milliseconds.
    session_end_ms: u64,
}

impl Claim {
    async fn make(backend: Backend) -> Self {
        let settings = json!({
            "capacity": 2, "batch": 1, "interval_seconds": 1, "claim_seconds": 10, "session_seconds": 600,
            "pass_seconds": 60,
        });
        let (scene, clock) = Scene::open_with_clock(backend, settings).await;
        let guest = scene.enter_many(2).await.remove(1);
        clock.advance(Duration::from_secs(1));
        scene.promote().await;
        scene.flush().await;
        let replica = scene.snapshot().await;
        let answer = scene.send(guest.claim()).await;
        assert_eq!(answer.expect_status(200).body["durable"], true);
        Self {
            session_end_ms: answer.number("expires_at_ms"),
            pass: answer.text("pass").to_owned(),
            scene,
            clock,
            replica,
            guest,
        }
    }

    async fn fail_over(&self) {
        self.scene.fail_over_to(&self.replica).await;
        let view = self.scene.view().await;
        assert_eq!((view.ready, view.active), (1, 1), "Redis shows the old data");
    }

    async fn validate(&self, more: &Value) -> ApiResponse {
        let mut body = json!({ "pass": self.pass });
        for (name, value) in more.as_object().expect("an object") {
            body[name] = value.clone();
        }
        // The second process has no snapshot of the queue from before the clock moved.
        let validate = self.guest.of_service("validate", &body);
        send_to(&self.scene.routers[1], validate).await
    }
}

pub(crate) async fn a_lost_claim_is_valid_at_once_by_its_pass(backend: Backend) {
    let claim = Claim::make(backend).await;
    claim.fail_over().await;
    let valid = claim.validate(&json!({})).await;
    assert_eq!(valid.expect_status(200).text("state"), "active");
    assert_eq!(
        valid.number("expires_at_ms"),
        claim.session_end_ms,
        "as the record says"
    );
    let view = claim.scene.view().await;
    assert_eq!((view.ready, view.active), (0, 2));
    assert_eq!(claim.scene.record(&claim.guest).await.state, EntryState::Active);
}

pub(crate) async fn a_lost_completion_is_refused_by_its_pass(backend: Backend) {
    let mut claim = Claim::make(backend).await;
    claim.replica = claim.scene.snapshot().await;
    claim.scene.complete(&claim.guest).await;
    claim.scene.fail_over_to(&claim.replica).await;
    assert_eq!(claim.scene.view().await.active, 2, "Redis shows the old data");
    claim.validate(&json!({})).await.expect_problem(410, "completed");
    assert_eq!(claim.scene.view().await.active, 1, "the slot is free");
}

pub(crate) async fn a_pass_is_accepted_while_the_table_is_unreadable(backend: Backend) {
    let claim = Claim::make(backend).await;
    claim.fail_over().await;
    let faults = claim.scene.backup.faults();
    faults.fail_all(Fault::Unavailable);
    let valid = claim.validate(&json!({})).await;
    assert_eq!(valid.expect_status(200).body["durable"], false);
    let pass_end_ms = valid.number("expires_at_ms");
    assert!(
        pass_end_ms < claim.session_end_ms,
        "the pass proves no more than its own time"
    );
    assert_eq!(claim.scene.view().await.active, 2, "the slot is taken");

    faults.heal_all();
    let valid = claim.validate(&json!({})).await;
    assert_eq!(
        valid.expect_status(200).number("expires_at_ms"),
        claim.session_end_ms
    );
    claim.scene.check_until_clean().await;
}

pub(crate) async fn a_missed_turn_of_a_lost_claim_is_accepted_by_its_pass(backend: Backend) {
    let claim = Claim::make(backend).await;
    claim.fail_over().await;
    let faults = claim.scene.backup.faults();
    faults.fail_all(Fault::Unavailable);
    claim.clock.advance(Duration::from_secs(11));
    claim.scene.promote().await;
    assert_eq!(claim.scene.view().await.totals.no_shows, 1);
    let valid = claim.validate(&json!({})).await;
    assert_eq!(valid.expect_status(200).body["durable"], false);
    let consume = json!({ "consume": true });
    claim
        .validate(&consume)
        .await
        .expect_problem(503, "backup-unavailable");

    faults.heal_all();
    claim.scene.flush().await;
    let valid = claim.validate(&json!({})).await;
    assert_eq!(
        valid.expect_status(200).number("expires_at_ms"),
        claim.session_end_ms
    );
    assert_eq!(claim.scene.view().await.active, 2);
    // The pass ends before the session, and proves who the visitor is until then.
    claim.clock.advance(Duration::from_mins(1));
    let valid = claim.validate(&json!({})).await;
    assert_eq!(
        valid.expect_status(200).number("expires_at_ms"),
        claim.session_end_ms
    );
}
