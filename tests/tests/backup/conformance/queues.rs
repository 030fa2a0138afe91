//! Tests of queues and their settings.

use serde_json::{Map, Value, json};
use uuid::Uuid;
use vestibule_backup::{Backup, Lease, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{configuration::LAYOUT, id::Salt, kept_times::KeptTimes, settings::Settings};
use vestibule_tests::{lines::fresh_queue, servers};

on_both_backups! {
    queue_is_created_once
    settings_are_replaced_only_if_as_expected
    settings_read_back_unchanged
    kept_times_are_replaced_only_if_as_expected
}

fn to_map(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

pub(crate) fn stored_queue(settings: &Value) -> StoredQueue {
    StoredQueue {
        settings: to_map(settings).into(),
        settings_order: 4,
        metadata: QueueMetadata {
            layout: LAYOUT,
            epoch: 3,
            generation: 2,
            min_epoch: 2,
            salt: Salt::new([9; 32]),
            watermark: 17,
            opened_at_ms: Some(1_690_000_000_000),
            kept_times: KeptTimes {
                passes_until_ms: 1_690_000_062_000,
                claim_floor_ms: 60_000,
                claim_floor_until_ms: 1_690_000_062_000,
                grace_seconds: 600,
                grace_until_ms: 1_690_000_602_000,
            },
            lease: Some(Lease {
                holder: Uuid::from_u128(5),
                until_ms: 1_700_000_000_000,
            }),
        },
    }
}

async fn queue_is_created_once(backup: &dyn Backup) {
    let queue = fresh_queue();
    assert_eq!(backup.read_queue(&queue).await.expect("an answer"), None);
    assert!(!backup.list_queues().await.expect("an answer").contains(&queue));
    let first = stored_queue(&json!({ "capacity": 7 }));
    assert!(backup.create_queue(&queue, &first).await.expect("an answer"));
    let second = stored_queue(&json!({ "capacity": 8 }));
    assert!(!backup.create_queue(&queue, &second).await.expect("an answer"));
    assert_eq!(backup.read_queue(&queue).await.expect("an answer"), Some(first));
    let all = backup.list_queues().await.expect("an answer");
    assert_eq!(all.iter().filter(|found| **found == queue).count(), 1);
}

async fn settings_are_replaced_only_if_as_expected(backup: &dyn Backup) {
    let queue = fresh_queue();
    let [before, after, other] = [1, 2, 3].map(|capacity| to_map(&json!({ "capacity": capacity })));
    let replace = async |expected: &Map<String, Value>, settings: &Map<String, Value>| {
        let expected = expected.clone().into();
        backup.replace_settings(&queue, &expected, settings).await
    };
    assert_eq!(
        replace(&before, &after).await.expect("an answer"),
        None,
        "the queue does not exist"
    );
    assert_eq!(
        backup.read_queue(&queue).await.expect("an answer"),
        None,
        "the call does not create the queue"
    );

    let created = stored_queue(&json!({ "capacity": 1 }));
    backup.create_queue(&queue, &created).await.expect("an answer");
    assert_eq!(replace(&before, &after).await.expect("an answer"), Some(5));
    assert_eq!(
        replace(&before, &after).await.expect("an answer"),
        Some(5),
        "a repeated write succeeds, because the first answer may be lost"
    );
    assert_eq!(
        replace(&before, &other).await.expect("an answer"),
        None,
        "the settings changed in between"
    );
    assert_eq!(replace(&after, &before).await.expect("an answer"), Some(6));
    assert_eq!(replace(&before, &after).await.expect("an answer"), Some(7));
    let read = backup
        .read_queue(&queue)
        .await
        .expect("an answer")
        .expect("the queue");
    assert_eq!(
        read,
        StoredQueue {
            settings: after.into(),
            settings_order: 7,
            ..created
        }
    );
}

async fn settings_read_back_unchanged(backup: &dyn Backup) {
    for settings in [
        json!({}),
        Value::Object(Settings::default().to_map()),
        json!({ "capacity": "7", "batch": " 3 ", "paused": "true", "message": "곧 시작합니다", "target_url": "" }),
        json!({ "odd": [1, -2, 1.5, "x", null, { "deep": true }], "large": u64::MAX }),
    ] {
        let (queue, created) = (fresh_queue(), stored_queue(&settings));
        backup.create_queue(&queue, &created).await.expect("an answer");
        assert_eq!(backup.read_queue(&queue).await.expect("an answer"), Some(created));
    }
}

async fn kept_times_are_replaced_only_if_as_expected(backup: &dyn Backup) {
    let queue = fresh_queue();
    let none = KeptTimes::default();
    let [one, other] = [1, 2].map(|passes_until_ms| KeptTimes {
        passes_until_ms,
        ..none
    });
    let replace = async |epoch, expected, kept| {
        let replaced = backup.replace_kept_times(&queue, epoch, expected, kept).await;
        replaced.expect("an answer")
    };
    assert!(!replace(3, none, one).await, "the queue does not exist");
    let mut stored = stored_queue(&json!({}));
    stored.metadata.kept_times = none;
    assert!(backup.create_queue(&queue, &stored).await.expect("an answer"));
    let read = async || {
        let read = backup.read_queue(&queue).await.expect("an answer");
        read.expect("the queue").metadata
    };
    assert!(!replace(2, none, one).await, "the epoch is another one");
    assert!(replace(3, none, one).await);
    assert!(
        replace(3, none, one).await,
        "the answer of the first attempt was lost"
    );
    assert!(!replace(3, none, other).await, "another process replaced them");
    assert_eq!(read().await.kept_times, one);
    assert!(replace(3, one, other).await);
    assert_eq!(read().await.kept_times, other);

    let reset = backup.begin_generation(&queue, 3, Salt::new([8; 32])).await;
    assert_eq!(reset.expect("an answer").expect("the queue").kept_times, none);
    assert!(replace(4, none, one).await);
    assert_eq!(read().await.kept_times, one);
}
