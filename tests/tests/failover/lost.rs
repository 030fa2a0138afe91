//! A Redis that has lost everything: nobody is told anything wrong, and everybody is where they were a moment later.

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;
use vestibule_backup::{Backup, Lease, LeaseOutcome};
use vestibule_line::{LeaveReason, Line, RestoredEntries};
use vestibule_tests::{
    edge::{Answer, Ask, BOUND},
    lines::Backend,
    waiting::wait_until,
};

use crate::scene::Scene;

/// Two at a time, all the time.
fn busy() -> serde_json::Value {
    json!({ "capacity": 4, "batch": 2, "interval_seconds": 1 })
}

fn is_recovering(answer: &Answer) {
    answer.is_problem(503, "recovering");
    assert!(!answer.header("retry-after").is_empty());
}

/// Waits until the line has the queue again.
async fn put_back(scene: &Scene) {
    wait_until(BOUND, "the queue is put back", async || {
        scene.line.queue_view(&scene.queue).await.is_ok()
    })
    .await;
}

pub(crate) async fn everybody_is_where_they_were_and_the_line_moves_on(on: Backend) {
    let scene = Scene::open(on, busy()).await;
    let guests = scene.guests(12).await;
    // One left, one is done, two are called and one of them comes.
    scene
        .send(Ask::delete(scene.path(&guests[9])).visitor(&guests[9].id))
        .await
        .is(204);
    for done in &guests[..2] {
        scene
            .send(scene.service(done, "complete", &json!({})))
            .await
            .is(204);
    }
    wait_until(BOUND, "two are called", async || {
        scene.promote().await;
        scene.view().await.ready == 2
    })
    .await;
    scene.drain().await;
    let claim = Ask::post(format!("{}/claim", scene.path(&guests[2])));
    let claimed = scene.send(claim.visitor(&guests[2].id)).await;
    claimed.is(200);
    let before = join_all(guests.iter().map(|guest| scene.status(guest))).await;
    scene.lose_everything().await;

    // Nobody hears that there is no such entry, nor gets another place.
    is_recovering(&scene.status(&guests[5]).await);
    for id in [&guests[5].id, &Uuid::new_v4().to_string()] {
        let enter = Ask::post(format!("/queues/{}/entries", scene.queue));
        is_recovering(&scene.send(enter.visitor(id)).await);
    }
    let question = json!({ "pass": claimed.text("pass") });
    is_recovering(&scene.send(scene.service(&guests[2], "validate", &question)).await);

    scene
        .beside_promoters(2, async {
            put_back(&scene).await;
            let view = scene.view().await;
            assert_eq!(view.version.epoch, 2, "one of the two put it back, once");
            assert_eq!(
                view.totals.promoted, 0,
                "and nobody was called by the same stroke"
            );
        })
        .await;
    for (guest, before) in guests.iter().zip(&before) {
        let now = scene.settled(guest).await;
        assert_eq!(now.status, before.status, "{before:?} {now:?}");
        for field in ["token", "visit", "joined_at_ms", "state", "code"] {
            // Who waits may have been called meanwhile.
            if field == "state" && before.body[field] == "waiting" {
                continue;
            }
            assert_eq!(
                now.body[field], before.body[field],
                "{field} of {before:?} {now:?}"
            );
        }
    }
    scene
        .send(scene.service(&guests[2], "validate", &question))
        .await
        .is(200);
    scene
        .beside_promoters(1, async {
            wait_until(BOUND, "the line moves on", async || {
                scene.view().await.totals.promoted > 0
            })
            .await;
        })
        .await;
    assert_ne!(
        scene.settled(&guests[4]).await.body["state"],
        "waiting",
        "the head of the line is next"
    );
}

pub(crate) async fn of_many_who_put_it_back_one_does(on: Backend) {
    let scene = Scene::open(on, busy()).await;
    let guests = scene.guests(30).await;
    let before = scene.positions(&guests[4..]).await;
    scene.lose_everything().await;
    scene
        .beside_promoters(6, async {
            put_back(&scene).await;
            sleep(std::time::Duration::from_millis(500)).await;
        })
        .await;
    let (view, stored) = (scene.view().await, scene.stored().await);
    assert_eq!(
        (view.version.epoch, stored.metadata.epoch, stored.metadata.lease),
        (2, 2, None)
    );
    let moved = view.totals.promoted;
    let waiting = &guests[4 + usize::try_from(moved).expect("few")..];
    let now = scene.positions(waiting).await;
    assert_eq!(now, before[..waiting.len()]);
}

