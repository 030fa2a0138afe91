//! Status requests for an active entry whose claim is not in the backup, while the backup accepts no writes.

use serde_json::Value;
use tokio::sync::watch;
use vestibule_domain::{id::IdKey, state::EntryState};
use vestibule_line::{ClaimOutcome, JournalLimits};
use vestibule_tests::{
    functions::root_key,
    in_process::{ApiRequest, build_router, local_config, send_to},
};

use crate::{faulty_backup::WriteBehavior, faulty_scene::FaultyScene};

/// Status requests add no journal records, so they cannot fill the journal, which is for changes.
#[tokio::test]
async fn unwritten_claim_is_not_durable_and_not_journaled() {
    let scene = FaultyScene::new(JournalLimits::default()).await;
    let id = scene.enter_and_write(1).await[0];
    scene.promote().await;
    let claimed = scene.line.claim(&scene.queue, id).await;
    assert!(
        matches!(claimed, Ok(ClaimOutcome::Active { .. })),
        "the claim failed: {claimed:?}"
    );
    let (_stop, stopped) = watch::channel(false);
    let line = scene.line.clone();
    let router = build_router(line, scene.backup.clone(), local_config(), &stopped);
    let salt = scene.view().await.configuration.salt;
    let ids = IdKey::derive_for_queue(&root_key(), &scene.queue, &salt).expect("the key of the salt");
    let secret = ids.visitor_secret(id);
    let get_status = async || {
        let path = format!("/queues/{}/entries/{id}", scene.queue);
        send_to(&router, ApiRequest::get(path).visitor(secret.reveal())).await
    };
    let journal = scene.view().await.journal_len;

    scene.set_write_behavior(WriteBehavior::Unavailable);
    for _ in 0..3 {
        let answer = get_status().await;
        assert_eq!(answer.expect_status(200).text("state"), "active");
        assert_eq!(answer.body["durable"], false);
    }
    assert_eq!(scene.view().await.journal_len, journal);
    assert_ne!(scene.stored_state(id).await, Some(EntryState::Active));

    scene.set_write_behavior(WriteBehavior::Accepts);
    assert_eq!(get_status().await.expect_status(200).body["durable"], true);
    assert_eq!(scene.stored_state(id).await, Some(EntryState::Active));
    assert_eq!(
        get_status().await.expect_status(200).body["durable"],
        Value::Null,
        "no change is left to write"
    );
}
