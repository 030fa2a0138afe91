//! Single steps: the results of a tick and of a sync.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_backup::{Backup, revision};
use vestibule_domain::{pace::HeldBackBy, settings::Settings, state::State};
use vestibule_engine::{
    drain::drain,
    sync::{Policy, SyncError, Synced, configuration, put_in_force},
    tick::tick,
};
use vestibule_line::{Configuration, Configured, LineError};

use super::{Scene, map, memory};

#[tokio::test]
async fn a_tick_promotes_and_a_drain_takes_the_journal_to_the_backup() {
    let scene = Scene::new(memory());
    let settings = json!({ "capacity": 2, "batch": 5, "paused": true });
    let (queue, shelf) = scene.queue("q", settings).await;
    let mut ids = Vec::new();
    for visitor in ["a", "b", "c"] {
        ids.push(scene.enter(&shelf, visitor).await);
    }
    let stored = scene.backup.queue(&queue).await.expect("read").expect("is there");
    let open = map(json!({ "capacity": 2, "batch": 5 }));
    assert!(
        scene
            .backup
            .replace_settings(&queue, &stored.settings, &open)
            .await
            .expect("replaced")
            .is_some()
    );
    scene.sync(&queue).await.expect("synced");

    let ticked = tick(&*scene.line, &queue, None).await.expect("ticked");

    assert_eq!((ticked.promoted, ticked.waiting, ticked.ready), (2, 1, 2));
    assert_eq!(ticked.held_back_by, HeldBackBy::Capacity);
    let until = Instant::now() + Duration::from_secs(30);
    let drained = drain(&*scene.line, &*scene.backup, &shelf, 10, until).await;
    assert_eq!(drained.expect("drained").changes, 2);
    assert_eq!(scene.line.view(&queue).await.expect("seen").journal, 0);
    for (id, state) in ids.into_iter().zip([State::Ready, State::Ready, State::Waiting]) {
        let record = scene
            .backup
            .entry(&shelf, id)
            .await
            .expect("read")
            .expect("is there");
        assert_eq!(record.state, state);
    }
}

#[tokio::test]
async fn a_tick_of_a_queue_that_the_line_does_not_have_says_so() {
    let scene = Scene::new(memory());
    let (queue, _) = scene.store("q", json!({})).await;
    let error = tick(&*scene.line, &queue, None).await.expect_err("lost");
    assert!(matches!(error, LineError::Unknown), "{error}");
}

#[tokio::test]
async fn settings_edited_in_the_backup_reach_the_line_and_wrong_ones_do_not() {
    let scene = Scene::new(memory());
    let (queue, _) = scene.queue("q", json!({ "capacity": 7 })).await;
    let edit = async |settings: Value| {
        let stored = scene.backup.queue(&queue).await.expect("read").expect("is there");
        assert!(
            scene
                .backup
                .replace_settings(&queue, &stored.settings, &map(settings))
                .await
                .expect("written")
                .is_some()
        );
        scene.sync(&queue).await.expect("synced")
    };
    let in_force = async || scene.line.view(&queue).await.expect("seen").configuration;

    let synced = edit(json!({ "capacity": "9" })).await;
    assert!(
        matches!(
            synced,
            Synced::InForce { put, .. } if put.how == Configured::Changed
        ),
        "{synced:?}"
    );
    let right = in_force().await;
    assert_eq!(right.settings.capacity, 9);
    assert_eq!(right.revision, revision(&right.settings));

    for (wrong, field) in [
        (json!({ "capacity": 0 }), "capacity"),
        (json!({ "batsh": 1 }), "batsh"),
        (
            json!({ "trust_client_visitor_id": true }),
            "trust_client_visitor_id",
        ),
    ] {
        match edit(wrong).await {
            Synced::Refused { error, .. } => assert_eq!(error.field, field),
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
            Synced::InForce { put, .. } if put.how == Configured::Same
        ),
        "{synced:?}"
    );
}

#[tokio::test]
async fn settings_that_were_read_before_a_change_do_not_undo_it() {
    let scene = Scene::new(memory());
    let (queue, _) = scene.queue("q", json!({ "capacity": 7 })).await;
    let read = async || scene.backup.queue(&queue).await.expect("read").expect("is there");
    let in_force = async || scene.line.view(&queue).await.expect("seen").configuration;
    let stale = read().await;
    let paused = map(json!({ "capacity": 7, "paused": true }));
    let replaced = scene
        .backup
        .replace_settings(&queue, &stale.settings, &paused)
        .await;
    assert_eq!(replaced.expect("written"), Some(1));
    scene.sync(&queue).await.expect("synced");

    let wanted = configuration(&stale, Policy::default()).expect("right");
    let put = put_in_force(&*scene.line, &*scene.backup, &queue, &stale, &wanted).await;
    assert_eq!(put.expect("answered").how, Configured::Older);
    assert!(in_force().await.settings.paused);

    // After the table was restored, the stored order is lower than the one in force. The stored settings still
    // count.
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
async fn a_lost_queue_is_put_back_with_everybody_in_place() {
    let scene = Scene::new(memory());
    let (queue, shelf) = scene.queue("q", json!({ "paused": true })).await;
    let ids = [scene.enter(&shelf, "a").await, scene.enter(&shelf, "b").await];
    let before = [
        scene.line.status(&queue, ids[0]).await,
        scene.line.status(&queue, ids[1]).await,
    ];

    let after_the_loss = Scene {
        line: memory(),
        ..scene
    };
    let synced = after_the_loss.sync(&queue).await.expect("synced");

    assert!(
        matches!(
            synced,
            Synced::InForce { put, .. } if put.how == Configured::Created
        ),
        "{synced:?}"
    );
    for (id, before) in ids.into_iter().zip(before) {
        let now = after_the_loss.line.status(&queue, id).await.expect("answered");
        assert_eq!(now, before.expect("answered"));
    }
}

#[tokio::test]
async fn a_lost_queue_with_wrong_settings_is_not_guessed_at() {
    let scene = Scene::new(memory());
    let (queue, _) = scene.store("q", json!({ "capacity": "many" })).await;
    let error = scene.sync(&queue).await.expect_err("nothing says how");
    assert!(
        matches!(&error, SyncError::Stuck(wrong) if wrong.field == "capacity"),
        "{error}"
    );
}

#[tokio::test]
async fn a_queue_that_was_removed_is_gone() {
    let scene = Scene::new(memory());
    assert_eq!(
        scene.sync(&"q".parse().expect("an id")).await.expect("answered"),
        Synced::Gone
    );
}

#[test]
fn a_revision_names_settings_and_nothing_else() {
    let (a, b) = (
        Settings::default(),
        Settings {
            capacity: 101,
            ..Settings::default()
        },
    );
    assert_eq!(revision(&a), revision(&a.clone()));
    assert_ne!(revision(&a), revision(&b));
    assert_eq!(revision(&a).len(), 16);
    let trusting = Settings {
        trust_client_visitor_id: true,
        ..a
    };
    assert!(
        Policy {
            trust_client_visitor_id: true
        }
        .check(trusting.clone())
        .is_ok()
    );
    assert_eq!(
        Policy::default().check(trusting).expect_err("refused").field,
        "trust_client_visitor_id"
    );
}
