//! An operator edited an item of the table, or a clock was wrong when it was written: it has a time from the future.

use std::time::Duration;

use serde_json::json;
use vestibule_backup::Backup;
use vestibule_domain::change::{Change, Event, Version};
use vestibule_tests::{entries::now_ms, lines::Backend};

use crate::scene::Scene;

pub(crate) async fn a_version_from_the_future_ends_no_session(backend: Backend) {
    let scene = Scene::open(backend, json!({ "capacity": 2, "batch": 2 })).await;
    let guests = scene.enter_many(3).await;
    let record = scene.record(&guests[0]).await;
    let year_ahead_ms = now_ms() + 365 * 24 * 3_600_000;
    let extension = Change {
        id: record.id,
        version: Version {
            v: year_ahead_ms * 1_000,
            ..record.version
        },
        at_ms: now_ms(),
        event: Event::Extended {
            visit: record.visit(),
            session_end_ms: record.expires_at_ms.expect("active") + 1_000,
        },
        source: None,
    };
    let written = scene.backup.put_change(&scene.partition(), &extension).await;
    written.expect("written");
    scene.lose_queue().await;
    scene
        .with_promoters(1, async { scene.wait_until_restored().await })
        .await;

    for guest in &guests[..2] {
        let status = scene.status_once_served(guest).await;
        assert_eq!(status.text("state"), "active", "{status:?}");
    }
    let view = scene.view().await;
    let ahead = Duration::from_millis(view.now_ms.saturating_sub(now_ms()));
    assert!(ahead < Duration::from_mins(1), "line time is ahead by {ahead:?}");
    assert!(!view.clocks.apart);
}
