//! Tests of the listing with fingerprints, and of the defaults of patterns beside the queues.

use serde_json::{Map, Value, json};
use vestibule_backup::{Backup, QueueFingerprint, StoredDefaults, StoredQueue, StoredSettings};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    id::{QueueId, Salt},
    queue_pattern::QueuePattern,
};
use vestibule_tests::{lines::fresh_queue, servers};

use super::stored_queue;

on_both_backups! {
    fingerprint_changes_with_the_stored_queue
    fingerprint_ignores_the_watermark_and_the_lease
    defaults_are_replaced_and_removed
    defaults_are_no_queue
}

async fn fingerprint(backup: &dyn Backup, queue: &QueueId) -> Option<QueueFingerprint> {
    let listed = backup.list_all_queues().await.expect("an answer").queues;
    let mut of_queue = listed.into_iter().filter(|(listed, _)| listed == queue);
    let found = of_queue.next().map(|(_, fingerprint)| fingerprint);
    assert!(of_queue.next().is_none(), "a queue is listed once");
    found
}

fn to_map(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

async fn fingerprint_changes_with_the_stored_queue(backup: &dyn Backup) {
    let queue = fresh_queue();
    assert_eq!(fingerprint(backup, &queue).await, None);
    let created = stored_queue(&json!({ "capacity": 1 }));
    backup.create_queue(&queue, &created).await.expect("created");
    let first = fingerprint(backup, &queue).await;
    assert!(first.is_some());
    assert_eq!(fingerprint(backup, &queue).await, first, "nothing changed");

    let other = to_map(&json!({ "capacity": 2 }));
    let replaced = backup.replace_settings(&queue, &created.settings, &other).await;
    assert!(replaced.expect("written").is_some());
    let second = fingerprint(backup, &queue).await;
    assert_ne!(second, first, "the settings changed");
    let epoch = created.metadata.epoch;
    let begun = backup.begin_generation(&queue, epoch, Salt::new([8; 32])).await;
    assert!(begun.expect("written").is_some());
    assert_ne!(fingerprint(backup, &queue).await, second, "the queue was reset");

    let twin = fresh_queue();
    let stored: StoredQueue = created.clone();
    backup.create_queue(&twin, &stored).await.expect("created");
    assert_eq!(
        fingerprint(backup, &twin).await,
        first,
        "the contents count, not the name"
    );
}

async fn fingerprint_ignores_the_watermark_and_the_lease(backup: &dyn Backup) {
    let queue = fresh_queue();
    let created = stored_queue(&json!({}));
    backup.create_queue(&queue, &created).await.expect("created");
    let before = fingerprint(backup, &queue).await;
    let (epoch, lease) = (created.metadata.epoch, created.metadata.lease.expect("a lease"));
    backup.raise_watermark(&queue, epoch, 99).await.expect("raised");
    backup
        .release_lease(&queue, epoch, lease.holder)
        .await
        .expect("released");
    assert_eq!(fingerprint(backup, &queue).await, before);
}

/// The defaults of one pattern. Tests on a shared table have patterns of their own.
async fn defaults(backup: &dyn Backup, pattern: &QueuePattern) -> Option<StoredSettings> {
    let all = backup.list_defaults().await.expect("an answer");
    let mut of_pattern = all
        .into_iter()
        .filter(|StoredDefaults { pattern: stored, .. }| *stored == pattern.to_string());
    let found = of_pattern.next().map(|defaults| defaults.settings);
    assert!(of_pattern.next().is_none(), "a pattern has one set of defaults");
    found
}

async fn defaults_are_replaced_and_removed(backup: &dyn Backup) {
    let pattern: QueuePattern = format!("{}*", fresh_queue()).parse().expect("a pattern");
    assert_eq!(defaults(backup, &pattern).await, None);
    let replace = async |settings: Option<&Map<String, Value>>| {
        backup
            .replace_defaults(&pattern, settings)
            .await
            .expect("written")
    };
    let first = to_map(&json!({ "capacity": 7, "message": "곧", "ticket_keys": { "keys": [] } }));
    assert!(!replace(Some(&first)).await, "the pattern had none");
    assert_eq!(defaults(backup, &pattern).await, Some(first.clone().into()));
    let second = to_map(&json!({ "batch": "3" }));
    assert!(replace(Some(&second)).await);
    assert_eq!(
        defaults(backup, &pattern).await,
        Some(second.into()),
        "the earlier ones are gone"
    );
    assert!(replace(None).await);
    assert!(!replace(None).await, "there is nothing left to remove");
    assert_eq!(defaults(backup, &pattern).await, None);
}

async fn defaults_are_no_queue(backup: &dyn Backup) {
    let queue = fresh_queue();
    let pattern: QueuePattern = format!("{queue}*").parse().expect("a pattern");
    let settings = to_map(&json!({ "capacity": 7 }));
    backup
        .replace_defaults(&pattern, Some(&settings))
        .await
        .expect("written");
    let listed = backup.list_queues().await.expect("an answer");
    assert!(!listed.iter().any(|listed| pattern.matches(listed)), "{listed:?}");
    assert_eq!(backup.read_queue(&queue).await.expect("an answer"), None);
}
