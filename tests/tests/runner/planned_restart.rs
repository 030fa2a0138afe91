//! An orderly stop keeps the epoch of each queue, and any other end begins a new one.

use std::{path::Path, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_domain::{change::Event, id::QueueId};
use vestibule_tests::{
    entries::{change, fresh_id, partition_of, place},
    runner::Runner,
    waiting::wait_until,
};

use crate::{
    QUEUE,
    restart_scene::{BOUND, Guest, create_queue, epoch, observe, restart},
    start_runner, temporary_folder,
};

#[tokio::test]
async fn orderly_restarts_keep_epoch_entries_slots_and_passes() {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    create_queue(&runner, 3).await;
    let (left, done, active) = (
        Guest::enter(&runner).await,
        Guest::enter(&runner).await,
        Guest::enter(&runner).await,
    );
    let (promoted, waiting) = (Guest::enter(&runner).await, Guest::enter(&runner).await);
    assert_eq!(left.send(&runner, Method::DELETE, "", json!({})).await.0, 204);
    assert_eq!(
        done.send(&runner, Method::POST, "/complete", json!({})).await.0,
        204
    );
    wait_until(BOUND, "the first in line is promoted", async || {
        promoted.status(&runner).await["state"] == json!("ready")
    })
    .await;
    let waiting = Guest {
        entry: waiting.status(&runner).await,
        ..waiting
    };
    // The public document is up to two seconds old.
    wait_until(BOUND, "the document counts the promotion", async || {
        observe(&runner, QUEUE).await["gone_ahead"] == json!(1)
    })
    .await;
    let before = observe(&runner, QUEUE).await;
    assert_eq!(before["counts"], json!([1, 1, 1, 1]), "{before}");

    for signal in ["TERM", "INT", "TERM"] {
        runner = restart(runner, &dir, signal).await;
        assert_eq!(observe(&runner, QUEUE).await, before);
        active.expect_same_entry(&runner).await;
        active.expect_valid_pass(&runner).await;
        waiting.expect_same_entry(&runner).await;
        let (now, then) = (promoted.status(&runner).await, &promoted.entry);
        assert_eq!(
            (&now["state"], &now["visit"]),
            (&json!("ready"), &then["visit"]),
            "{now}"
        );
    }

    // The line goes on: the promoted visitor claims, and the one who left takes the own slot back.
    let (status, claimed) = promoted.send(&runner, Method::POST, "/claim", json!({})).await;
    assert_eq!((status, &claimed["state"]), (200, &json!("active")), "{claimed}");
    let back = runner.enter(QUEUE, &left.id).await;
    assert_eq!(back["state"], json!("active"), "{back}");
    let visit = |entry: &Value| entry["visit"].as_u64().expect("a visit");
    assert!(visit(&back) > visit(&waiting.entry), "{back}");
}

#[tokio::test]
async fn orderly_restart_under_demo_visitors_logs_no_warning() {
    let dir = temporary_folder();
    let start = || Runner::start(dir.path(), &["--demo-visitors", "8"]).expect("the runner starts");
    let mut before = None;
    for _ in 0..3 {
        let runner = start();
        let now = epoch(&runner, "demo:1").await;
        assert_eq!(*before.get_or_insert(now), now, "the epoch has changed");
        wait_until(BOUND, "a visitor has completed", async || {
            let stats = runner
                .run_command(json!({ "op": "stats", "queue": "demo:1" }))
                .await;
            stats["totals"]["completed"].as_u64() >= Some(1)
        })
        .await;
        let log = runner.stop("TERM", BOUND).await;
        assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    }
}

#[tokio::test]
async fn a_kill_begins_an_epoch_and_the_log_says_why() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    create_queue(&runner, 1).await;
    let (active, first) = (Guest::enter(&runner).await, Guest::enter(&runner).await);
    let created = epoch(&runner, QUEUE).await;
    let runner = restart(runner, &dir, "TERM").await;
    let second = Guest::enter(&runner).await;
    assert_eq!(epoch(&runner, QUEUE).await, created);

    let runner = restart(runner, &dir, "KILL").await;
    let after = epoch(&runner, QUEUE).await;
    assert_eq!(after, created + 1);
    for guest in [&active, &first, &second] {
        guest.expect_same_entry(&runner).await;
    }
    active.expect_valid_pass(&runner).await;
    let log = runner.stop("TERM", BOUND).await;
    let reasons = log.lines().filter(|line| line.contains("queue.epoch_ended"));
    let reasons: Vec<_> = reasons.filter(|line| line.contains("queue=q")).collect();
    let [reason] = reasons[..] else {
        panic!("one sentence for the queue: {log}")
    };
    assert!(
        reason.contains("the last run was killed, or could not write every change, so the queue is restored"),
        "{reason}"
    );

    let runner = start_runner(&dir);
    assert_eq!(
        epoch(&runner, QUEUE).await,
        after,
        "the restored queue is whole again"
    );
    let log = runner.stop("TERM", BOUND).await;
    assert!(!log.contains("WARN"), "{log}");
}

