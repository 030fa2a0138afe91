//! An orderly stop keeps the epoch of each queue, and any other end begins a new one.

use std::{fs, path::PathBuf, time::Duration};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::Event,
    id::{IdKey, QueueId, RootKey},
};
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
        reason.contains("the last run was killed, or could not save its line, so the queue is restored"),
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

/// The file with the line of a runner that was stopped in order.
fn line_file(dir: &TempDir) -> PathBuf {
    dir.path().join("line.resp")
}

/// Stops a runner with two visitors in order, and copies its folder. The copy is as old as the last orderly stop.
async fn stop_and_copy(dir: &TempDir) -> (TempDir, [Guest; 2], u64) {
    let runner = start_runner(dir);
    create_queue(&runner, 1).await;
    let guests = [Guest::enter(&runner).await, Guest::enter(&runner).await];
    let created = epoch(&runner, QUEUE).await;
    runner.stop("TERM", BOUND).await;
    let copy = temporary_folder();
    for file in fs::read_dir(dir.path()).expect("the folder") {
        let from = file.expect("a file").path();
        let to = copy.path().join(from.file_name().expect("a name"));
        fs::copy(from, to).expect("copied");
    }
    (copy, guests, created)
}

/// What was saved is used once: after a kill of the run that used it, an old copy of it is not.
#[tokio::test]
async fn an_outdated_line_is_set_aside() {
    let dir = temporary_folder();
    let (copy, guests, created) = stop_and_copy(&dir).await;
    let runner = start_runner(&dir);
    assert_eq!(epoch(&runner, QUEUE).await, created);
    assert!(!line_file(&dir).exists(), "it is used up");
    let third = Guest::enter(&runner).await;
    runner.stop("KILL", BOUND).await;
    fs::copy(line_file(&copy), line_file(&dir)).expect("put back");

    let runner = start_runner(&dir);
    assert_eq!(epoch(&runner, QUEUE).await, created + 1);
    for guest in guests.iter().chain([&third]) {
        guest.expect_same_entry(&runner).await;
    }
    runner.stop("TERM", BOUND).await;

    // The same after another orderly stop.
    fs::copy(line_file(&copy), line_file(&dir)).expect("put back");
    expect_set_aside(&dir, &guests, created + 2).await;
}

/// Starts a runner that must not use the saved line, and keeps it beside.
async fn expect_set_aside(dir: &TempDir, guests: &[Guest], new_epoch: u64) {
    let saved = fs::read(line_file(dir)).expect("a saved line");
    let runner = start_runner(dir);
    assert_eq!(epoch(&runner, QUEUE).await, new_epoch);
    for guest in guests {
        guest.expect_same_entry(&runner).await;
    }
    let aside = fs::read(dir.path().join("line.resp.refused")).expect("set aside");
    assert!(aside == saved, "as it was");
    let log = runner.stop("TERM", BOUND).await;
    let reason = "the line that the last run saved is of another build, or not of that run";
    assert!(log.contains(reason), "{log}");
}

#[tokio::test]
async fn a_line_of_another_layout_is_set_aside() {
    let dir = temporary_folder();
    let (_, guests, created) = stop_and_copy(&dir).await;
    change_saved_line(&dir, |saved| replace(saved, "of layout ", "of layout 9"));
    expect_set_aside(&dir, &guests, created + 1).await;
}

#[tokio::test]
async fn a_line_that_was_cut_off_is_set_aside() {
    let dir = temporary_folder();
    let (_, guests, created) = stop_and_copy(&dir).await;
    change_saved_line(&dir, |saved| saved.truncate(saved.len() / 2));
    expect_set_aside(&dir, &guests, created + 1).await;
}

fn change_saved_line(dir: &TempDir, change: impl FnOnce(&mut Vec<u8>)) {
    let mut saved = fs::read(line_file(dir)).expect("a saved line");
    change(&mut saved);
    fs::write(line_file(dir), saved).expect("written");
}

