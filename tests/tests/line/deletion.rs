//! A deleted queue: nothing of it is left but a tombstone, and no process with an older view brings it back.

use redis::aio::MultiplexedConnection;
use vestibule_domain::{configuration::Configuration, tombstone::Tombstone};
use vestibule_line::{Arrival, ConfigureOutcome, LeaveReason, Line, LineError, QueueTrace, RestoredEntries};
use vestibule_tests::lines::{Backend, Subject, visitor};

use crate::{
    missing::unknown,
    restore::{configuration_of_epoch, restored_entries},
    settings::three_a_second,
};

/// The tombstone of the queue that `open_with_entries` opens, which has epoch 1.
fn tombstone(subject: &Subject) -> Tombstone {
    Tombstone::new(1, 1, subject.clock.now_ms())
}

/// Opens the queue with entries in every state, a journal record and an end that the backup lacks.
async fn open_with_entries(subject: &mut Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=5).await;
    subject.leave(visitor(5), LeaveReason::Leave).await;
    subject.tick().await;
    subject.claim(visitor(1)).await;
}

async fn delete(subject: &Subject, tombstone: &Tombstone) -> bool {
    let deleted = subject.line.delete_queue(&subject.queue, tombstone).await;
    deleted.expect("delete_queue")
}

async fn find_trace(subject: &Subject) -> QueueTrace {
    subject.line.find_trace(&subject.queue).await.expect("find_trace")
}

/// The configuration of a queue that is created again above the tombstone.
fn configuration_above(subject: &Subject, tombstone: &Tombstone) -> Configuration {
    Configuration {
        generation: tombstone.generation + 1,
        min_epoch: tombstone.epoch + 1,
        ..configuration_of_epoch(subject, tombstone.epoch + 1)
    }
}

pub(crate) async fn nothing_is_left_of_a_deleted_queue_but_its_tombstone(mut subject: Subject) {
    assert_eq!(find_trace(&subject).await, QueueTrace::None);
    open_with_entries(&mut subject).await;
    let live = QueueTrace::Queue {
        epoch: 1,
        generation: 1,
        is_own: true,
    };
    assert_eq!(find_trace(&subject).await, live);
    let tombstone = tombstone(&subject);
    for _ in 0..2 {
        assert!(delete(&subject, &tombstone).await, "the call is idempotent");
        assert_eq!(find_trace(&subject).await, QueueTrace::Deleted(tombstone));
    }
    let (line, queue) = (&subject.line, &subject.queue);
    for outcome in [
        line.queue_view(queue).await.map(drop),
        line.change_mark(queue).await.map(drop),
        line.enter(queue, visitor(6), Arrival::Ordinary).await.map(drop),
        line.status(queue, visitor(1)).await.map(drop),
        line.claim(queue, visitor(2)).await.map(drop),
        line.due_journal_records(queue, 1).await.map(drop),
        line.unflushed(queue, 1).await.map(drop),
        line.raise_watermark(queue, 1, 0).await.map(drop),
    ] {
        assert!(matches!(outcome, Err(LineError::QueueNotFound)), "{outcome:?}");
    }
}

pub(crate) async fn an_older_process_cannot_bring_a_deleted_queue_back(mut subject: Subject) {
    open_with_entries(&mut subject).await;
    // A restore with epoch 2 had begun. The deletion knows that epoch.
    assert!(subject.line.drop_queue(&subject.queue, 2).await.expect("dropped"));
    let begun = QueueTrace::Queue {
        epoch: 2,
        generation: 1,
        is_own: false,
    };
    assert_eq!(find_trace(&subject).await, begun);
    let tombstone = Tombstone::new(2, 1, subject.clock.now_ms());
    assert!(delete(&subject, &tombstone).await);
    for epoch in 1..=tombstone.epoch {
        let configuration = configuration_of_epoch(&subject, epoch);
        for create in [false, true] {
            let configured = subject
                .line
                .configure(&subject.queue, &configuration, create)
                .await;
            assert!(
                matches!(configured, Err(LineError::QueueNotFound)),
                "epoch {epoch}, create {create}: {configured:?}"
            );
        }
        let dropped = subject.line.drop_queue(&subject.queue, epoch).await;
        assert!(!dropped.expect("drop_queue"), "epoch {epoch}");
        let places = RestoredEntries::default();
        let restored = subject
            .line
            .restore(&subject.queue, &configuration, 0, places)
            .await;
        assert_eq!(
            restored.expect("restore"),
            ConfigureOutcome::Superseded,
            "epoch {epoch}"
        );
    }
    assert_eq!(find_trace(&subject).await, QueueTrace::Deleted(tombstone));
}

