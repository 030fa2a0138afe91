//! The command `delete`, and a queue that is created again under the name.

use std::sync::Arc;

use serde_json::{Value, json};
use vestibule_backup::QueueLookup;
use vestibule_backup_file::FileBackup;
use vestibule_faults::{Fault, Faults};
use vestibule_line::{EntryLookup, LineError, QueueTrace};

use super::{AdminFixture, entry_partition, queue};

fn create() -> Value {
    json!({ "op": "create", "queue": "q", "settings": { "capacity": 1 } })
}

fn delete(epoch: u64) -> Value {
    json!({ "op": "delete", "queue": "q", "confirm": "q", "epoch": epoch })
}

async fn look_up(desk: &AdminFixture) -> QueueLookup {
    desk.backup().look_up_queue(&queue()).await.expect("an answer")
}

async fn find_trace(desk: &AdminFixture) -> QueueTrace {
    desk.line().find_trace(&queue()).await.expect("an answer")
}

#[tokio::test]
async fn delete_needs_a_confirmation_and_is_idempotent() {
    let desk = AdminFixture::with_queue(json!({})).await;
    desk.enter("ada").await;
    for (order, field) in [
        (json!({ "op": "delete", "queue": "q" }), "confirm"),
        (
            json!({ "op": "delete", "queue": "q", "confirm": "p", "epoch": 1 }),
            "confirm",
        ),
        (delete(0), "epoch"),
        (delete(2), "epoch"),
    ] {
        let problem = desk.run_refused(order).await;
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("confirmation-needed"), &json!(field))
        );
        assert_eq!(problem["expected"], json!({ "confirm": "q", "epoch": 1 }));
    }
    assert_eq!(desk.setting_in_force("capacity").await, 100, "the queue is there");

    let deleted = desk.run(delete(1)).await;
    assert_eq!(
        (&deleted["deleted"], &deleted["min_epoch"]),
        (&json!(true), &json!(2))
    );
    let kept_ms = deleted["tombstone_until_ms"].as_u64() > deleted["deleted_at_ms"].as_u64();
    assert!(kept_ms, "{deleted}");
    assert!(matches!(look_up(&desk).await, QueueLookup::Deleted(_)));
    assert!(matches!(find_trace(&desk).await, QueueTrace::Deleted(_)));
    assert_eq!(desk.run(delete(1)).await["deleted"], false, "again is harmless");
    for op in [
        "describe", "stats", "pause", "open", "promote", "check", "restore", "reset",
    ] {
        let problem = desk
            .run_refused(json!({ "op": op, "queue": "q", "count": 1 }))
            .await;
        if problem["code"] != "invalid-command" {
            assert_eq!(
                (&problem["code"], &problem["min_epoch"]),
                (&json!("queue-deleted"), &json!(2)),
                "{op}"
            );
        }
    }
    assert_eq!(desk.run(json!({ "op": "list" })).await["queues"], json!([]));
    let unknown = desk
        .run_refused(json!({ "op": "delete", "queue": "p", "confirm": "p", "epoch": 1 }))
        .await;
    assert_eq!(unknown["code"], "unknown-queue");
}

#[tokio::test]
async fn a_queue_created_again_has_no_entry_of_the_old_one() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 1 })).await;
    let old_salt = desk.stored_queue().await.metadata.salt;
    let (active, waiting) = (desk.enter("ada").await, desk.enter("bob").await);
    desk.run(delete(1)).await;
    let created = desk.run(create()).await;
    assert_eq!(
        (&created["created"], &created["generation"], &created["epoch"]),
        (&json!(true), &json!(2), &json!(3))
    );
    let metadata = desk.stored_queue().await.metadata;
    assert_eq!(metadata.min_epoch, 3, "no pass of the old queue is valid");
    assert_ne!(metadata.salt, old_salt);
    assert_ne!(desk.entry_id("ada").await, active, "tokens differ");
    for id in [active, waiting] {
        let lookup = desk.line().status(&queue(), id).await.expect("an answer");
        assert!(matches!(lookup, EntryLookup::NotFound(_)), "{lookup:?}");
    }
    // A restore reads the new generation only. The records of the old one end by their time to live.
    let restored = desk
        .run(json!({ "op": "restore", "queue": "q", "confirm": "q", "epoch": 3 }))
        .await;
    assert_eq!(
        (&restored["waiting"], &restored["ready"], &restored["active"]),
        (&json!(0), &json!(0), &json!(0))
    );
    let old = desk.backup().read_entry(&entry_partition(), active).await;
    assert!(old.expect("an answer").is_some());
    assert_eq!(desk.run(create()).await["created"], false, "create is idempotent");
}