/// Replaces a text by one that begins with it and has one character more, in place of the character behind it.
fn replace(saved: &mut [u8], from: &str, to: &str) {
    let starts: Vec<_> = (0..saved.len())
        .filter(|at| saved[*at..].starts_with(from.as_bytes()))
        .collect();
    assert!(!starts.is_empty(), "the saved line names its layout");
    for at in starts {
        saved[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
}

/// The folder is put back as it was at an earlier orderly stop: the process cannot know of a later state.
#[tokio::test]
async fn a_folder_that_was_put_back_continues_its_epoch() {
    let dir = temporary_folder();
    let (copy, guests, created) = stop_and_copy(&dir).await;
    let runner = start_runner(&copy);
    assert_eq!(epoch(&runner, QUEUE).await, created);
    for guest in &guests {
        guest.expect_same_entry(&runner).await;
    }
    runner.stop("TERM", BOUND).await;
}

/// The backup has a higher watermark than the saved line, so the line lacks changes.
#[tokio::test]
async fn a_line_below_the_fence_continues_no_epoch() {
    let dir = temporary_folder();
    let (_, guests, created) = stop_and_copy(&dir).await;
    let store = FileBackup::open(dir.path().join("backup.redb")).expect("the store");
    let queue = QUEUE.parse().expect("a queue id");
    store.raise_watermark(&queue, 1, 1_000).await.expect("written");
    drop(store);
    let runner = start_runner(&dir);
    wait_until(BOUND, "the queue is restored", async || {
        epoch(&runner, QUEUE).await == created + 1
    })
    .await;
    for guest in &guests {
        guest.expect_same_entry(&runner).await;
    }
    runner.stop("TERM", BOUND).await;
}

/// A record that came into the file without the line, such as from a copy, is in line after its next request.
#[tokio::test]
async fn an_entry_that_the_line_lacks_keeps_its_place() {
    let dir = temporary_folder();
    let (_, guests, _) = stop_and_copy(&dir).await;
    let store = FileBackup::open(dir.path().join("backup.redb")).expect("the store");
    let place = place(0);
    let entered = change(fresh_id(), 1, Event::Entered { place, after: None });
    let queue: QueueId = QUEUE.parse().expect("a queue id");
    let partition = partition_of(queue.clone());
    store.put_change(&partition, &entered).await.expect("written");
    let salt = store
        .read_queue(&queue)
        .await
        .expect("read")
        .expect("is there")
        .metadata
        .salt;
    drop(store);
    let root = fs::read(dir.path().join("root.key")).expect("the root key");
    let root = RootKey::new(root).expect("long enough");
    let ids = IdKey::derive_for_queue(&root, &queue, &salt).expect("the key of the salt");
    let secret = ids.visitor_secret(entered.id);
    let runner = start_runner(&dir);
    let path = format!("/queues/{QUEUE}/entries/{}", entered.id);
    wait_until(BOUND, "the entry is in line", async || {
        let answer = runner
            .http()
            .get(runner.url(&path))
            .header("x-visitor-id", secret.reveal())
            .send()
            .await
            .expect("answered");
        answer.json::<Value>().await.expect("JSON")["state"] == json!("waiting")
    })
    .await;
    for guest in &guests {
        guest.expect_same_entry(&runner).await;
    }
    runner.stop("TERM", BOUND).await;
}

/// As on a Redis that goes on: the settings in force stay, and an operator sees what is wrong with the stored ones.
#[tokio::test]
async fn an_invalid_stored_setting_leaves_those_in_force() {
    let dir = temporary_folder();
    let (_, guests, created) = stop_and_copy(&dir).await;
    let store = FileBackup::open(dir.path().join("backup.redb")).expect("the store");
    let queue = QUEUE.parse().expect("a queue id");
    let stored = store.read_queue(&queue).await.expect("read").expect("is there");
    let mut invalid = stored.settings.as_map().expect("a map").clone();
    invalid.insert("capacity".to_owned(), json!("many"));
    let replaced = store.replace_settings(&queue, &stored.settings, &invalid).await;
    assert!(replaced.expect("written").is_some());
    drop(store);
    let runner = start_runner(&dir);
    for guest in &guests {
        guest.expect_same_entry(&runner).await;
    }
    let described = runner
        .run_command(json!({ "op": "describe", "queue": QUEUE }))
        .await;
    let problem = described["stored_settings_problem"].as_str().expect("a problem");
    assert!(problem.starts_with("capacity: "), "{problem}");
    assert_eq!(epoch(&runner, QUEUE).await, created);
    runner.stop("TERM", BOUND).await;
}

/// A folder in which nothing can be written: the stop says so, and the next start restores.
#[tokio::test]
async fn a_line_that_cannot_be_saved_is_logged() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    create_queue(&runner, 1).await;
    let guest = Guest::enter(&runner).await;
    let created = epoch(&runner, QUEUE).await;
    // A folder of the name of the file that is written first.
    fs::create_dir(dir.path().join("line.resp.new")).expect("made");
    let log = runner.stop("TERM", BOUND).await;
    assert!(log.contains("line.not_saved"), "{log}");
    fs::remove_dir(dir.path().join("line.resp.new")).expect("removed");
    let runner = start_runner(&dir);
    assert_eq!(epoch(&runner, QUEUE).await, created + 1);
    guest.expect_same_entry(&runner).await;
    runner.stop("TERM", BOUND).await;
}
