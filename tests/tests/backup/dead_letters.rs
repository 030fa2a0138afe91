//! Changes that the backup refuses or throttles, or cannot take in an outage. None is lost, and none blocks another.

use std::collections::HashSet;

use vestibule_domain::state::EntryState;
use vestibule_engine::{
    dead_letter,
    flush::{FlushError, FlushOutcome, TRIES_MAX},
};
use vestibule_line::{AdoptBasis, AdoptOrder, AdoptOutcome, JournalLimits};

use crate::{faulty_backup::WriteBehavior, faulty_scene::FaultyScene};

#[tokio::test]
async fn refused_change_blocks_no_other_and_is_dead_lettered() {
    let scene = FaultyScene::new(JournalLimits::default()).await;
    let ids = scene.enter_and_write(5).await;
    scene.promote().await;
    let late = scene.enter_and_write(1).await[0];
    let left = scene.end_without_backup(late).await;
    scene
        .line
        .append_to_journal(&scene.queue, &left)
        .await
        .expect("recorded");
    scene.set_write_behavior(WriteBehavior::RefusesSome(vec![ids[2]]));

    let flushed = scene.flush().await.expect("the flush writes the other changes");
    assert_eq!(
        (flushed.changes, flushed.refused, flushed.dead_lettered),
        (5, 1, 0)
    );
    for (nth, id) in ids.iter().enumerate() {
        let state = if nth == 2 {
            EntryState::Waiting
        } else {
            EntryState::Ready
        };
        assert_eq!(scene.stored_state(*id).await, Some(state), "entry {nth}");
    }
    assert_eq!(
        scene.stored_state(late).await,
        Some(EntryState::Completed),
        "the change after the refused one is written"
    );
    assert_eq!(
        scene.flush().await.expect("flushed"),
        FlushOutcome::default(),
        "the refused change is not tried again at once"
    );

    let before = scene.backup.faults().decided_writes(ids[2]);
    let mut flush_count = 0;
    while scene.view().await.dead_letters == 0 {
        scene.pass_seconds(10);
        scene.flush().await.expect("flushed");
        flush_count += 1;
        assert!(
            flush_count < 6 * 20,
            "the change did not become a dead letter within 20 minutes"
        );
    }
    assert!(
        flush_count > 6 * 2,
        "the attempts came in a burst: {flush_count} flushes"
    );
    let tries = 1 + scene.backup.faults().decided_writes(ids[2]) - before;
    assert_eq!(
        tries,
        usize::try_from(TRIES_MAX).expect("the count fits into usize")
    );
    assert_eq!(scene.view().await.journal_len, 0);
    assert_eq!(scene.kept_ids().await, HashSet::from([ids[2]]));

    let still = dead_letter::retry_dead_letters(&scene.line, &*scene.backup, &scene.partition).await;
    assert_eq!(still.expect("tried").remaining, 1);
    scene.set_write_behavior(WriteBehavior::Accepts);
    let taken = dead_letter::retry_dead_letters(&scene.line, &*scene.backup, &scene.partition).await;
    let taken = taken.expect("taken");
    assert_eq!((taken.written, taken.remaining), (1, 0));
    assert_eq!(scene.stored_state(ids[2]).await, Some(EntryState::Ready));
    assert_eq!(scene.view().await.dead_letters, 0);
}

#[tokio::test]
async fn outage_creates_no_dead_letters() {
    let scene = FaultyScene::new(JournalLimits::default()).await;
    let ids = scene.enter_and_write(50).await;
    scene.promote().await;
    for id in &ids[..3] {
        let left = scene.end_without_backup(*id).await;
        scene
            .line
            .append_to_journal(&scene.queue, &left)
            .await
            .expect("recorded");
    }
    let before = scene
        .line
        .due_journal_records(&scene.queue, 100)
        .await
        .expect("an answer");
    scene.set_write_behavior(WriteBehavior::Unavailable);
    let error = scene.flush().await.expect_err("the backup is unavailable");
    assert!(matches!(error, FlushError::Backup(_)), "{error}");
    scene.flush_for_an_hour().await;
    assert_eq!(
        scene
            .line
            .due_journal_records(&scene.queue, 100)
            .await
            .expect("an answer"),
        before
    );
    assert_eq!(scene.view().await.dead_letters, 0);
    scene.set_write_behavior(WriteBehavior::Accepts);
    scene.flush().await.expect("the backup is available again");
    assert_eq!(scene.view().await.journal_len, 0);
    assert_eq!(scene.stored_state(ids[0]).await, Some(EntryState::Left));
    assert_eq!(scene.stored_state(ids[9]).await, Some(EntryState::Ready));
}

