//! Whoever left or was done stays so, though the Redis forgot that, and a visit that came after is never ended by it.

use std::time::Duration;

use serde_json::json;
use vestibule_domain::state::EntryState;
use vestibule_line::{ClaimOutcome, EnterOutcome, Line};
use vestibule_tests::{
    edge::{Answer, Ask, BOUND},
    lines::{Backend, ManualClock},
    waiting::wait_until,
};

use crate::scene::{Guest, Scene, usual};

impl Scene {
    async fn leaves(&self, guest: &Guest) {
        let leave = Ask::delete(self.path(guest)).visitor(&guest.id);
        self.send(leave).await.is(204);
    }

    async fn is_done(&self, guest: &Guest) {
        self.send(self.service(guest, "complete", &json!({})))
            .await
            .is(204);
    }

    fn claim(&self, guest: &Guest) -> Ask {
        Ask::post(format!("{}/claim", self.path(guest))).visitor(&guest.id)
    }

    fn consume(&self, guest: &Guest) -> Ask {
        self.service(
            guest,
            "validate",
            &json!({ "visitor": guest.id, "consume": true }),
        )
    }

    fn extend(&self, guest: &Guest) -> Ask {
        let longer = json!({ "seconds": 400 });
        self.service(guest, "extend", &longer).visitor(&guest.id)
    }

    /// They have another place than that of this visit, as anybody new has, and it will last.
    async fn is_a_new_visit(&self, guest: &Guest, answer: &Answer, before: u64) {
        assert_eq!(answer.is(201).body["durable"], true, "{answer:?}");
        assert_ne!(answer.number("visit"), before);
        let record = self.record(guest).await;
        assert!(record.state.is_live());
        assert_eq!(u64::from(record.visit.number()), answer.number("visit"));
        assert_eq!(self.view().await.unsettled_ends, 0, "the backup has every end");
    }
}

pub(crate) async fn who_left_and_enters_again_is_at_the_back(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(4).await;
    let before = scene.status(&guests[1]).await.number("visit");
    let old = scene.snapshot().await;
    scene.leaves(&guests[1]).await;
    scene.go_back_to(&old).await;
    let (_, again) = scene.enters_as(&guests[1].id).await;
    scene.is_a_new_visit(&guests[1], &again, before).await;
    assert_eq!(again.number("position"), 3, "and nobody stands before them twice");
    assert_eq!(scene.positions(&guests[2..]).await, [1, 2]);
}

/// Its versions are lower than that of the end, too.
pub(crate) async fn who_left_and_enters_by_a_clock_that_is_behind_is_at_the_back(on: Backend) {
    let (scene, clock) = Scene::by_hand(on, usual()).await;
    let guests = scene.guests(3).await;
    let before = scene.status(&guests[1]).await.number("visit");
    let old = scene.snapshot().await;
    clock.advance(Duration::from_secs(2));
    scene.leaves(&guests[1]).await;
    scene.go_back_to(&old).await;
    clock.set_back(Duration::from_secs(1));
    let (_, again) = scene.enters_as(&guests[1].id).await;
    scene.is_a_new_visit(&guests[1], &again, before).await;
    assert_eq!(again.number("position"), 2);
}

pub(crate) async fn who_was_done_is_gone_and_the_slot_is_free(on: Backend) {
    let scene = Scene::open(on, usual()).await;
    let guests = scene.guests(2).await;
    let before = scene.status(&guests[0]).await.number("visit");
    let old = scene.snapshot().await;
    scene.is_done(&guests[0]).await;
    let ended_at_ms = scene.record(&guests[0]).await.ended_at_ms;
    let look = Ask::get(scene.path(&guests[0])).visitor(&guests[0].id);
    let asks = [
        ("look", look),
        ("claim", scene.claim(&guests[0])),
        ("extend", scene.extend(&guests[0])),
        // What was used up is not used again.
        ("consume", scene.consume(&guests[0])),
    ];
    for (told, ask) in asks {
        scene.go_back_to(&old).await;
        let gone = scene.send(ask).await;
        assert_eq!(gone.status, 410, "{told}: {gone:?}");
        assert_eq!(
            gone.is_problem(410, "completed").number("visit"),
            before,
            "{told}"
        );
        scene.status(&guests[0]).await.is_problem(410, "completed");
        let view = scene.view().await;
        assert_eq!((view.active, view.unsettled_ends), (0, 0), "{told}");
    }
    let record = scene.record(&guests[0]).await;
    assert_eq!(
        (record.state, record.ended_at_ms),
        (EntryState::Completed, ended_at_ms),
        "as it ended"
    );
    scene.go_back_to(&old).await;
    let (_, again) = scene.enters_as(&guests[0].id).await;
    scene.is_a_new_visit(&guests[0], &again, before).await;
}

pub(crate) async fn who_was_called_and_is_gone_is_not_called_any_more(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 1, "batch": 2 })).await;
    let guests = scene.guests(3).await;
    let before = scene.status(&guests[1]).await.number("visit");
    scene.is_done(&guests[0]).await;
    scene.promote().await;
    scene.drain().await;
    let old = scene.snapshot().await;
    assert_eq!(scene.view().await.ready, 1);
    scene.leaves(&guests[1]).await;
    scene.go_back_to(&old).await;
    scene.status(&guests[1]).await.is_problem(410, "left");
    assert_eq!(scene.view().await.ready, 0, "the slot is free");
    scene.go_back_to(&old).await;
    let (_, again) = scene.enters_as(&guests[1].id).await;
    scene.is_a_new_visit(&guests[1], &again, before).await;
}

