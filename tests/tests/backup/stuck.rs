//! What the backup refuses, throttles, or cannot be asked for: nothing is lost, and nobody waits for it.

use std::collections::HashSet;

use vestibule_domain::state::EntryState;
use vestibule_engine::{
    dead_letter,
    flush::{FlushError, FlushOutcome, TRIES_MAX},
};
use vestibule_line::{
    EntryLine, JournalLimits, JournalLine, RecoveryLine, ReplacedEntry, RestoreEntryOrder,
    RestoreEntryOutcome,
};

use crate::{picky::Mood, scene::Scene};

#[tokio::test]
async fn one_change_that_is_refused_holds_up_nobody_and_is_set_aside() {
    let scene = Scene::new(JournalLimits::default()).await;
    let ids = scene.come(5).await;
    scene.promote().await;
    let late = scene.come(1).await[0];
    let left = scene.leaves(late).await;
    scene
        .line
        .append_to_journal(&scene.queue, &left)
        .await
        .expect("recorded");
    scene.backup.turn(Mood::Refuses(vec![ids[2]]));

    let drained = scene.drain().await.expect("the others are written");
    assert_eq!(
        (drained.changes, drained.refused, drained.dead_lettered),
        (5, 1, 0)
    );
    for (nth, id) in ids.iter().enumerate() {
        let state = if nth == 2 {
            EntryState::Waiting
        } else {
            EntryState::Ready
        };
        assert_eq!(scene.state(*id), Some(state), "{nth}");
    }
    assert_eq!(
        scene.state(late),
        Some(EntryState::Completed),
        "what came after it, too"
    );
    assert_eq!(
        scene.drain().await.expect("drained"),
        FlushOutcome::default(),
        "not at once"
    );

    let before = scene.backup.decided(ids[2]);
    let mut minutes = 0;
    while scene.view().await.dead_letters == 0 {
        scene.pass(10);
        scene.drain().await.expect("drained");
        minutes += 1;
        assert!(minutes < 6 * 20, "in 20 minutes it is aside");
    }
    assert!(minutes > 6 * 2, "no burst of tries");
    let tries = 1 + scene.backup.decided(ids[2]) - before;
    assert_eq!(tries, usize::try_from(TRIES_MAX).expect("few"));
    assert_eq!(scene.view().await.journal_len, 0);
    assert_eq!(scene.kept().await, HashSet::from([ids[2]]));

    let still = dead_letter::retry_dead_letters(&scene.line, &*scene.backup, &scene.shelf).await;
    assert_eq!(still.expect("tried").remaining, 1);
    scene.backup.turn(Mood::Takes);
    let taken = dead_letter::retry_dead_letters(&scene.line, &*scene.backup, &scene.shelf).await;
    let taken = taken.expect("taken");
    assert_eq!((taken.written, taken.remaining), (1, 0));
    assert_eq!(scene.state(ids[2]), Some(EntryState::Ready));
    assert_eq!(scene.view().await.dead_letters, 0);
}

