//! The promoter's loop. The tests pause time if only timing matters.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::Backup;
use vestibule_line::Line;
use vestibule_line_memory::MemoryLine;

use super::{
    Scene,
    faulty::{Fault, Faulty},
    id, map, memory, until,
};

/// Runs the loop in paused time with a broken, a slow and a sound queue. Returns how often each of them was
/// ticked.
async fn ticks_in(run: Duration) -> (u64, u64, u64) {
    let line = Arc::new(Faulty::new(MemoryLine::new()));
    let scene = Scene::new(line.clone());
    for name in ["broken", "slow", "sound"] {
        scene.queue(name, json!({})).await;
    }
    line.inject("broken", Fault::Broken);
    line.inject("slow", Fault::Slow(Duration::from_hours(1)));
    tokio::time::pause();
    scene.promoter().run(sleep(run)).await;
    (line.calls("broken"), line.calls("slow"), line.calls("sound"))
}

#[tokio::test]
async fn a_broken_and_a_slow_queue_delay_nobody() {
    let (broken, slow, sound) = ticks_in(Duration::from_millis(30_500)).await;
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
async fn the_loop_ends_on_time_whatever_is_under_way() {
    let line = Arc::new(Faulty::new(MemoryLine::new()));
    let scene = Scene::new(line.clone());
    scene.queue("slow", json!({})).await;
    line.inject("slow", Fault::Slow(Duration::from_hours(1)));
    tokio::time::pause();
    let started = Instant::now();
    scene.promoter().run(sleep(Duration::from_secs(10))).await;
    assert!(
        started.elapsed() < Duration::from_secs(12),
        "{:?}",
        started.elapsed()
    );
    let calls = line.calls("slow");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(line.calls("slow"), calls, "no step runs after the end");
}

#[tokio::test]
async fn the_loop_takes_edited_settings_over_and_puts_lost_queues_back() {
    let line = Arc::new(Faulty::new(MemoryLine::new()));
    let scene = Scene::new(line.clone());
    let (queue, stored) = scene.store("q", json!({ "capacity": 7 })).await;
    let promoter = scene.promoter();
    let edit_and_lose = async {
        until(async || line.view(&queue).await.is_ok_and(|view| view.heartbeat_ms > 0)).await;
        let nine = map(json!({ "capacity": 9 }));
        assert!(
            scene
                .backup
                .replace_settings(&queue, &stored.settings, &nine)
                .await
                .expect("written")
                .is_some()
        );
        until(async || {
            line.view(&queue)
                .await
                .is_ok_and(|view| view.configuration.settings.capacity == 9)
        })
        .await;
        line.lose_everything();
        until(async || {
            line.view(&queue)
                .await
                .is_ok_and(|view| view.configuration.settings.capacity == 9)
        })
        .await;
    };
    promoter.run(edit_and_lose).await;
}

#[tokio::test]
async fn the_end_takes_every_journal_to_the_backup() {
    let scene = Scene::new(memory());
    let (queue, shelf) = scene.queue("q", json!({ "capacity": 1, "batch": 1 })).await;
    let second = id(&queue, "b");
    let change = scene.enter_unwritten(&queue, "b").await;
    scene.line.record(&queue, &change).await.expect("recorded");
    let promoter = scene.promoter();
    promoter.sync_all().await.expect("listed");
    promoter.settle_all().await.expect("settled");
    assert_eq!(scene.line.view(&queue).await.expect("seen").journal, 0);
    assert!(scene.backup.entry(&shelf, second).await.expect("read").is_some());
}
