//! Single queues that have been empty for a while are parked, in paused time.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::Backup;
use vestibule_domain::id::QueueId;
use vestibule_engine::sync::{SettingsPolicy, SyncOutcome, build_configuration};
use vestibule_faults::{Fault, Faults};
use vestibule_line::{Arrival, EntryLookup, Line};

use super::{
    Fixture, entry_id,
    slow_backup::{paced_line, paced_server},
};

/// Longer than until an empty queue is parked.
const UNTIL_PARKED: Duration = Duration::from_secs(10);

/// A promoter that runs as long as `work`, which gets the faults of its line.
async fn run_beside<T>(scene: &Fixture, work: impl Future<Output = T>) -> T {
    let promoter = scene.promoter();
    let (done, mut is_done) = tokio::sync::oneshot::channel::<()>();
    let run = promoter.run(async move {
        let _ = (&mut is_done).await;
    });
    let work = async move {
        let result = work.await;
        drop(done);
        result
    };
    let ((), result) = tokio::join!(run, work);
    result
}

/// A line whose calls are counted, in paused time.
fn counted_scene() -> (Fixture, Faults) {
    let faults = Faults::default();
    let line = paced_line().with_tap(Arc::new(faults.clone()));
    (Fixture::new(line), faults)
}

fn ticks(faults: &Faults, queue: &QueueId) -> u64 {
    faults.calls_for_queue("promote", queue.as_str())
}

/// Waits in paused time until the promoter has parked the queue.
async fn wait_until_parked(line: &Line, queue: &QueueId) {
    sleep(UNTIL_PARKED).await;
    let view = line.queue_view(queue).await.expect("seen");
    assert_eq!(view.heartbeat_ms, 0, "{queue} is parked");
}

#[tokio::test]
async fn idle_queue_is_ticked_once_in_two_minutes() {
    let (scene, faults) = counted_scene();
    let line = &scene.line;
    let (idle, _) = scene.create_queue("idle", json!({})).await;
    let (busy, partition) = scene.create_queue("busy", json!({ "paused": true })).await;
    scene.enter(&partition, "a").await;
    tokio::time::pause();
    run_beside(&scene, async {
        wait_until_parked(line, &idle).await;
        let before = [ticks(&faults, &idle), ticks(&faults, &busy)];
        sleep(Duration::from_mins(10)).await;
        let idle_ticks = ticks(&faults, &idle) - before[0];
        assert!((4..=5).contains(&idle_ticks), "{idle_ticks} ticks in 600 rounds");
        let busy_ticks = ticks(&faults, &busy) - before[1];
        assert!(
            busy_ticks >= 590,
            "{busy_ticks}: the busy queue is ticked every second"
        );
        assert_eq!(
            line.queue_view(&idle).await.expect("seen").heartbeat_ms,
            0,
            "a rare tick writes no heartbeat"
        );
    })
    .await;
}

