//! A visitor who missed the turn and returned keeps the old place, whatever Redis forgets.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::{fact::Step, state::EntryState};
use vestibule_line::Arrival;
use vestibule_tests::{
    api::Guest,
    in_process::ApiResponse,
    lines::{Backend, ManualClock},
};

use crate::{data_loss::Snapshot, scene::Scene};

/// The first visitor has a long session. The second was promoted and did not claim. Now the third is ready, and
/// the fourth waits.
struct MissedTurn {
    scene: Scene,
    clock: ManualClock,
    guests: Vec<Guest>,
    visit: u64,
    /// The line before the claim time of the second visitor was over.
    snapshot_with_turn: Snapshot,
}

impl MissedTurn {
    async fn open(backend: Backend) -> Self {
        let settings = json!({ "capacity": 2, "batch": 1, "interval_seconds": 1, "session_seconds": 86_400 });
        let (scene, clock) = Scene::open_with_clock(backend, settings).await;
        let guests = scene.enter_many(4).await;
        let visit = scene.status(&guests[1]).await.number("visit");
        clock.advance(Duration::from_secs(1));
        scene.promote().await;
        scene.flush().await;
        let snapshot_with_turn = scene.snapshot().await;
        clock.advance(Duration::from_mins(1));
        scene.promote().await;
        scene.flush().await;
        assert_eq!(scene.record(&guests[1]).await.state, EntryState::Expired);
        Self {
            scene,
            clock,
            guests,
            visit,
            snapshot_with_turn,
        }
    }

    fn returning(&self) -> &Guest {
        &self.guests[1]
    }

    async fn poll(&self) -> ApiResponse {
        self.clock.advance(Duration::from_secs(1));
        self.scene.status(self.returning()).await
    }

    async fn enter(&self) -> ApiResponse {
        self.clock.advance(Duration::from_secs(1));
        self.scene.enter_as(&self.returning().id).await.1
    }

    /// Checks that the second visitor waits at the old place, ahead of the fourth, and that the backup shows
    /// the return.
    async fn expect_returned(&self, answer: &ApiResponse, case: &str) {
        assert_eq!(answer.expect_status(200).text("state"), "waiting", "{case}");
        assert_eq!(answer.number("visit"), self.visit, "{case}");
        let last = self.guests[3].clone();
        let positions = self.scene.positions(&[self.returning().clone(), last]).await;
        assert!(positions[0] < positions[1], "{case}: {positions:?}");
        let record = self.scene.record(self.returning()).await;
        assert_eq!(record.state, EntryState::Waiting, "{case}");
        assert_eq!(record.fact.step, Step::WaitingAgain, "{case}: {record:?}");
    }
}

pub(crate) async fn a_return_that_redis_forgot_is_restored(backend: Backend) {
    let turn = MissedTurn::open(backend).await;
    let before = turn.scene.snapshot().await;
    turn.expect_returned(&turn.enter().await, "first return").await;
    turn.scene.restore_snapshot(&before).await;
    turn.expect_returned(&turn.poll().await, "return by a poll").await;
    turn.scene.restore_snapshot(&before).await;
    turn.expect_returned(&turn.enter().await, "return by entering")
        .await;
}

/// In that Redis the turn expires once more, with a later version than the return.
pub(crate) async fn a_turn_that_redis_still_has_does_not_end_the_return(backend: Backend) {
    let turn = MissedTurn::open(backend).await;
    turn.expect_returned(&turn.enter().await, "first return").await;
    for (enters, ticked, flushed) in [
        (false, false, false),
        (true, false, false),
        (false, true, false),
        (true, true, false),
        (false, true, true),
    ] {
        let case = format!("enters: {enters}, after a tick: {ticked}, after a flush: {flushed}");
        turn.clock.advance(Duration::from_secs(1));
        turn.scene.restore_snapshot(&turn.snapshot_with_turn).await;
        if ticked {
            turn.scene.promote().await;
            assert_eq!(turn.scene.view().await.totals.no_shows, 1, "{case}");
        }
        if flushed {
            turn.scene.flush().await;
            assert_eq!(
                turn.scene.view().await.unsettled_ends,
                0,
                "the end is acknowledged: {case}"
            );
        }
        let answer = if enters {
            turn.enter().await
        } else {
            turn.poll().await
        };
        turn.expect_returned(&answer, &case).await;
        turn.scene.flush().await;
        let next_poll = format!("next poll; {case}");
        turn.expect_returned(&turn.poll().await, &next_poll).await;
    }
}

pub(crate) async fn a_restored_queue_has_returned_and_returnable_visitors(backend: Backend) {
    for has_returned in [true, false] {
        let turn = MissedTurn::open(backend).await;
        if has_returned {
            turn.expect_returned(&turn.enter().await, "before").await;
        }
        turn.scene.lose_queue().await;
        turn.scene
            .with_promoters(1, turn.scene.wait_until_restored())
            .await;
        if has_returned {
            turn.expect_returned(&turn.poll().await, "poll after the restore")
                .await;
        } else {
            turn.poll()
                .await
                .expect_problem(410, "expired")
                .number("grace_until_ms");
            turn.expect_returned(&turn.enter().await, "entering after the restore")
                .await;
        }
    }
}

pub(crate) async fn the_check_finishes_a_return_that_a_kill_cut_off(backend: Backend) {
    let turn = MissedTurn::open(backend).await;
    let entered = turn
        .scene
        .line
        .enter(&turn.scene.queue, turn.returning().entry_id(), Arrival::Ordinary)
        .await;
    entered.expect("the visitor enters, and the process dies");
    // The check runs much later, but the time of the return counts.
    turn.clock.advance(Duration::from_mins(20));
    let order = json!({ "op": "check", "queue": turn.scene.queue.to_string() });
    let checked = turn.scene.run_command(order).await;
    assert_eq!(checked["restored"], 1, "{checked}");
    turn.scene.send_heartbeat().await;
    turn.expect_returned(&turn.poll().await, "poll after the check")
        .await;
}