#[tokio::test]
async fn an_outage_sets_nothing_aside() {
    let scene = Scene::new(JournalLimits::default()).await;
    let ids = scene.come(50).await;
    scene.promote().await;
    for id in &ids[..3] {
        let left = scene.leaves(*id).await;
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
    scene.backup.turn(Mood::Away);
    let error = scene.drain().await.expect_err("nobody takes it");
    assert!(matches!(error, FlushError::Backup(_)), "{error}");
    scene.drain_for_an_hour().await;
    assert_eq!(
        scene
            .line
            .due_journal_records(&scene.queue, 100)
            .await
            .expect("an answer"),
        before
    );
    assert_eq!(scene.view().await.dead_letters, 0);
    scene.backup.turn(Mood::Takes);
    scene.drain().await.expect("it is back");
    assert_eq!(scene.view().await.journal_len, 0);
    assert_eq!(scene.state(ids[0]), Some(EntryState::Left));
    assert_eq!(scene.state(ids[9]), Some(EntryState::Ready));
}

#[tokio::test]
async fn a_backup_that_refuses_everything_loses_nothing() {
    let limits = JournalLimits {
        dead_letters: 20,
        ..JournalLimits::default()
    };
    let scene = Scene::new(limits).await;
    let ids = scene.come(60).await;
    scene.promote().await;
    scene.backup.turn(Mood::RefusesAll);
    scene.drain_for_an_hour().await;
    assert_eq!(scene.view().await.dead_letters, 20, "and no more than that");
    assert_eq!(scene.kept().await, ids.iter().copied().collect());
    scene.backup.turn(Mood::Takes);
    scene.drain().await.expect("drained");
    let retried = dead_letter::retry_dead_letters(&scene.line, &*scene.backup, &scene.shelf).await;
    assert_eq!(retried.expect("taken").written, 20);
    assert!(scene.kept().await.is_empty());
    for id in ids {
        assert_eq!(scene.state(id), Some(EntryState::Ready));
    }
}

#[tokio::test]
async fn a_thousand_changes_get_through_a_backup_that_throttles_each_written_once() {
    let scene = Scene::new(JournalLimits::default()).await;
    let ids = scene.come(1_000).await;
    scene.promote().await;
    assert_eq!(scene.view().await.journal_len, 1);
    let before: Vec<_> = ids.iter().map(|id| scene.backup.decided(*id)).collect();
    scene.backup.turn(Mood::Throttles(600));
    let error = scene.drain().await.expect_err("not all of it");
    assert!(error.to_string().contains("throttles"), "{error}");
    let journal = scene
        .line
        .due_journal_records(&scene.queue, 10)
        .await
        .expect("an answer");
    assert_eq!(journal.len(), 1, "it stays one record");
    assert_eq!(journal[0].changes.len(), 400, "what is written is written");
    scene.backup.turn(Mood::Takes);
    scene.drain().await.expect("the rest");
    let view = scene.view().await;
    assert_eq!(
        (view.journal_len, view.dead_letters),
        (0, 0),
        "throttling sets nothing aside"
    );
    for (id, before) in ids.into_iter().zip(before) {
        assert_eq!(scene.state(id), Some(EntryState::Ready));
        assert_eq!(scene.backup.decided(id) - before, 1, "each is written once");
    }
}

#[tokio::test]
async fn an_end_that_is_aside_still_counts() {
    let scene = Scene::new(JournalLimits::default()).await;
    let id = scene.come(1).await[0];
    let live = scene.backup.record(id).expect("written");
    let left = scene.leaves(id).await;
    scene
        .line
        .append_to_journal(&scene.queue, &left)
        .await
        .expect("recorded");
    scene.backup.turn(Mood::Refuses(vec![id]));
    scene.drain_for_an_hour().await;
    assert_eq!(scene.view().await.dead_letters, 1);
    let revival = RestoreEntryOrder {
        record: live,
        generation: 1,
        replaced: ReplacedEntry::Nothing,
    };
    let revived = scene.line.restore_entry(&scene.queue, &revival).await;
    assert_eq!(
        revived.expect("an answer"),
        RestoreEntryOutcome::AlreadyEnded,
        "nobody comes back by it"
    );

    scene.backup.turn(Mood::Takes);
    let retried = dead_letter::retry_dead_letters(&scene.line, &*scene.backup, &scene.shelf).await;
    assert_eq!(retried.expect("taken").written, 1);
    assert_eq!(scene.state(id), Some(EntryState::Left));
    let end = scene
        .line
        .unsettled_end(&scene.queue, id)
        .await
        .expect("an answer");
    assert_eq!(end, None, "the line may forget it now");
}

#[tokio::test]
async fn two_drains_at_once_count_a_refusal_once() {
    let scene = Scene::new(JournalLimits::default()).await;
    let ids = scene.come(4).await;
    scene.promote().await;
    scene.backup.turn(Mood::Refuses(vec![ids[1]]));
    let (one, other) = tokio::join!(scene.drain(), scene.drain());
    one.expect("drained");
    other.expect("drained");
    assert_eq!(scene.view().await.journal_len, 1, "one record of it, not two");
    assert_eq!(scene.kept().await, HashSet::from([ids[1]]));
}