pub(crate) async fn who_was_called_and_came_and_was_done_does_not_come_twice(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 1, "batch": 2 })).await;
    let guests = scene.guests(3).await;
    scene.is_done(&guests[0]).await;
    scene.promote().await;
    scene.drain().await;
    let old = scene.snapshot().await;
    scene.send(scene.claim(&guests[1])).await.is(200);
    scene.is_done(&guests[1]).await;
    scene.go_back_to(&old).await;
    scene.status(&guests[1]).await.is_problem(410, "completed");
    assert_eq!(scene.view().await.ready, 0);
    scene
        .send(scene.claim(&guests[1]))
        .await
        .is_problem(410, "completed");
}

pub(crate) async fn who_left_and_is_called_all_the_same_makes_way_at_the_next_drain(on: Backend) {
    let scene = Scene::open(on, json!({ "interval_seconds": 1 })).await;
    let guests = scene.guests(3).await;
    scene.is_done(&guests[0]).await;
    let old = scene.snapshot().await;
    scene.leaves(&guests[1]).await;
    scene.go_back_to(&old).await;
    wait_until(BOUND, "somebody is called", async || {
        scene.promote().await;
        scene.view().await.totals.promoted == 1
    })
    .await;
    assert_eq!(
        scene.positions(&guests[2..]).await,
        [1],
        "it was the one who had left"
    );
    scene.drain().await;
    assert_eq!(scene.view().await.ready, 0, "the slot is free");
    scene.status(&guests[1]).await.is_problem(410, "left");
    wait_until(BOUND, "the next one is called", async || {
        scene.promote().await;
        scene.status(&guests[2]).await.body["state"] == "ready"
    })
    .await;
}

/// The first visit is over, as the backup knows. A new one of the very same number is told that it is not durable, and still
/// goes by the journal.
async fn of_the_same_number(on: Backend, settings: serde_json::Value) -> (Scene, ManualClock, Guest) {
    let (scene, clock) = Scene::by_hand(on, settings).await;
    let guests = scene.guests(1).await;
    let before = scene.record(&guests[0]).await;
    clock.advance(Duration::from_millis(1_096));
    scene.is_done(&guests[0]).await;
    clock.advance(Duration::from_secs(3));
    scene.beat().await;
    let EnterOutcome::Joined {
        status: standing,
        change: Some(change),
        ..
    } = scene
        .line
        .enter(&scene.queue, guests[0].entry())
        .await
        .expect("entered")
    else {
        panic!("no place");
    };
    assert_eq!(standing.visit(), before.visit, "4096 ms later");
    scene
        .line
        .append_to_journal(&scene.queue, &change)
        .await
        .expect("in the journal");
    assert_eq!(scene.record(&guests[0]).await.state, EntryState::Completed);
    (scene, clock, guests[0].clone())
}

pub(crate) async fn a_new_session_of_the_number_of_one_that_is_over_goes_on(on: Backend) {
    let settings = json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 });
    let (scene, _, guest) = of_the_same_number(on, settings).await;
    let look = scene.status(&guest).await;
    assert_eq!(look.is(200).text("state"), "active");
    let enter = Ask::post(format!("/queues/{}/entries", scene.queue)).visitor(&guest.id);
    for (told, ask) in [
        ("claim", scene.claim(&guest)),
        ("extend", scene.extend(&guest)),
        ("enter", enter),
    ] {
        let answer = scene.send(ask).await;
        assert_eq!(answer.status, 200, "{told}: {answer:?}");
        assert_eq!(answer.text("state"), "active", "{told}");
        assert_eq!(answer.body["visit"], look.body["visit"], "{told}");
    }
    assert_eq!(scene.view().await.active, 1);
    // What went by the journal is in the backup in the end.
    scene.drain().await;
    assert_eq!(scene.record(&guest).await.state, EntryState::Active);
    scene.send(scene.consume(&guest)).await.is(200);
    scene.status(&guest).await.is_problem(410, "completed");
}

pub(crate) async fn a_new_turn_of_the_number_of_one_that_is_over_may_be_claimed(on: Backend) {
    // Nobody is let in but by a promotion.
    let settings = json!({ "capacity": 2, "batch": 1, "interval_seconds": 5 });
    let (scene, clock, guest) = of_the_same_number(on, settings).await;
    assert_eq!(scene.status(&guest).await.is(200).text("state"), "waiting");
    clock.advance(Duration::from_secs(1));
    scene.promote().await;
    assert_eq!(scene.status(&guest).await.is(200).text("state"), "ready");
    let (_, again) = scene.enters_as(&guest.id).await;
    assert_eq!(again.is(200).text("state"), "ready");
    let claimed = scene.line.claim(&scene.queue, guest.entry()).await;
    assert!(matches!(claimed, Ok(ClaimOutcome::Active { .. })), "{claimed:?}");
    scene.drain().await;
    assert_eq!(scene.status(&guest).await.is(200).text("state"), "active");
    assert_eq!(scene.view().await.active, 1);
}