pub(crate) async fn a_queue_created_again_has_nothing_of_the_old_one(mut subject: Subject) {
    open_with_entries(&mut subject).await;
    let tombstone = tombstone(&subject);
    assert!(delete(&subject, &tombstone).await);
    let again = configuration_above(&subject, &tombstone);
    let created = subject.line.configure(&subject.queue, &again, true).await;
    assert_eq!(created.expect("configure"), ConfigureOutcome::Created);
    let view = subject.view().await;
    assert_eq!(
        (
            view.waiting,
            view.ready,
            view.active,
            view.journal_len,
            view.unsettled_ends
        ),
        (0, 0, 0, 0, 0)
    );
    assert_eq!(view.configuration, again);
    for number in 1..=5 {
        assert_eq!(subject.expect_not_found(visitor(number)).await, unknown(&subject));
    }
    // The command that deleted the first queue resumes only now, and so does one that restored it.
    subject.enter(visitor(6)).await;
    assert!(!delete(&subject, &tombstone).await);
    let old = configuration_of_epoch(&subject, 1);
    let restored = subject
        .line
        .restore(&subject.queue, &old, 0, RestoredEntries::default())
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Superseded);
    let view = subject.view().await;
    assert_eq!(view.totals.entered, 1, "the new queue goes on");
    // Deleted once more, it begins above both.
    let second = Tombstone::new(again.epoch, again.generation, subject.clock.now_ms());
    assert!(delete(&subject, &second).await);
    assert!(!delete(&subject, &tombstone).await, "the later tombstone stays");
    assert_eq!(find_trace(&subject).await, QueueTrace::Deleted(second));
}

pub(crate) async fn a_queue_lost_after_its_new_creation_is_restored(mut subject: Subject) {
    open_with_entries(&mut subject).await;
    let tombstone = tombstone(&subject);
    assert!(delete(&subject, &tombstone).await);
    // The command that created the queue again was killed before the line knew it.
    let epoch = tombstone.epoch + 2;
    assert!(
        subject
            .line
            .drop_queue(&subject.queue, epoch)
            .await
            .expect("dropped")
    );
    let lost = Configuration {
        epoch,
        ..configuration_above(&subject, &tombstone)
    };
    let restored = subject
        .line
        .restore(&subject.queue, &lost, 0, restored_entries(&[]))
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);
    assert_eq!(subject.view().await.configuration, lost);
}

/// The keys of the queue on its server, with their times to live in seconds; -1 for none.
async fn read_keys(server: &mut MultiplexedConnection, subject: &Subject) -> Vec<(String, i64)> {
    let mut command = redis::cmd("KEYS");
    command.arg(format!("vestibule:{{{}}}:*", subject.queue));
    let keys: Vec<String> = command.query_async(server).await.expect("keys");
    let mut found = Vec::new();
    for key in keys {
        let left: i64 = redis::cmd("TTL")
            .arg(&key)
            .query_async(server)
            .await
            .expect("a time");
        found.push((key, left));
    }
    found
}

async fn only_the_tombstone_is_a_key_and_it_expires(backend: Backend) {
    let mut subject = Subject::new(backend).await;
    open_with_entries(&mut subject).await;
    let line = Line::connect(&backend.url()).await.expect("the server answers");
    let deleted_at_ms = vestibule_tests::entries::now_ms();
    let deleted = line
        .delete_queue(&subject.queue, &Tombstone::new(1, 1, deleted_at_ms))
        .await;
    assert!(deleted.expect("delete_queue"));
    let mut server = backend.connection_to_owner(&subject.queue).await;
    let keys = read_keys(&mut server, &subject).await;
    let [(key, left)] = &keys[..] else {
        panic!("{keys:?}")
    };
    assert!(key.ends_with(":tombstone"), "{key}");
    let day_seconds = 86_400;
    assert!((89 * day_seconds..=90 * day_seconds).contains(left), "{left} s");
}

#[tokio::test]
async fn only_the_tombstone_is_a_key_on_redis() {
    only_the_tombstone_is_a_key_and_it_expires(Backend::Redis).await;
}

#[tokio::test]
async fn only_the_tombstone_is_a_key_in_a_cluster() {
    only_the_tombstone_is_a_key_and_it_expires(Backend::Cluster).await;
}