#[tokio::test]
async fn backup_that_refuses_all_changes_loses_none() {
    let limits = JournalLimits {
        dead_letters: 20,
        ..JournalLimits::default()
    };
    let scene = FaultyScene::new(limits).await;
    let ids = scene.enter_and_write(60).await;
    scene.promote().await;
    scene.set_write_behavior(WriteBehavior::RefusesAll);
    scene.flush_for_an_hour().await;
    assert_eq!(
        scene.view().await.dead_letters,
        20,
        "the dead letters stop at their limit"
    );
    assert_eq!(scene.kept_ids().await, ids.iter().copied().collect());
    scene.set_write_behavior(WriteBehavior::Accepts);
    scene.flush().await.expect("flushed");
    let retried = dead_letter::retry_dead_letters(&scene.line, &*scene.backup, &scene.partition).await;
    assert_eq!(retried.expect("taken").written, 20);
    assert!(scene.kept_ids().await.is_empty());
    for id in ids {
        assert_eq!(scene.stored_state(id).await, Some(EntryState::Ready));
    }
}

#[tokio::test]
async fn throttled_flush_writes_each_of_1000_changes_once() {
    let scene = FaultyScene::new(JournalLimits::default()).await;
    let ids = scene.enter_and_write(1_000).await;
    scene.promote().await;
    assert_eq!(scene.view().await.journal_len, 1);
    let before: Vec<_> = ids
        .iter()
        .map(|id| scene.backup.faults().decided_writes(*id))
        .collect();
    scene.set_write_behavior(WriteBehavior::ThrottlesAfter(600));
    let error = scene.flush().await.expect_err("the backup throttles");
    assert!(error.to_string().contains("throttles"), "{error}");
    let journal = scene
        .line
        .due_journal_records(&scene.queue, 10)
        .await
        .expect("an answer");
    assert_eq!(journal.len(), 1, "the journal still has one record");
    assert_eq!(
        journal[0].changes.len(),
        400,
        "the record keeps only the unwritten changes"
    );
    scene.set_write_behavior(WriteBehavior::Accepts);
    scene.flush().await.expect("the flush writes the rest");
    let view = scene.view().await;
    assert_eq!(
        (view.journal_len, view.dead_letters),
        (0, 0),
        "throttling creates no dead letters"
    );
    for (id, before) in ids.into_iter().zip(before) {
        assert_eq!(scene.stored_state(id).await, Some(EntryState::Ready));
        assert_eq!(
            scene.backup.faults().decided_writes(id) - before,
            1,
            "each change is written once"
        );
    }
}

#[tokio::test]
async fn dead_lettered_end_prevents_restoring_the_entry() {
    let scene = FaultyScene::new(JournalLimits::default()).await;
    let id = scene.enter_and_write(1).await[0];
    let live = scene.record(id).await.expect("written");
    let left = scene.end_without_backup(id).await;
    scene
        .line
        .append_to_journal(&scene.queue, &left)
        .await
        .expect("recorded");
    scene.set_write_behavior(WriteBehavior::RefusesSome(vec![id]));
    scene.flush_for_an_hour().await;
    assert_eq!(scene.view().await.dead_letters, 1);
    let order = AdoptOrder {
        id,
        generation: 1,
        record: Some(live),
        basis: AdoptBasis::UnknownAt(scene.view().await.now_ms),
    };
    let outcome = scene.line.adopt(&scene.queue, &order).await;
    assert_eq!(
        outcome.expect("an answer"),
        AdoptOutcome::Ended {
            change: Some(left),
            has_removed: false
        },
        "the ended entry must not be restored"
    );

    scene.set_write_behavior(WriteBehavior::Accepts);
    let retried = dead_letter::retry_dead_letters(&scene.line, &*scene.backup, &scene.partition).await;
    assert_eq!(retried.expect("taken").written, 1);
    assert_eq!(scene.stored_state(id).await, Some(EntryState::Left));
    assert_eq!(scene.view().await.unsettled_ends, 0, "the end is settled");
}

#[tokio::test]
async fn two_flushes_at_once_count_a_refusal_once() {
    let scene = FaultyScene::new(JournalLimits::default()).await;
    let ids = scene.enter_and_write(4).await;
    scene.promote().await;
    scene.set_write_behavior(WriteBehavior::RefusesSome(vec![ids[1]]));
    let (one, other) = tokio::join!(scene.flush(), scene.flush());
    one.expect("flushed");
    other.expect("flushed");
    assert_eq!(
        scene.view().await.journal_len,
        1,
        "the refused change has one journal record"
    );
    assert_eq!(scene.kept_ids().await, HashSet::from([ids[1]]));
}
