//! A queue is deleted by the command, and created again under the name.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_backup::{Backup, EntryPartition, QueueLookup};
use vestibule_domain::{id::EntryId, tombstone::Tombstone};
use vestibule_engine::write_through::write_through;
use vestibule_line::{Arrival, EnterOutcome, EntryLookup, Line, LineError, QueueTrace};
use vestibule_telemetry::metrics::WAITING;
use vestibule_tests::{
    entries::{fresh_id, now_ms},
    waiting::wait_until,
};

use crate::{
    console::create_queue,
    deployment::{BOUND, Deployment, run_command},
};

/// Enters as a new visitor, whose record is in the table.
pub(crate) async fn enter(deployment: &Deployment, line: &Line) -> EntryId {
    let (queue, id) = (&deployment.queue, fresh_id());
    let Ok(EnterOutcome::Joined {
        change: Some(change), ..
    }) = line.enter(queue, id, Arrival::Ordinary).await
    else {
        panic!("the visitor could not enter")
    };
    let view = line.queue_view(queue).await.expect("an answer");
    let partition = EntryPartition::from_configuration(queue, &view.configuration);
    let written = write_through(line, &deployment.backup().await, &partition, &change).await;
    assert!(written.expect("written").durable);
    id
}

fn create(deployment: &Deployment) -> Value {
    json!({ "op": "create", "queue": deployment.queue.as_str(), "settings": { "paused": true } })
}

fn delete(deployment: &Deployment, epoch: u64) -> Value {
    let queue = deployment.queue.as_str();
    json!({ "op": "delete", "queue": queue, "confirm": queue, "epoch": epoch })
}

pub(crate) async fn find_trace(deployment: &Deployment, line: &Line) -> QueueTrace {
    line.find_trace(&deployment.queue).await.expect("an answer")
}

/// The queue was created again: it has a later generation and epoch, and neither a request nor a restore finds an old
/// entry.
pub(crate) async fn expect_created_anew(deployment: &Deployment, line: &Line, old: &[EntryId]) {
    let admin = deployment.admin().await;
    let created = run_command(&admin, create(deployment)).await;
    assert_eq!(created["created"], true, "{created}");
    assert!(created["generation"].as_u64() > Some(1), "{created}");
    let restore = json!({
        "op": "restore", "queue": deployment.queue.as_str(), "confirm": deployment.queue.as_str(),
        "epoch": created["epoch"],
    });
    for _ in 0..2 {
        for id in old {
            let lookup = line.status(&deployment.queue, *id).await.expect("an answer");
            assert!(matches!(lookup, EntryLookup::NotFound(_)), "{lookup:?}");
        }
        let described = run_command(
            &admin,
            json!({ "op": "describe", "queue": deployment.queue.as_str() }),
        )
        .await;
        let mut restore = restore.clone();
        restore["epoch"] = described["epoch"].clone();
        let restored = run_command(&admin, restore).await;
        assert_eq!(
            (&restored["waiting"], &restored["active"]),
            (&json!(0), &json!(0))
        );
        assert_eq!(
            restored["min_epoch"], created["epoch"],
            "no pass of the old queue is valid"
        );
    }
}

#[tokio::test]
async fn a_deleted_queue_is_gone_and_can_be_created_anew() {
    let deployment = create_queue(json!({ "paused": true })).await;
    let (line, admin, promoter) = (
        deployment.line().await,
        deployment.admin().await,
        deployment.promoter().await,
    );
    let old = [enter(&deployment, &line).await, enter(&deployment, &line).await];
    deployment.put_part("tally").await;
    let operator = async {
        wait_until(BOUND, "the queue is reported", async || {
            deployment.written.values(WAITING).last() == Some(&2.0)
        })
        .await;
        let deleted = run_command(&admin, delete(&deployment, 1)).await;
        assert_eq!(
            (&deleted["deleted"], &deleted["min_epoch"]),
            (&json!(true), &json!(2))
        );
        let reports = deployment.written.values(WAITING).len();
        // Longer than the time between two reports.
        sleep(Duration::from_secs(13)).await;
        assert!(
            deployment.written.values(WAITING).len() <= reports + 1,
            "a report may have been under way, and no other follows"
        );
        let view = line.queue_view(&deployment.queue).await;
        assert!(matches!(view, Err(LineError::QueueNotFound)), "{view:?}");
    };
    promoter.run(operator).await;
    assert_eq!(
        deployment.read_parts().await,
        ["line", "tally"],
        "further parts stay until their time to live"
    );
    let tombstone = deployment.read_part("line").await;
    assert!(tombstone["delete_at_seconds"].as_n().is_ok(), "{tombstone:?}");
    expect_created_anew(&deployment, &line, &old).await;
    assert_eq!(deployment.read_parts().await, ["line", "settings", "tally"]);
}

