//! The promoter's loop. The tests pause time if only timing matters.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::Backup;
use vestibule_faults::{Fault, Faults};
use vestibule_line::{EmbeddedServer, Line};
use vestibule_telemetry::clock::system_clock;

use super::{Fixture, entry_id, json_map, memory_line, wait_until};

/// Runs the loop in paused time with a broken, a slow and a sound queue. Returns how often each of
/// them was ticked.
async fn count_ticks(run: Duration) -> (u64, u64, u64) {
    let faults = Faults::default();
    let scene = Fixture::new(Line::in_process().with_tap(Arc::new(faults.clone())));
    for name in ["broken", "slow", "sound"] {
        let (_, partition) = scene.create_queue(name, json!({ "paused": true })).await;
        // An empty queue is ticked rarely.
        scene.enter(&partition, "a").await;
    }
    faults.fail_for_queue("promote", "broken", Fault::Unavailable);
    faults.delay_for_queue("promote", "slow", Duration::from_hours(1));
    tokio::time::pause();
    scene.promoter().run(sleep(run)).await;
    (
        faults.calls_for_queue("promote", "broken"),
        faults.calls_for_queue("promote", "slow"),
        faults.calls_for_queue("promote", "sound"),
    )
}

#[tokio::test]
async fn broken_and_slow_queues_delay_no_other_queue() {
    let (broken, slow, sound) = count_ticks(Duration::from_millis(30_500)).await;
    assert!(
        (28..=30).contains(&sound),
        "one tick a second, the first after a listing: {sound}"
    );
    assert_eq!(broken, sound, "a broken queue is tried every second as well");
    assert!(
        (4..=6).contains(&slow),
        "given up after 5 s, passed over meanwhile: {slow}"
    );
}

#[tokio::test]
async fn run_ends_on_time_although_a_step_hangs() {
    let faults = Faults::default();
    let scene = Fixture::new(Line::in_process().with_tap(Arc::new(faults.clone())));
    scene.create_queue("slow", json!({})).await;
    faults.delay_for_queue("promote", "slow", Duration::from_hours(1));
    tokio::time::pause();
    let started = Instant::now();
    scene.promoter().run(sleep(Duration::from_secs(10))).await;
    assert!(
        started.elapsed() < Duration::from_secs(12),
        "{:?}",
        started.elapsed()
    );
    let calls = faults.calls_for_queue("promote", "slow");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(
        faults.calls_for_queue("promote", "slow"),
        calls,
        "no step runs after the end"
    );
}

#[tokio::test]
async fn run_applies_edits_and_restores_lost_queues() {
    let server = EmbeddedServer::new(system_clock());
    let scene = Fixture::new(Line::on_embedded(server.clone()));
    let line = &scene.line;
    let (queue, stored) = scene.store_queue("q", json!({ "capacity": 7 })).await;
    let promoter = scene.promoter();
    let edit_and_lose = async {
        wait_until(async || {
            line.queue_view(&queue)
                .await
                .is_ok_and(|view| view.heartbeat_ms > 0)
        })
        .await;
        let nine = json_map(json!({ "capacity": 9 }));
        assert!(
            scene
                .backup
                .replace_settings(&queue, &stored.settings, &nine)
                .await
                .expect("written")
                .is_some()
        );
        wait_until(async || {
            line.queue_view(&queue)
                .await
                .is_ok_and(|view| view.configuration.settings.capacity == 9)
        })
        .await;
        server.lose_keys();
        wait_until(async || {
            line.queue_view(&queue)
                .await
                .is_ok_and(|view| view.configuration.settings.capacity == 9)
        })
        .await;
    };
    promoter.run(edit_and_lose).await;
}

#[tokio::test]
async fn flush_all_writes_every_journal_to_the_backup() {
    let scene = Fixture::new(memory_line());
    let (queue, partition) = scene
        .create_queue("q", json!({ "capacity": 1, "batch": 1 }))
        .await;
    let second = entry_id(&queue, "b");
    let change = scene.enter_unwritten(&queue, "b").await;
    scene
        .line
        .append_to_journal(&queue, &change)
        .await
        .expect("recorded");
    let promoter = scene.promoter();
    promoter.sync_all().await.expect("listed");
    promoter.flush_all().await.expect("settled");
    assert_eq!(scene.line.queue_view(&queue).await.expect("seen").journal_len, 0);
    assert!(
        scene
            .backup
            .read_entry(&partition, second)
            .await
            .expect("read")
            .is_some()
    );
}