/// Lines up, and then lets `interrupt` end the process several times, at a later moment each time. After each, the places are
/// the same, and the epoch never goes back.
async fn expect_places_after(interrupt: impl AsyncFn(Runner, &TempDir, Duration)) {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    create_queue(&runner, 1).await;
    let mut guests = vec![Guest::enter(&runner).await];
    let mut last_epoch = epoch(&runner, QUEUE).await;
    for after_ms in [0, 5, 10, 20, 30, 45, 60, 80, 110, 150, 250] {
        guests.push(Guest::enter(&runner).await);
        interrupt(runner, &dir, Duration::from_millis(after_ms)).await;
        runner = start_runner(&dir);
        let now = epoch(&runner, QUEUE).await;
        assert!(now >= last_epoch, "epoch {now} follows {last_epoch}");
        last_epoch = now;
        for guest in &guests {
            guest.expect_same_entry(&runner).await;
        }
    }
}

#[tokio::test]
async fn kills_during_the_start_keep_every_place() {
    expect_places_after(async |runner, dir, after| {
        runner.stop("TERM", BOUND).await;
        Runner::kill_while_starting(dir.path(), after);
    })
    .await;
}

#[tokio::test]
async fn kills_during_the_stop_keep_every_place() {
    // A stop takes a few milliseconds only.
    expect_places_after(async |runner, _, after| runner.stop_and_kill(after / 20, BOUND).await).await;
}

fn open_store(dir: &Path) -> FileBackup {
    FileBackup::open(dir.join("backup.redb")).expect("the store")
}

/// The file has no checkpoint while a process serves, so none is left when the process is killed.
#[tokio::test]
async fn a_checkpoint_is_used_once() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    create_queue(&runner, 1).await;
    Guest::enter(&runner).await;
    runner.stop("TERM", BOUND).await;
    let store = open_store(dir.path());
    let checkpoints = store.take_checkpoints().await.expect("read");
    assert_eq!(checkpoints.len(), 2, "one of each queue: {checkpoints:?}");
    store.store_checkpoints(checkpoints).await.expect("written");
    drop(store);

    start_runner(&dir).stop("KILL", BOUND).await;
    let left = open_store(dir.path()).take_checkpoints().await;
    assert_eq!(left.expect("read"), []);
}

/// Changes the file of a runner that was stopped in order, by means that no runner has.
async fn expect_new_epoch_after(reason: &str, change: impl AsyncFn(&FileBackup, Vec<(QueueId, Value)>)) {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    create_queue(&runner, 1).await;
    let guests = [Guest::enter(&runner).await, Guest::enter(&runner).await];
    let created = epoch(&runner, QUEUE).await;
    runner.stop("TERM", BOUND).await;
    let store = open_store(dir.path());
    let checkpoints = store.take_checkpoints().await.expect("read");
    store
        .store_checkpoints(checkpoints.clone())
        .await
        .expect("written");
    change(&store, checkpoints).await;
    drop(store);

    let runner = start_runner(&dir);
    assert_eq!(epoch(&runner, QUEUE).await, created + 1);
    for guest in &guests {
        guest.expect_same_entry(&runner).await;
    }
    let log = runner.stop("TERM", BOUND).await;
    assert!(log.contains(reason), "{log}");
}

#[tokio::test]
async fn a_checkpoint_of_other_entries_continues_no_epoch() {
    let reason = "the stored entries are not those that the line had";
    expect_new_epoch_after(reason, async |store, _| {
        let place = place(0);
        let entered = change(fresh_id(), 1, Event::Entered { place, after: None });
        let partition = partition_of(QUEUE.parse().expect("a queue id"));
        store.put_change(&partition, &entered).await.expect("written");
    })
    .await;
}

#[tokio::test]
async fn a_checkpoint_below_the_fence_continues_no_epoch() {
    expect_new_epoch_after("the stored queue has changed", async |store, _| {
        let queue = QUEUE.parse().expect("a queue id");
        store.raise_watermark(&queue, 1, 1_000).await.expect("written");
    })
    .await;
}

#[tokio::test]
async fn a_checkpoint_of_later_times_continues_no_epoch() {
    expect_new_epoch_after(
        "the clock of this machine is behind",
        async |store, checkpoints| {
            let an_hour_later = checkpoints.into_iter().map(|(queue, mut checkpoint)| {
                let v = checkpoint["v"].as_u64().expect("a version");
                checkpoint["v"] = json!(v + 3_600_000_000);
                (queue, checkpoint)
            });
            store
                .store_checkpoints(an_hour_later.collect())
                .await
                .expect("written");
        },
    )
    .await;
}

/// An earlier checkpoint that comes back after a later run was killed.
#[tokio::test]
async fn an_outdated_checkpoint_continues_no_epoch() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    create_queue(&runner, 1).await;
    let active = Guest::enter(&runner).await;
    let created = epoch(&runner, QUEUE).await;
    runner.stop("TERM", BOUND).await;
    let store = open_store(dir.path());
    let outdated = store.take_checkpoints().await.expect("read");
    store.store_checkpoints(outdated.clone()).await.expect("written");
    drop(store);

    let runner = start_runner(&dir);
    assert_eq!(epoch(&runner, QUEUE).await, created);
    let waiting = Guest::enter(&runner).await;
    runner.stop("KILL", BOUND).await;
    let store = open_store(dir.path());
    store.store_checkpoints(outdated).await.expect("written");
    drop(store);

    let runner = start_runner(&dir);
    assert_eq!(epoch(&runner, QUEUE).await, created + 1);
    active.expect_same_entry(&runner).await;
    waiting.expect_same_entry(&runner).await;
}