/// The process of the command is killed between its two steps. The next caller completes it.
#[tokio::test]
async fn a_delete_killed_between_its_steps_is_completed() {
    for next in ["the command again", "the promoter", "create"] {
        let deployment = create_queue(json!({ "paused": true })).await;
        let (line, admin) = (deployment.line().await, deployment.admin().await);
        let old = [enter(&deployment, &line).await];
        let tombstone = Tombstone::new(1, 1, now_ms());
        let backup = deployment.backup().await;
        let stored = backup.delete_queue(&deployment.queue, 1, &tombstone).await;
        assert!(stored.expect("an answer"));
        assert!(
            line.queue_view(&deployment.queue).await.is_ok(),
            "Redis does not know yet"
        );
        match next {
            "the command again" => {
                let again = run_command(&admin, delete(&deployment, 1)).await;
                assert_eq!(again["deleted"], false);
            }
            "the promoter" => {
                let gone = wait_until(BOUND, "the queue is gone", async || {
                    matches!(find_trace(&deployment, &line).await, QueueTrace::Deleted(_))
                });
                deployment.promoter().await.run(gone).await;
            }
            _ => {}
        }
        expect_created_anew(&deployment, &line, &old).await;
    }
}

/// Commands that create and delete the same queue at the same time leave the table and Redis in agreement, also beside a
/// promoter.
#[tokio::test]
async fn concurrent_creates_and_deletes_agree_in_the_end() {
    let deployment = create_queue(json!({ "paused": true })).await;
    let (line, admin) = (deployment.line().await, deployment.admin().await);
    let admin = Arc::new(admin);
    let operators = async {
        for _ in 0..6 {
            let commands = (0..4).map(|number| {
                let admin = Arc::clone(&admin);
                let (create, describe) = (
                    create(&deployment),
                    json!({ "op": "describe", "queue": deployment.queue.as_str() }),
                );
                let mut delete = delete(&deployment, 0);
                tokio::spawn(async move {
                    if number % 2 == 0 {
                        admin.handle(create).await
                    } else {
                        delete["epoch"] = admin.handle(describe).await["result"]["epoch"].clone();
                        admin.handle(delete).await
                    }
                })
            });
            for command in commands.collect::<Vec<_>>() {
                command.await.expect("no panic");
            }
        }
        wait_until(BOUND, "table and Redis agree", async || {
            let stored = deployment.backup().await.look_up_queue(&deployment.queue).await;
            match (stored.expect("an answer"), find_trace(&deployment, &line).await) {
                (
                    QueueLookup::Present(stored),
                    QueueTrace::Queue {
                        epoch, generation, ..
                    },
                ) => (stored.metadata.epoch, stored.metadata.generation) == (epoch, generation),
                (QueueLookup::Deleted(tombstone), QueueTrace::Deleted(known)) => tombstone == known,
                _ => false,
            }
        })
        .await;
    };
    Box::pin(deployment.promoter().await.run(operators)).await;
}

/// A process whose restore is cut off by the deletion, and resumes when the queue exists again.
#[tokio::test]
async fn a_frozen_process_changes_nothing_of_the_new_queue() {
    let deployment = create_queue(json!({ "paused": true })).await;
    let (line, admin) = (deployment.line().await, deployment.admin().await);
    enter(&deployment, &line).await;
    let old = line
        .queue_view(&deployment.queue)
        .await
        .expect("seen")
        .view
        .configuration;
    let old_tombstone = Tombstone::new(1, 1, now_ms());
    run_command(&admin, delete(&deployment, 1)).await;
    run_command(&admin, create(&deployment)).await;
    let fresh = line
        .queue_view(&deployment.queue)
        .await
        .expect("seen")
        .view
        .configuration;
    for create in [false, true] {
        let _ = line.configure(&deployment.queue, &old, create).await;
    }
    let _ = line
        .restore(
            &deployment.queue,
            &old,
            0,
            vestibule_line::RestoredEntries::default(),
        )
        .await;
    let _ = line.drop_queue(&deployment.queue, 2).await;
    let _ = line.delete_queue(&deployment.queue, &old_tombstone).await;
    let view = line.queue_view(&deployment.queue).await.expect("seen");
    assert_eq!((view.configuration.clone(), view.waiting), (fresh, 0));
}
