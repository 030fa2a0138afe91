//! Items of the entries table of DynamoDB that are damaged, for example after an edit by hand.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::{change::Event, id::EntryId};
use vestibule_tests::{
    entries::{change, fresh_id, fresh_partition, place},
    servers,
};

use crate::dynamodb::plain_client;

/// Sets an attribute of the entry's item, or removes it, as an operator may by hand.
async fn edit_entry_item(
    partition: &EntryPartition,
    id: EntryId,
    attribute: &str,
    value: Option<AttributeValue>,
) {
    let shard = format!("{}#{}#{}", partition.queue, partition.generation, id.shard());
    let expression = if value.is_some() {
        "SET #attribute = :value"
    } else {
        "REMOVE #attribute"
    };
    plain_client()
        .await
        .update_item()
        .table_name(TableNames::default().entries)
        .key("shard", AttributeValue::S(shard))
        .key("entry", AttributeValue::S(id.to_string()))
        .update_expression(expression)
        .expression_attribute_names("#attribute", attribute)
        .set_expression_attribute_values(value.map(|value| [(":value".to_owned(), value)].into()))
        .send()
        .await
        .expect("written");
}

#[tokio::test]
async fn unreadable_entry_item_is_named_and_skipped_in_lists() {
    let number = |digits: &str| Some(AttributeValue::N(digits.to_owned()));
    for (attribute, value) in [
        ("visit", number("562949953421312")),
        ("step", number("7")),
        ("over", number("2")),
        // The entry is live, so it did not leave.
        ("status", Some(AttributeValue::S("LEFT".to_owned()))),
        // Items had no steps before the order of facts.
        ("step", None),
    ] {
        let (backup, partition, id) = (servers::dynamodb_backup().await, fresh_partition(), fresh_id());
        let place = place(0);
        let entered = change(id, 1, Event::Entered { place, after: None });
        backup.put_change(&partition, &entered).await.expect("written");
        edit_entry_item(&partition, id, attribute, value.clone()).await;
        let claimed = Event::Claimed {
            visit: place.visit(),
            session_end_ms: place.joined_at_ms() + 60_000,
        };
        let read = backup.read_entry(&partition, id).await.map(drop);
        // A write that the item refuses returns the item, and is no success either.
        let repeated = backup.put_change(&partition, &entered).await.map(drop);
        for answer in [read, repeated] {
            let error = answer.expect_err("the item is unreadable");
            assert!(
                matches!(&error, BackupError::Unreadable(text) if text.contains(attribute)),
                "{attribute} = {value:?}: {error}"
            );
        }
        if value.is_none() {
            let written = backup.put_change(&partition, &change(id, 2, claimed)).await;
            assert!(matches!(&written, Err(BackupError::Unreadable(_))), "{written:?}");
        }
        // A list of all live entries skips the item. Otherwise the queue could never be restored.
        let live = backup.read_live_entries(&partition, id.shard(), u64::MAX).await;
        assert_eq!(live.expect("the list skips the item"), []);
    }
}

/// The backup writes the other changes and still knows that the table accepts writes.
#[tokio::test]
async fn batch_with_a_damaged_item_writes_the_others() {
    let (backup, partition) = (servers::dynamodb_backup().await, fresh_partition());
    let changes: Vec<_> = (0..3)
        .map(|n| {
            change(
                fresh_id(),
                n + 1,
                Event::Entered {
                    place: place(n),
                    after: None,
                },
            )
        })
        .collect();
    let damaged = changes[1].id;
    plain_client()
        .await
        .put_item()
        .table_name(TableNames::default().entries)
        .item(
            "shard",
            AttributeValue::S(format!(
                "{}#{}#{}",
                partition.queue,
                partition.generation,
                damaged.shard()
            )),
        )
        .item("entry", AttributeValue::S(damaged.to_string()))
        .item("status", AttributeValue::N("1".to_owned()))
        .send()
        .await
        .expect("written");
    let until = tokio::time::Instant::now() + Duration::from_secs(30);
    let outcomes = backup.put_changes(&partition, &changes, until).await;
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert!(
        matches!(&outcomes[1], Err(BackupError::Unreadable(_))),
        "{outcomes:?}"
    );
    backup
        .probe_writes(&partition)
        .await
        .expect("the table accepts writes");
    let without_entries_table = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(servers::dynamodb_url()),
        tables: TableNames {
            entries: "no-such-table".to_owned(),
            ..TableNames::default()
        },
    })
    .await;
    without_entries_table
        .ping()
        .await
        .expect("the queues table exists");
    without_entries_table
        .probe_writes(&partition)
        .await
        .expect_err("the entries table does not exist");
}
