//! Who missed the turn and came back keeps the old place, whatever the Redis forgets.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::state::EntryState;
use vestibule_line::Line;
use vestibule_tests::{
    edge::{Answer, BOUND},
    lines::{Backend, ManualClock},
    waiting::wait_until,
};

use crate::{
    losses::Snapshot,
    scene::{Guest, Scene},
};

/// One is in for a long time, the next one was called and did not claim; now it is the turn of the third one, and the fourth
/// waits.
struct Missed {
    scene: Scene,
    clock: ManualClock,
    guests: Vec<Guest>,
    visit: u64,
    /// The line as it was before the time to claim was over.
    called: Snapshot,
}

impl Missed {
    async fn open(on: Backend) -> Self {
        let settings = json!({ "capacity": 2, "batch": 1, "interval_seconds": 1, "session_seconds": 86_400 });
        let (scene, clock) = Scene::by_hand(on, settings).await;
        let guests = scene.guests(4).await;
        let visit = scene.status(&guests[1]).await.number("visit");
        clock.advance(Duration::from_secs(1));
        scene.promote().await;
        scene.drain().await;
        let called = scene.snapshot().await;
        clock.advance(Duration::from_mins(1));
        scene.promote().await;
        scene.drain().await;
        assert_eq!(scene.record(&guests[1]).await.state, EntryState::Expired);
        Self {
            scene,
            clock,
            guests,
            visit,
            called,
        }
    }

    fn late(&self) -> &Guest {
        &self.guests[1]
    }

    async fn looks(&self) -> Answer {
        self.clock.advance(Duration::from_secs(1));
        self.scene.status(self.late()).await
    }

    async fn enters(&self) -> Answer {
        self.clock.advance(Duration::from_secs(1));
        self.scene.enters_as(&self.late().id).await.1
    }

    /// They wait at the place that they had, ahead of the fourth one, and the backup knows that they came back.
    async fn is_back(&self, answer: &Answer, how: &str) {
        assert_eq!(answer.is(200).text("state"), "waiting", "{how}");
        assert_eq!(answer.number("visit"), self.visit, "{how}");
        let last = self.guests[3].clone();
        let positions = self.scene.positions(&[self.late().clone(), last]).await;
        assert!(positions[0] < positions[1], "{how}: {positions:?}");
        let record = self.scene.record(self.late()).await;
        assert_eq!(record.state, EntryState::Waiting, "{how}");
        assert!(record.came_back_at_ms.is_some(), "{how}: {record:?}");
    }
}

pub(crate) async fn a_redis_that_forgot_who_came_back_hears_of_it(on: Backend) {
    let missed = Missed::open(on).await;
    let before = missed.scene.snapshot().await;
    missed.is_back(&missed.enters().await, "at first").await;
    missed.scene.go_back_to(&before).await;
    missed.is_back(&missed.looks().await, "by a look").await;
    missed.scene.go_back_to(&before).await;
    missed.is_back(&missed.enters().await, "by entering").await;
}

/// There it runs out once more, with a later version than the come-back.
pub(crate) async fn a_redis_that_still_has_the_turn_ends_nothing(on: Backend) {
    let missed = Missed::open(on).await;
    missed.is_back(&missed.enters().await, "at first").await;
    for how in [
        "a look",
        "entering",
        "a look after the tick",
        "entering after the tick",
        "a look after all",
    ] {
        missed.clock.advance(Duration::from_secs(1));
        missed.scene.go_back_to(&missed.called).await;
        if how.ends_with("the tick") || how.ends_with("all") {
            missed.scene.promote().await;
            assert_eq!(missed.scene.view().await.totals.no_shows, 1);
        }
        if how.ends_with("all") {
            missed.scene.drain().await;
            assert_eq!(
                missed.scene.view().await.unsettled_ends,
                0,
                "the end is forgotten"
            );
        }
        let answer = if how.starts_with("entering") {
            missed.enters().await
        } else {
            missed.looks().await
        };
        missed.is_back(&answer, how).await;
        missed.scene.drain().await;
        missed
            .is_back(&missed.looks().await, &format!("{how}, and then"))
            .await;
    }
}

pub(crate) async fn a_redis_that_was_lost_has_those_who_came_back_and_those_who_may(on: Backend) {
    for is_back in [true, false] {
        let missed = Missed::open(on).await;
        if is_back {
            missed.is_back(&missed.enters().await, "before").await;
        }
        missed.scene.lose_everything().await;
        missed
            .scene
            .beside_promoters(1, async {
                wait_until(BOUND, "it is put back", async || {
                    missed.scene.line.queue_view(&missed.scene.queue).await.is_ok()
                })
                .await;
            })
            .await;
        if is_back {
            missed.is_back(&missed.looks().await, "put back").await;
        } else {
            missed
                .looks()
                .await
                .is_problem(410, "expired")
                .number("grace_until_ms");
            missed
                .is_back(&missed.enters().await, "after it was put back")
                .await;
        }
    }
}

pub(crate) async fn a_come_back_that_a_killed_process_began_is_finished_by_the_check(on: Backend) {
    let missed = Missed::open(on).await;
    let entered = missed
        .scene
        .line
        .enter(&missed.scene.queue, missed.late().entry())
        .await;
    entered.expect("and the process dies");
    // Found long after that: when they came is what counts.
    missed.clock.advance(Duration::from_mins(20));
    let order = json!({ "op": "check", "queue": missed.scene.queue.to_string() });
    let checked = missed.scene.order(order).await;
    assert_eq!(checked["revived"], 1, "{checked}");
    missed.scene.beat().await;
    missed.is_back(&missed.looks().await, "checked").await;
}
