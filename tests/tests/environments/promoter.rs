//! What the promoter alone does, in its process.

use serde_json::{Value, json};
use vestibule_backup::{Backup, QueueLookup};
use vestibule_line::QueueTrace;
use vestibule_tests::{
    entries::now_ms,
    functions::DeploymentConfig,
    network::{Network, NetworkState},
    servers::dynamodb_url,
    waiting::wait_until,
};

use crate::{BOUND, Stage, fallback_ticks::enter_without_table};

/// The promoter finds out that Redis lost the queue, and restores it from the table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoter_restores_a_queue_that_redis_lost() {
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3_600 });
    let stage = Stage::open(DeploymentConfig::default(), settings).await;
    let (active, _) = stage.enter().await;
    let (waiting, entered) = stage.enter().await;
    stage.lose_line().await;
    stage
        .with_promoters(wait_until(BOUND, "the queue is restored", async || {
            let stored = stage.deployment.backup.read_queue(&stage.queue).await;
            let metadata = stored.expect("the table answers").expect("the queue").metadata;
            // A restore raises the epoch, and ends with the release of its lease.
            metadata.epoch > 1 && metadata.lease.is_none()
        }))
        .await;
    let status = stage.get_status(&waiting).await;
    assert_eq!(
        (status.text("state"), status.number("joined_at_ms")),
        ("waiting", entered.number("joined_at_ms"))
    );
    let status = stage.get_status(&active).await;
    assert_eq!(status.text("state"), "active");
}

/// Someone deleted both items of the queue in the table. The promoter writes a tombstone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoter_deletes_a_queue_that_was_deleted_by_hand() {
    let stage = Stage::open(DeploymentConfig::default(), json!({})).await;
    let (visitor, _) = stage.enter().await;
    let deletion = Box::pin(async {
        wait_until(BOUND, "the promoter knows the queue", async || {
            stage.view().await.heartbeat_ms > 0
        })
        .await;
        stage.delete_items_by_hand().await;
        wait_until(BOUND, "the queue is deleted", async || {
            let trace = stage.line.find_trace(&stage.queue).await;
            matches!(trace, Ok(QueueTrace::Deleted(_)))
        })
        .await;
    });
    stage.with_promoters(deletion).await;
    let stored = stage.deployment.backup.look_up_queue(&stage.queue).await;
    assert!(matches!(stored, Ok(QueueLookup::Deleted(_))), "{stored:?}");
    assert_ne!(stage.get_status(&visitor).await.status, 200);
}

/// An operator pauses the queue while the function `admin` cannot reach the table. The promoter writes the pause there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoter_stores_a_pause_that_only_redis_has() {
    let emulator = dynamodb_url();
    let address = emulator.trim_start_matches("http://").trim_end_matches('/');
    let network = Network::open_before(address.parse().expect("an address")).await;
    let config = DeploymentConfig {
        table_urls: [("admin", format!("http://{}", network.address))].into(),
        ..DeploymentConfig::default()
    };
    let stage = Stage::open(config, json!({})).await;
    network.set_state(NetworkState::Cut);
    let paused = stage.run_command("pause", json!({})).await;
    assert_eq!(paused["stored"], false, "{paused}");
    stage
        .with_promoters(wait_until(BOUND, "the table has the pause", async || {
            let stored = stage.deployment.backup.read_queue(&stage.queue).await;
            let settings = stored.expect("the table answers").expect("the queue").settings;
            settings.parse().expect("valid settings").paused
        }))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoter_sends_the_events_of_a_queue_to_the_bus() {
    let config = DeploymentConfig {
        event_bus: true,
        ..DeploymentConfig::default()
    };
    let stage = Stage::open(config, json!({})).await;
    let find_opened = || {
        let sent = stage.deployment.sent_events();
        sent.into_iter()
            .find(|event| event["DetailType"] == "Queue Opened")
    };
    stage
        .with_promoters(wait_until(BOUND, "the event is sent", async || {
            find_opened().is_some()
        }))
        .await;
    let opened = find_opened().expect("the event was sent");
    let detail = opened["Detail"].as_str().expect("a text");
    let detail: Value = serde_json::from_str(detail).expect("JSON");
    assert_eq!(detail["queue"], stage.queue.as_str(), "{detail}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoter_records_that_the_queue_has_opened() {
    let opens_at_ms = now_ms() + 1_000;
    let stage = Stage::open(enter_without_table(), json!({ "opens_at_ms": opens_at_ms })).await;
    stage.enter().await;
    stage
        .with_promoters(wait_until(BOUND, "the table has the opening", async || {
            let stored = stage.deployment.backup.read_queue(&stage.queue).await;
            let metadata = stored.expect("the table answers").expect("the queue").metadata;
            metadata.opened_at_ms.is_some()
        }))
        .await;
}
