//! Tests for DynamoDB alone: items that operators edit by hand.

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::{Client, types::AttributeValue};
use serde_json::json;
use vestibule_backup::{Backup, StoredSettings};
use vestibule_backup_dynamodb::TableNames;
use vestibule_domain::settings::Settings;
use vestibule_tests::{lines::fresh_queue, servers};

use crate::conformance::{live_entries_are_listed_exactly_once, stored_queue};

/// A plain client of DynamoDB, for items that the backup never writes.
pub(crate) async fn plain_client() -> Client {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .endpoint_url(servers::dynamodb_url())
        .load()
        .await;
    Client::new(&config)
}

#[tokio::test]
async fn reads_follow_every_page() {
    let backup = servers::dynamodb_backup().await.with_page_items(2);
    live_entries_are_listed_exactly_once(&backup).await;
    let queue = fresh_queue();
    let created = stored_queue(&json!({}));
    for queue in [fresh_queue(), queue.clone(), fresh_queue()] {
        backup.create_queue(&queue, &created).await.expect("created");
    }
    assert!(backup.list_queues().await.expect("an answer").contains(&queue));
}

#[tokio::test]
async fn settings_edited_by_hand_are_read_or_refused_by_name() {
    let (backup, queue) = (servers::dynamodb_backup().await, fresh_queue());
    let created = stored_queue(&json!({ "capacity": 1 }));
    backup.create_queue(&queue, &created).await.expect("created");
    let write = async |settings: AttributeValue| {
        plain_client()
            .await
            .update_item()
            .table_name(TableNames::default().queues)
            .key("queue", AttributeValue::S(queue.to_string()))
            .key("part", AttributeValue::S("settings".to_owned()))
            .update_expression("SET #settings = :settings")
            .expression_attribute_names("#settings", "settings")
            .expression_attribute_values(":settings", settings)
            .send()
            .await
            .expect("written");
    };
    let text = |text: &str| AttributeValue::S(text.to_owned());
    write(AttributeValue::M(
        [
            ("capacity".to_owned(), text("70")),
            ("batch".to_owned(), AttributeValue::N("5".to_owned())),
            ("paused".to_owned(), text("true")),
        ]
        .into(),
    ))
    .await;
    let read = backup
        .read_queue(&queue)
        .await
        .expect("an answer")
        .expect("the queue");
    let settings = read.settings.parse().expect("valid");
    assert_eq!(
        (settings.capacity, settings.batch, settings.paused),
        (70, 5, true)
    );
    let new = settings.to_map();
    assert!(
        backup
            .replace_settings(&queue, &read.settings, &new)
            .await
            .expect("an answer")
            .is_some(),
        "the settings that were read count as the expected ones"
    );

    let one = |name: &str, value| AttributeValue::M([(name.to_owned(), value)].into());
    let strange = AttributeValue::Ss(vec!["a".to_owned()]);
    for (wrong, field) in [
        (one("message", strange.clone()), "message"),
        // An operator pasted DynamoDB JSON into the view for plain JSON.
        (one("capacity", one("N", text("100"))), "capacity"),
        (one("capacity", AttributeValue::N("1e30".to_owned())), "capacity"),
        (text("{\"capacity\": 3}"), "settings"),
        (AttributeValue::L(vec![]), "settings"),
        (strange, "settings"),
    ] {
        write(wrong.clone()).await;
        let read = backup
            .read_queue(&queue)
            .await
            .expect("an answer")
            .expect("the queue");
        let error = read.settings.parse().expect_err("the setting is invalid");
        assert_eq!(error.field, field, "{wrong:?}");
        let replaced = backup.replace_settings(&queue, &read.settings, &new).await;
        assert!(
            replaced.expect("an answer").is_some(),
            "{wrong:?}: the settings that were read count as the expected ones"
        );
    }
}

#[tokio::test]
async fn deleted_settings_attribute_can_be_written_again() {
    let (backup, queue) = (servers::dynamodb_backup().await, fresh_queue());
    let created = stored_queue(&json!({ "capacity": 1 }));
    backup.create_queue(&queue, &created).await.expect("created");
    let deleted = plain_client()
        .await
        .update_item()
        .table_name(TableNames::default().queues)
        .key("queue", AttributeValue::S(queue.to_string()))
        .key("part", AttributeValue::S("settings".to_owned()))
        .update_expression("REMOVE #settings")
        .expression_attribute_names("#settings", "settings")
        .send()
        .await;
    deleted.expect("written");
    let read = backup
        .read_queue(&queue)
        .await
        .expect("an answer")
        .expect("the queue");
    assert_eq!(read.settings, StoredSettings::Missing);
    let new = Settings::default().to_map();
    let replace = |expected| {
        let (backup, queue, new) = (&backup, &queue, &new);
        async move { backup.replace_settings(queue, &expected, new).await }
    };
    let replaced = replace(StoredSettings::Missing).await.expect("an answer");
    assert_eq!(replaced, Some(created.settings_order + 1));
    let other = StoredSettings::Other(json!("else"));
    assert_eq!(
        replace(other).await.expect("an answer"),
        replaced,
        "a repeated write succeeds, because the first answer may be lost"
    );
    let missing_queue = fresh_queue();
    let replaced = backup
        .replace_settings(&missing_queue, &StoredSettings::Missing, &new)
        .await;
    assert_eq!(replaced.expect("an answer"), None, "the queue does not exist");
    assert_eq!(backup.read_queue(&missing_queue).await.expect("an answer"), None);
}
