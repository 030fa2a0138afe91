//! A Redis that lost everything: no visitor gets a wrong answer, and a moment later every entry is where it
//! was.

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;
use vestibule_backup::{Backup, Lease, LeaseOutcome};
use vestibule_domain::id::IdKey;
use vestibule_line::{Arrival, LeaveReason, RestoredEntries};
use vestibule_tests::{
    functions::root_key,
    in_process::{ApiRequest, ApiResponse, BOUND},
    lines::Backend,
    waiting::wait_until,
};

use crate::scene::Scene;

/// Two promotions a second.
fn two_a_second() -> serde_json::Value {
    json!({ "capacity": 4, "batch": 2, "interval_seconds": 1 })
}

fn expect_recovering(answer: &ApiResponse) {
    answer.expect_problem(503, "recovering");
    assert!(!answer.header("retry-after").is_empty());
}

pub(crate) async fn every_entry_returns_and_promotion_continues(backend: Backend) {
    let scene = Scene::open(backend, two_a_second()).await;
    let guests = scene.enter_many(12).await;
    // One visitor leaves, two complete, two are promoted and one of these claims.
    scene.leave(&guests[9]).await;
    for done in &guests[..2] {
        scene.complete(done).await;
    }
    wait_until(BOUND, "two entries are promoted", async || {
        scene.promote().await;
        scene.view().await.ready == 2
    })
    .await;
    scene.flush().await;
    let claimed = scene.send(guests[2].claim()).await;
    claimed.expect_status(200);
    let before = join_all(guests.iter().map(|guest| scene.status(guest))).await;
    scene.lose_queue().await;

    // No request is answered that the entry does not exist, and no visitor gets another place.
    expect_recovering(&scene.status(&guests[5]).await);
    for id in [&guests[5].id, &Uuid::new_v4().to_string()] {
        let enter = ApiRequest::post(format!("/queues/{}/entries", scene.queue));
        expect_recovering(&scene.send(enter.visitor(id)).await);
    }
    let body = json!({ "pass": claimed.text("pass") });
    expect_recovering(&scene.send(guests[2].of_service("validate", &body)).await);

    scene
        .with_promoters(2, async {
            scene.wait_until_restored().await;
            let view = scene.view().await;
            assert_eq!(
                view.version.epoch, 2,
                "one of the two promoters restored the queue, once"
            );
            assert_eq!(view.totals.promoted, 0, "the restore promoted no entry");
        })
        .await;
    for (guest, before) in guests.iter().zip(&before) {
        let now = scene.status_once_served(guest).await;
        assert_eq!(now.status, before.status, "{before:?} {now:?}");
        for field in ["token", "visit", "joined_at_ms", "state", "code"] {
            // A waiting entry may have been promoted meanwhile.
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
        .send(guests[2].of_service("validate", &body))
        .await
        .expect_status(200);
    scene
        .with_promoters(1, async {
            wait_until(BOUND, "promotion continues", async || {
                scene.view().await.totals.promoted > 0
            })
            .await;
        })
        .await;
    assert_ne!(
        scene.status_once_served(&guests[4]).await.body["state"],
        "waiting",
        "the head of the line is promoted first"
    );
}

pub(crate) async fn one_of_many_promoters_restores_the_queue(backend: Backend) {
    let scene = Scene::open(backend, two_a_second()).await;
    let guests = scene.enter_many(30).await;
    let before = scene.positions(&guests[4..]).await;
    scene.lose_queue().await;
    scene
        .with_promoters(6, async {
            scene.wait_until_restored().await;
            sleep(std::time::Duration::from_millis(500)).await;
        })
        .await;
    scene.send_heartbeat().await;
    let (view, stored) = (scene.view().await, scene.stored_queue().await);
    assert_eq!(
        (view.version.epoch, stored.metadata.epoch, stored.metadata.lease),
        (2, 2, None)
    );
    let moved = view.totals.promoted;
    let waiting = &guests[4 + usize::try_from(moved).expect("few")..];
    let mut now = Vec::new();
    for guest in waiting {
        // Without a heartbeat, a status request would tick the queue, and the positions would change.
        scene.send_heartbeat().await;
        now.extend(scene.positions(std::slice::from_ref(guest)).await);
    }
    assert_eq!(now, before[..waiting.len()]);
}

pub(crate) async fn a_restore_lease_of_a_dead_process_expires(backend: Backend) {
    let scene = Scene::open(backend, two_a_second()).await;
    let guests = scene.enter_many(6).await;
    scene.lose_queue().await;
    // A process took the lease, dropped the queue and died.
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
            .expect("drop_queue")
    );
    let since = Instant::now();
    scene
        .with_promoters(1, async {
            timeout(BOUND, scene.wait_until_restored())
                .await
                .expect("the queue is restored in time");
        })
        .await;
    assert!(
        since.elapsed().as_millis() >= 1_500,
        "no promoter restores the queue before the lease ends"
    );
    assert_eq!(scene.view().await.version.epoch, 3);

    // The process was only slow: its restore is now refused.
    let stored = scene.stored_queue().await;
    let mut late = stored.configuration(scene.view().await.view.configuration.settings);
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
    assert_eq!(scene.status_once_served(&guests[5]).await.status, 200);
}

pub(crate) async fn an_entry_written_after_the_restore_is_found(backend: Backend) {
    let scene = Scene::open(backend, two_a_second()).await;
    let guests = scene.enter_many(6).await;
    // The visitor entered before the line was lost. The write to the backup arrives after the restore.
    let late = vestibule_tests::entries::fresh_id();
    let entered = scene
        .line
        .enter(&scene.queue, late, Arrival::Ordinary)
        .await
        .expect("entered");
    let vestibule_line::EnterOutcome::Joined {
        change: Some(change), ..
    } = entered
    else {
        panic!("{entered:?}");
    };
    scene.lose_queue().await;
    scene.with_promoters(1, scene.wait_until_restored()).await;
    let written = scene.backup.put_change(&scene.partition(), &change).await;
    written.expect("written");
    let salt = scene.view().await.configuration.salt;
    let ids = IdKey::derive_for_queue(&root_key(), &scene.queue, &salt).expect("the key of the salt");
    let answer = scene
        .send(
            ApiRequest::get(format!("/queues/{}/entries/{late}", scene.queue))
                .visitor(ids.visitor_secret(late).reveal()),
        )
        .await;
    assert_eq!(answer.expect_status(200).text("state"), "waiting");
    assert_eq!(scene.record_of(late).await.fact, change.fact());
    assert_eq!(scene.status_once_served(&guests[5]).await.status, 200);
}

pub(crate) async fn a_restore_salvages_changes_that_the_backup_lacks(backend: Backend) {
    let scene = Scene::open(backend, two_a_second()).await;
    let guests = scene.enter_many(8).await;
    // The visitor leaves, and the process is killed before it writes the end.
    let departed = scene
        .line
        .leave(&scene.queue, guests[5].entry_id(), None, LeaveReason::Leave)
        .await;
    departed.expect("left");
    scene.complete(&guests[0]).await;
    wait_until(BOUND, "an entry is promoted", async || {
        scene.promote().await;
        scene.view().await.totals.promoted >= 1
    })
    .await;
    let before = scene.view().await;
    assert!(before.journal_len > 0 && before.unsettled_ends > 0, "{before:?}");
    let restored = scene.run_confirmed("restore").await;
    assert_eq!(restored["epoch"], 2);
    assert!(restored["flushed_changes"].as_u64() >= Some(2), "{restored}");
    let after = scene.view().await;
    assert_eq!((after.journal_len, after.unsettled_ends), (0, 0));
    assert_eq!(
        (after.waiting, after.ready, after.active),
        (before.waiting, before.ready, before.active)
    );
    scene
        .status_once_served(&guests[5])
        .await
        .expect_problem(410, "left");
}

/// Redis may evict a key under the wrong eviction policy. Without its state, a queue is lost as a whole.
pub(crate) async fn losing_only_the_state_restores_the_queue(backend: Backend) {
    let scene = Scene::open(backend, two_a_second()).await;
    let guests = scene.enter_many(8).await;
    let removed: Result<u64, _> = redis::cmd("DEL")
        .arg(scene.key("state"))
        .query_async(&mut scene.connection.clone())
        .await;
    assert_eq!(removed.expect("Redis answers"), 1);
    let enter = ApiRequest::post(format!("/queues/{}/entries", scene.queue));
    expect_recovering(&scene.send(enter.visitor(&Uuid::new_v4().to_string())).await);

    scene
        .with_promoters(1, async { scene.wait_until_restored().await })
        .await;
    let active = scene.status_once_served(&guests[0]).await;
    assert_eq!(active.expect_status(200).text("state"), "active");
    let last = scene.status_once_served(&guests[7]).await;
    assert_eq!(last.expect_status(200).text("state"), "waiting");
}
