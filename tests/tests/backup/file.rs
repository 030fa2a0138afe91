//! Tests for the file alone: it keeps every acknowledged write after a kill, and its errors say what is wrong.

use std::{
    fs,
    future::poll_fn,
    io::{BufRead, BufReader, Read},
    path::Path,
    pin::pin,
    process::{Child, Command, Stdio},
    task::Poll,
};

use vestibule_backup::Backup;
use vestibule_backup_file::{FileBackup, FileError};
use vestibule_domain::{
    change::{EndReason, Event},
    fact::Fact,
    id::EntryId,
};
use vestibule_tests::entries::{change, fresh_id, fresh_partition, now_ms, place};

const HOUR_MS: u64 = 3_600_000;

/// Starts a process that writes to the file until it is killed.
fn start_writer(path: &Path, queue: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_store_writer"))
        .arg(path)
        .arg(queue)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the writer starts")
}

#[tokio::test]
async fn every_acknowledged_write_survives_a_kill() {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, partition) = (directory.path().join("store"), fresh_partition());
    let mut acknowledged: Vec<EntryId> = Vec::new();
    for round in 1..=5 {
        let mut child = start_writer(&path, partition.queue.as_str());
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        for _ in 0..round * 37 {
            let mut line = String::new();
            lines.read_line(&mut line).expect("a line");
            acknowledged.push(line.trim().parse().expect("an entry id"));
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        let mut rest = String::new();
        lines.read_to_string(&mut rest).expect("the rest of the output");
        // The kill cut off the text after the last line break.
        let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
        acknowledged.extend(
            whole
                .lines()
                .map(|line| line.parse::<EntryId>().expect("an entry id")),
        );

        let backup = FileBackup::open(&path).expect("the store opens again");
        for id in &acknowledged {
            let read = backup.read_entry(&partition, *id).await.expect("an answer");
            assert!(
                read.is_some(),
                "round {round}: the acknowledged entry {id} is missing"
            );
        }
    }
}

#[tokio::test]
async fn file_in_use_is_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store");
    let mut child = start_writer(&path, "q");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("a line");
    let error = FileBackup::open(&path).expect_err("another process uses the file");
    assert!(matches!(error, FileError::InUse { .. }), "{error}");
    assert!(error.to_string().contains("in use by another process"), "{error}");
    child.kill().expect("killed");
    child.wait().expect("ended");

    let open = FileBackup::open(&path).expect("the file is free again");
    let error = FileBackup::open(&path).expect_err("this process uses the file");
    assert!(matches!(error, FileError::InUse { .. }), "{error}");
    drop(open);
    FileBackup::open(&path).expect("the file is free again");
}

#[tokio::test]
async fn corrupt_file_is_reported_and_left_unchanged() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store");
    let (partition, id) = (fresh_partition(), fresh_id());
    let entered = change(
        id,
        1,
        Event::Entered {
            place: place(0),
            after: None,
        },
    );
    let backup = FileBackup::open(&path).expect("a store");
    backup.put_change(&partition, &entered).await.expect("written");
    drop(backup);
    let whole = fs::read(&path).expect("the file");

    let garbled = [&whole[..320], &vec![0xA5; whole.len() - 320]].concat();
    let contents = [
        b"{}".to_vec(),
        b"{\"a line of text, longer than any magic number\": true}\n".repeat(100),
        whole[..20].to_vec(),
        whole[..5_000].to_vec(),
        garbled,
    ];
    for (nth, bytes) in contents.iter().enumerate() {
        fs::write(&path, bytes).expect("written");
        let error = FileBackup::open(&path).expect_err("the file is corrupt");
        assert!(matches!(error, FileError::Corrupt { .. }), "case {nth}: {error}");
        assert_eq!(
            &fs::read(&path).expect("the file"),
            bytes,
            "case {nth}: the file has changed"
        );
    }
}

#[test]
fn inaccessible_path_is_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let no_directory = directory.path().join("missing").join("store");
    for path in [directory.path(), &no_directory] {
        let error = FileBackup::open(path).expect_err("the path cannot hold a file");
        assert!(matches!(error, FileError::Inaccessible { .. }), "{error}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}

#[tokio::test]
async fn closing_writes_every_accepted_change() {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, partition) = (directory.path().join("store"), fresh_partition());
    let ids: Vec<_> = (0..100).map(|_| fresh_id()).collect();
    let backup = FileBackup::open(&path).expect("a store");
    for id in &ids {
        let entered = change(
            *id,
            1,
            Event::Entered {
                place: place(0),
                after: None,
            },
        );
        // Poll the write once and drop it, like a caller whose deadline has passed.
        let mut writing = pin!(backup.put_change(&partition, &entered));
        poll_fn(|context| {
            let _ = writing.as_mut().poll(context);
            Poll::Ready(())
        })
        .await;
    }
    drop(backup);
    let backup = FileBackup::open(&path).expect("the store opens again");
    for id in ids {
        assert!(
            backup
                .read_entry(&partition, id)
                .await
                .expect("an answer")
                .is_some()
        );
    }
}

#[tokio::test]
async fn expired_records_are_removed() {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, partition) = (directory.path().join("store"), fresh_partition());
    let backup = FileBackup::open(&path).expect("a store");
    let put_record_ended_at = async |backup: &FileBackup, at_ms| {
        let id = fresh_id();
        let ended = vestibule_domain::change::Change {
            at_ms,
            ..change(
                id,
                1,
                Event::Ended {
                    fact: Fact::ended(place(0).visit()),
                    how: EndReason::Left,
                },
            )
        };
        backup.put_change(&partition, &ended).await.expect("written");
        id
    };
    let is_stored = async |backup: &FileBackup, id| {
        backup
            .read_entry(&partition, id)
            .await
            .expect("an answer")
            .is_some()
    };

    let kept = put_record_ended_at(&backup, now_ms() - 23 * HOUR_MS).await;
    // An open store removes expired records, because each commit examines some records.
    let mut old = put_record_ended_at(&backup, now_ms() - 25 * HOUR_MS).await;
    for _ in 0..100 {
        if !is_stored(&backup, old).await {
            break;
        }
        put_record_ended_at(&backup, now_ms()).await;
    }
    assert!(!is_stored(&backup, old).await);
    // Opening a store also removes expired records, here the last record before the store closed.
    for _ in 0..70 {
        put_record_ended_at(&backup, now_ms()).await;
    }
    old = put_record_ended_at(&backup, now_ms() - 25 * HOUR_MS).await;
    drop(backup);
    let backup = FileBackup::open(&path).expect("the store opens again");
    assert!(!is_stored(&backup, old).await);
    assert!(is_stored(&backup, kept).await);
}