/// The command was killed after the backup had the tombstone: the line still has the queue.
#[tokio::test]
async fn a_repeated_delete_completes_one_that_was_killed() {
    let mut desk = AdminFixture::with_queue(json!({})).await;
    desk.enter("ada").await;
    let faults = Faults::default();
    let line = desk.admin.line.clone();
    desk.admin.line = line.clone().with_tap(Arc::new(faults.clone()));
    faults.fail_all(Fault::Unavailable);
    let problem = desk.run_refused(delete(1)).await;
    assert_eq!(problem["code"], "line-unavailable");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(detail.contains("the deletion is stored"), "{detail}");
    desk.admin.line = line;
    assert!(matches!(find_trace(&desk).await, QueueTrace::Queue { .. }));
    assert_eq!(desk.run(delete(1)).await["deleted"], false);
    assert!(matches!(find_trace(&desk).await, QueueTrace::Deleted(_)));
}

/// The same, but the next command creates the queue again.
#[tokio::test]
async fn create_completes_a_delete_that_was_killed() {
    let desk = AdminFixture::with_queue(json!({ "capacity": 1 })).await;
    let active = desk.enter("ada").await;
    let stored = desk.stored_queue().await;
    let tombstone = vestibule_domain::tombstone::Tombstone::new(1, 1, vestibule_telemetry::clock::now_ms());
    let deleted = desk
        .backup()
        .delete_queue(&queue(), stored.metadata.epoch, &tombstone)
        .await;
    assert!(deleted.expect("deleted"));
    let created = desk.run(create()).await;
    assert_eq!(
        (&created["created"], &created["generation"]),
        (&json!(true), &json!(2))
    );
    let lookup = desk.line().status(&queue(), active).await.expect("an answer");
    assert!(matches!(lookup, EntryLookup::NotFound(_)), "{lookup:?}");
}

/// The items were deleted by hand, and no promoter has noticed it yet.
#[tokio::test]
async fn create_notices_a_deletion_by_hand() {
    let mut desk = AdminFixture::with_queue(json!({ "capacity": 1 })).await;
    let active = desk.enter("ada").await;
    desk.admin.backup = Arc::new(FileBackup::open(desk.dir.path().join("other")).expect("a new store"));
    let created = desk.run(create()).await;
    assert_eq!(
        (&created["created"], &created["generation"]),
        (&json!(true), &json!(2))
    );
    assert!(
        created["epoch"].as_u64() > Some(100),
        "the deleted item may have had a later epoch than the line"
    );
    let lookup = desk.line().status(&queue(), active).await.expect("an answer");
    assert!(matches!(lookup, EntryLookup::NotFound(_)), "{lookup:?}");
}

/// The command that creates the queue is suspended between its two writes, while another deletes it.
#[tokio::test]
async fn a_create_that_a_delete_overtakes_creates_nothing() {
    let desk = AdminFixture::new();
    let faults = Faults::default();
    let gate = faults.gate_before("configure");
    gate.shut();
    let mut slow = desk.admin.clone();
    slow.line = slow.line.with_tap(Arc::new(faults));
    let creating = tokio::spawn(async move { slow.handle(create()).await });
    while gate.arrivals() == 0 {
        tokio::task::yield_now().await;
    }
    desk.run(delete(1)).await;
    gate.open();
    let answer = creating.await.expect("no panic");
    assert_eq!(answer["ok"], false, "{answer}");
    let view = desk.line().queue_view(&queue()).await;
    assert!(matches!(view, Err(LineError::QueueNotFound)), "{view:?}");
    assert_eq!(desk.run(create()).await["generation"], 2);
}