#[tokio::test]
async fn ticks_of_parked_queues_are_spread_over_the_rounds() {
    let (scene, faults) = counted_scene();
    let line = &scene.line;
    let mut queues = Vec::new();
    for n in 0..60 {
        queues.push(scene.create_queue(&format!("q{n}"), json!({})).await.0);
    }
    tokio::time::pause();
    run_beside(&scene, async {
        for queue in &queues {
            while line.queue_view(queue).await.expect("seen").heartbeat_ms > 0 {
                sleep(Duration::from_secs(1)).await;
            }
        }
        // All of them are parked by now, and the first rare ticks may have run.
        sleep(UNTIL_PARKED).await;
        for _ in 0..60 {
            let before = faults.calls("promote");
            sleep(Duration::from_secs(1)).await;
            let in_round = faults.calls("promote") - before;
            assert!(
                in_round <= 6,
                "{in_round} of 60 parked queues are ticked in one second"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn edit_by_hand_is_in_force_in_seconds_on_a_parked_queue() {
    let (scene, _faults) = counted_scene();
    let line = &scene.line;
    let (queue, _) = scene.create_queue("q", json!({ "capacity": 7 })).await;
    tokio::time::pause();
    run_beside(&scene, async {
        wait_until_parked(line, &queue).await;
        for capacity in [8, 9] {
            scene
                .replace_stored_settings(&queue, json!({ "capacity": capacity }))
                .await;
            // The listing itself runs in real time, on a thread.
            let mut seconds = 0;
            while line
                .queue_view(&queue)
                .await
                .expect("seen")
                .configuration
                .settings
                .capacity
                != capacity
            {
                sleep(Duration::from_millis(500)).await;
                seconds += 1;
                assert!(seconds < 60, "the edit never came into force");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn settings_of_a_parked_queue_are_read_only_when_changed() {
    let (scene, faults) = counted_scene();
    let line = &scene.line;
    let (queue, _) = scene.create_queue("q", json!({})).await;
    tokio::time::pause();
    run_beside(&scene, async {
        wait_until_parked(line, &queue).await;
        let syncs = || faults.calls_for_queue("configure", queue.as_str());
        let before = syncs();
        sleep(Duration::from_mins(10)).await;
        let synced = syncs() - before;
        assert!(
            (4..=6).contains(&synced),
            "{synced} syncs in ten minutes without a change"
        );
    })
    .await;
}

#[tokio::test]
async fn visitor_in_a_parked_queue_is_served_by_the_promoter() {
    let (scene, faults) = counted_scene();
    let line = &scene.line;
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 3 });
    let (queue, _) = scene.create_queue("q", settings).await;
    tokio::time::pause();
    run_beside(&scene, async {
        wait_until_parked(line, &queue).await;
        for visitor in ["a", "b"] {
            let id = entry_id(&queue, visitor);
            line.enter(&queue, id, Arrival::Ordinary).await.expect("entered");
            line.check_in(&queue, id).await.expect("an answer");
        }
        let before = ticks(&faults, &queue);
        sleep(Duration::from_secs(10)).await;
        assert!(
            ticks(&faults, &queue) - before >= 6,
            "the promoter sees the visitors within seconds, without their requests"
        );
        let view = line.queue_view(&queue).await.expect("seen");
        assert!(view.heartbeat_ms > 0, "the queue is not parked any more");
        assert_eq!(view.totals.promoted, 1, "the session of the first visitor ended");
        // The second visitor does not claim. The empty queue is parked again.
        sleep(Duration::from_mins(2)).await;
        assert_eq!(line.queue_view(&queue).await.expect("seen").heartbeat_ms, 0);
    })
    .await;
}

#[tokio::test]
async fn lost_parked_queues_are_restored_in_seconds() {
    let server = paced_server(Instant::now());
    let scene = Fixture::new(Line::on_embedded(server.clone()));
    let line = &scene.line;
    let mut queues = Vec::new();
    for name in ["a", "b", "c"] {
        queues.push(scene.create_queue(name, json!({})).await.0);
    }
    tokio::time::pause();
    run_beside(&scene, async {
        for queue in &queues {
            wait_until_parked(line, queue).await;
        }
        server.lose_keys();
        for queue in &queues {
            let mut polls = 0;
            while line.queue_view(queue).await.is_err() {
                sleep(Duration::from_millis(500)).await;
                polls += 1;
                assert!(polls < 60, "{queue} is not restored");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn parked_queue_that_went_back_gets_a_check() {
    let server = paced_server(Instant::now());
    let scene = Fixture::new(Line::on_embedded(server.clone()));
    let line = &scene.line;
    let (queue, partition) = scene.create_queue("q", json!({})).await;
    tokio::time::pause();
    run_beside(&scene, async {
        wait_until_parked(line, &queue).await;
        let id = scene.enter(&partition, "a").await;
        // No other call comes between these two, because each is answered at once.
        server.lose_keys();
        create_as_stored(&scene, &queue).await;
        let mut polls = 0;
        while !matches!(line.status(&queue, id).await, Ok(EntryLookup::Found(_))) {
            sleep(Duration::from_millis(500)).await;
            polls += 1;
            assert!(polls < 200, "the visitor's entry is not back");
        }
    })
    .await;
}

/// Creates the queue empty, at the epoch in the backup, as a replica has it that missed all that followed.
async fn create_as_stored(scene: &Fixture, queue: &QueueId) {
    let stored = scene
        .backup
        .read_queue(queue)
        .await
        .expect("read")
        .expect("is there");
    let configuration = build_configuration(&stored, SettingsPolicy::default()).expect("right settings");
    scene
        .line
        .configure(queue, &configuration, true)
        .await
        .expect("configured");
}

#[tokio::test]
async fn queue_with_refused_settings_is_not_parked() {
    let (scene, _faults) = counted_scene();
    let line = &scene.line;
    let (queue, _) = scene.create_queue("q", json!({})).await;
    scene
        .replace_stored_settings(&queue, json!({ "capacity": 0 }))
        .await;
    assert!(matches!(
        scene.sync(&queue).await,
        Ok(SyncOutcome::Refused { .. })
    ));
    tokio::time::pause();
    run_beside(&scene, async {
        sleep(Duration::from_secs(30)).await;
        assert!(line.queue_view(&queue).await.expect("seen").heartbeat_ms > 0);
    })
    .await;
}

#[tokio::test]
async fn outage_of_the_line_leaves_no_queue_parked_for_long() {
    let (scene, faults) = counted_scene();
    let line = &scene.line;
    let (queue, _) = scene.create_queue("q", json!({})).await;
    tokio::time::pause();
    run_beside(&scene, async {
        wait_until_parked(line, &queue).await;
        faults.fail_for_queue("promote", "q", Fault::Unavailable);
        sleep(Duration::from_secs(130)).await;
        let before = ticks(&faults, &queue);
        sleep(Duration::from_secs(10)).await;
        assert!(
            ticks(&faults, &queue) - before >= 8,
            "the promoter tries every second"
        );
    })
    .await;
}
