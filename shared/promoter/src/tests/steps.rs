//! Single steps: the results of a tick and of a sync.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_backup::{Backup, SettingsRevision};
use vestibule_domain::{
    configuration::Configuration, pace::LimitedBy, settings::Settings, state::EntryState,
};
use vestibule_engine::{
    flush::flush_journal,
    sync::{SettingsPolicy, SyncError, SyncOutcome, apply_configuration, build_configuration},
    tick::tick,
    tick_history::TickHistory,
};
use vestibule_line::{ConfigureOutcome, LineError};

use super::{Fixture, json_map, memory_line};

#[tokio::test]
async fn tick_promotes_and_flush_writes_the_journal() {
    let scene = Fixture::new(memory_line());
    let settings = json!({ "capacity": 2, "batch": 5, "paused": true });
    let (queue, partition) = scene.create_queue("q", settings).await;
    let mut ids = Vec::new();
    for visitor in ["a", "b", "c"] {
        ids.push(scene.enter(&partition, visitor).await);
    }
    let stored = scene
        .backup
        .read_queue(&queue)
        .await
        .expect("read")
        .expect("is there");
    let open = json_map(json!({ "capacity": 2, "batch": 5 }));
    assert!(
        scene
            .backup
            .replace_settings(&queue, &stored.settings, &open)
            .await
            .expect("replaced")
            .is_some()
    );
    scene.sync(&queue).await.expect("synced");

    let ticked = tick(&scene.line, &queue, None, &TickHistory::default())
        .await
        .expect("ticked");

    assert_eq!((ticked.promoted, ticked.waiting, ticked.ready), (2, 1, 2));
    assert_eq!(ticked.limited_by, LimitedBy::Capacity);
    let until = Instant::now() + Duration::from_secs(30);
    let flushed = flush_journal(&scene.line, &*scene.backup, &partition, 10, until).await;
    assert_eq!(flushed.expect("flushed").changes, 2);
    assert_eq!(scene.line.queue_view(&queue).await.expect("seen").journal_len, 0);
    for (id, state) in ids
        .into_iter()
        .zip([EntryState::Ready, EntryState::Ready, EntryState::Waiting])
    {
        let record = scene
            .backup
            .read_entry(&partition, id)
            .await
            .expect("read")
            .expect("is there");
        assert_eq!(record.state, state);
    }
}

#[tokio::test]
async fn tick_of_an_unknown_queue_fails() {
    let scene = Fixture::new(memory_line());
    let (queue, _) = scene.store_queue("q", json!({})).await;
    let error = tick(&scene.line, &queue, None, &TickHistory::default())
        .await
        .expect_err("lost");
    assert!(matches!(error, LineError::QueueNotFound), "{error}");
}

#[tokio::test]
async fn valid_edits_reach_the_line_and_invalid_ones_do_not() {
    let scene = Fixture::new(memory_line());
    let (queue, _) = scene.create_queue("q", json!({ "capacity": 7 })).await;
    let edit = async |settings: Value| {
        let stored = scene
            .backup
            .read_queue(&queue)
            .await
            .expect("read")
            .expect("is there");
        assert!(
            scene
                .backup
                .replace_settings(&queue, &stored.settings, &json_map(settings))
                .await
                .expect("written")
                .is_some()
        );
        scene.sync(&queue).await.expect("synced")
    };
    let in_force = async || {
        scene
            .line
            .queue_view(&queue)
            .await
            .expect("seen")
            .view
            .configuration
    };

    let synced = edit(json!({ "capacity": "9" })).await;
    assert!(
        matches!(
            synced,
            SyncOutcome::InForce { put, .. } if put.outcome == ConfigureOutcome::Changed
        ),
        "{synced:?}"
    );
    let right = in_force().await;
    assert_eq!(right.settings.capacity, 9);
    assert_eq!(right.revision, SettingsRevision::of(&right.settings).as_str());

    for (wrong, field) in [
        (json!({ "capacity": 0 }), "capacity"),
        (json!({ "batsh": 1 }), "batsh"),
        (
            json!({ "trust_client_visitor_id": true }),
            "trust_client_visitor_id",
        ),
    ] {
        match edit(wrong).await {
            SyncOutcome::Refused { error, .. } => assert_eq!(error.field, field),
            other => panic!("{field} was taken: {other:?}"),
        }
        assert_eq!(
            in_force().await.settings,
            right.settings,
            "the old ones stay in force"
        );
    }
    let synced = edit(json!({ "capacity": 9 })).await;
    assert!(
        matches!(
            synced,
            SyncOutcome::InForce { put, .. } if put.outcome == ConfigureOutcome::Unchanged
        ),
        "{synced:?}"
    );
}

