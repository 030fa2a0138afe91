//! A look at somebody inside whose claim nobody wrote, while the backup can be read and takes nothing.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use vestibule_domain::state::EntryState;
use vestibule_line::{ClaimOutcome, EntryLine, JournalLimits};
use vestibule_tests::edge::{Ask, local, process, send_to};

use crate::{picky::Mood, scene::Scene};

/// They may look as often as they like: the journal has room for what somebody did.
#[tokio::test]
async fn it_says_that_the_claim_is_not_durable_and_leaves_the_journal_alone() {
    let scene = Scene::new(JournalLimits::default()).await;
    let id = scene.come(1).await[0];
    scene.promote().await;
    let claimed = scene.line.claim(&scene.queue, id).await;
    assert!(
        matches!(claimed, Ok(ClaimOutcome::Active { .. })),
        "and the process dies: {claimed:?}"
    );
    let (_stop, stopped) = watch::channel(false);
    let line = Arc::new(scene.line.clone());
    let router = process(line, scene.backup.clone(), local(), &stopped);
    let look = async || {
        let path = format!("/queues/{}/entries/{id}", scene.queue);
        send_to(&router, Ask::get(path)).await
    };
    let journal = scene.view().await.journal_len;

    scene.backup.turn(Mood::Away);
    for _ in 0..3 {
        let told = look().await;
        assert_eq!(told.is(200).text("state"), "active");
        assert_eq!(told.body["durable"], false);
    }
    assert_eq!(scene.view().await.journal_len, journal);
    assert_ne!(scene.state(id), Some(EntryState::Active));

    scene.backup.turn(Mood::Takes);
    assert_eq!(look().await.is(200).body["durable"], true);
    assert_eq!(scene.state(id), Some(EntryState::Active));
    assert_eq!(
        look().await.is(200).body["durable"],
        Value::Null,
        "nothing is left to write"
    );
}