pub(crate) async fn a_restorer_that_died_is_waited_for_and_no_longer(on: Backend) {
    let scene = Scene::open(on, busy()).await;
    let guests = scene.guests(6).await;
    scene.lose_everything().await;
    // It took the lease, dropped what there was, and died.
    let mut lease = Lease::new(Uuid::new_v4());
    lease.until_ms -= 8_000;
    let leased = scene.backup.take_lease(&scene.queue, 1, lease, 0).await;
    let Ok(LeaseOutcome::Taken(part)) = leased else {
        panic!("{leased:?}");
    };
    assert!(
        scene
            .line
            .drop_queue(&scene.queue, part.epoch)
            .await
            .expect("forgotten")
    );
    let since = Instant::now();
    scene
        .beside_promoters(1, async {
            timeout(BOUND, put_back(&scene)).await.expect("put back");
        })
        .await;
    assert!(since.elapsed().as_millis() >= 1_500, "not while the lease lasts");
    assert_eq!(scene.view().await.version.epoch, 3);

    // It was not dead: what it does now is in vain.
    let stored = scene.stored().await;
    let mut late = stored.configuration(scene.view().await.configuration.settings);
    late.epoch = part.epoch;
    let places = RestoredEntries::default();
    let answer = scene.line.restore(&scene.queue, &late, 0, places).await;
    assert_eq!(
        answer.expect("an answer"),
        vestibule_line::ConfigureOutcome::Superseded
    );
    assert!(
        !scene
            .backup
            .renew_lease(&scene.queue, part.epoch, lease)
            .await
            .expect("an answer")
    );
    assert_eq!(scene.settled(&guests[5]).await.status, 200);
}

pub(crate) async fn what_was_written_too_late_to_be_read_is_found(on: Backend) {
    let scene = Scene::open(on, busy()).await;
    let guests = scene.guests(6).await;
    // Entered in the line that is lost now; the write comes when the new one stands.
    let late = vestibule_tests::entries::fresh_id();
    let entered = scene.line.enter(&scene.queue, late).await.expect("entered");
    let vestibule_line::EnterOutcome::Joined {
        change: Some(change), ..
    } = entered
    else {
        panic!("{entered:?}");
    };
    scene.lose_everything().await;
    scene.beside_promoters(1, put_back(&scene)).await;
    let written = scene.backup.put_change(&scene.shelf(), &change).await;
    written.expect("written");
    let answer = scene
        .send(Ask::get(format!("/queues/{}/entries/{late}", scene.queue)))
        .await;
    assert_eq!(answer.is(200).text("state"), "waiting");
    assert_eq!(scene.record_of(late).await.version.epoch, 2);
    assert_eq!(scene.settled(&guests[5]).await.status, 200);
}

pub(crate) async fn what_the_backup_did_not_have_yet_is_salvaged(on: Backend) {
    let scene = Scene::open(on, busy()).await;
    let guests = scene.guests(8).await;
    // Gone, and nobody wrote it: whoever did so was killed.
    let departed = scene
        .line
        .leave(&scene.queue, guests[5].entry(), None, LeaveReason::Leave)
        .await;
    departed.expect("left");
    scene
        .send(scene.service(&guests[0], "complete", &json!({})))
        .await
        .is(204);
    wait_until(BOUND, "two are called", async || {
        scene.promote().await;
        scene.view().await.totals.promoted >= 1
    })
    .await;
    let before = scene.view().await;
    assert!(before.journal_len > 0 && before.unsettled_ends > 0, "{before:?}");
    let epoch = scene.stored().await.metadata.epoch;
    let order = json!({ "op": "restore", "queue": scene.queue.as_str(), "confirm": scene.queue.as_str(), "epoch": epoch });
    let restored = scene.order(order).await;
    assert_eq!(restored["epoch"], 2);
    assert!(restored["flushed_changes"].as_u64() >= Some(2), "{restored}");
    let after = scene.view().await;
    assert_eq!((after.journal_len, after.unsettled_ends), (0, 0));
    assert_eq!(
        (after.waiting, after.ready, after.active),
        (before.waiting, before.ready, before.active)
    );
    scene.settled(&guests[5]).await.is_problem(410, "left");
}