#[tokio::test]
async fn stale_settings_do_not_undo_a_later_change() {
    let scene = Fixture::new(memory_line());
    let (queue, _) = scene.create_queue("q", json!({ "capacity": 7 })).await;
    let read = async || {
        scene
            .backup
            .read_queue(&queue)
            .await
            .expect("read")
            .expect("is there")
    };
    let in_force = async || {
        scene
            .line
            .queue_view(&queue)
            .await
            .expect("seen")
            .view
            .configuration
    };
    let stale = read().await;
    let paused = json_map(json!({ "capacity": 7, "paused": true }));
    let replaced = scene
        .backup
        .replace_settings(&queue, &stale.settings, &paused)
        .await;
    assert_eq!(replaced.expect("written"), Some(1));
    scene.sync(&queue).await.expect("synced");

    let wanted = build_configuration(&stale, SettingsPolicy::default()).expect("right");
    let put = apply_configuration(&scene.line, &*scene.backup, &queue, &stale, &wanted).await;
    assert_eq!(put.expect("answered").outcome, ConfigureOutcome::Superseded);
    assert!(in_force().await.settings.paused);

    // After the table was restored, the stored order is lower than the one in force. The stored
    // settings still count.
    let ahead = Configuration {
        settings_order: 9,
        ..wanted
    };
    scene
        .line
        .configure(&queue, &ahead, false)
        .await
        .expect("configured");
    assert!(!in_force().await.settings.paused);
    scene.sync(&queue).await.expect("synced");
    assert!(in_force().await.settings.paused);
}

#[tokio::test]
async fn lost_queue_is_restored_with_every_place() {
    let scene = Fixture::new(memory_line());
    let (queue, partition) = scene.create_queue("q", json!({ "paused": true })).await;
    let ids = [
        scene.enter(&partition, "a").await,
        scene.enter(&partition, "b").await,
    ];
    let before = [
        scene.line.status(&queue, ids[0]).await,
        scene.line.status(&queue, ids[1]).await,
    ];

    let after_the_loss = Fixture {
        line: memory_line(),
        ..scene
    };
    let synced = after_the_loss.sync(&queue).await.expect("synced");

    assert!(
        matches!(
            synced,
            SyncOutcome::InForce { put, .. } if put.outcome == ConfigureOutcome::Created
        ),
        "{synced:?}"
    );
    for (id, before) in ids.into_iter().zip(before) {
        let now = after_the_loss.line.status(&queue, id).await.expect("answered");
        assert_eq!(now, before.expect("answered"));
    }
}

#[tokio::test]
async fn lost_queue_with_invalid_settings_is_not_restored() {
    let scene = Fixture::new(memory_line());
    let (queue, _) = scene.store_queue("q", json!({ "capacity": "many" })).await;
    let error = scene.sync(&queue).await.expect_err("nothing says how");
    assert!(
        matches!(&error, SyncError::NotRestorable(wrong) if wrong.field == "capacity"),
        "{error}"
    );
}

#[tokio::test]
async fn sync_reports_a_removed_queue() {
    let scene = Fixture::new(memory_line());
    assert_eq!(
        scene.sync(&"q".parse().expect("an id")).await.expect("answered"),
        SyncOutcome::QueueRemoved
    );
}

#[test]
fn a_trusting_queue_needs_a_trusting_policy() {
    let trusting = Settings {
        trust_client_visitor_id: true,
        ..Settings::default()
    };
    assert!(
        SettingsPolicy {
            trust_client_visitor_id: true,
            ..SettingsPolicy::default()
        }
        .validate(trusting.clone())
        .is_ok()
    );
    assert_eq!(
        SettingsPolicy::default()
            .validate(trusting)
            .expect_err("refused")
            .field,
        "trust_client_visitor_id"
    );
}
