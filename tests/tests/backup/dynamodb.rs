//! What holds for DynamoDB alone: what operators write by hand, and a service that is away.

use std::time::{Duration, Instant};

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::{Client, types::AttributeValue};
use serde_json::json;
use tokio::net::TcpListener;
use vestibule_backup::{Backup, BackupError, StoredSettings};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::{change::Event, settings::Settings};
use vestibule_tests::{
    entries::{change, fresh_id, fresh_partition, place},
    lines::fresh_queue,
    servers,
};

use crate::conformance::{stored, the_live_entries_are_exactly_the_live_ones};

/// The service's own client, for what the backup would never write.
async fn by_hand() -> Client {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .endpoint_url(servers::dynamodb_url())
        .load()
        .await;
    Client::new(&config)
}

async fn unreachable(endpoint_url: String) -> DynamoDbBackup {
    DynamoDbBackup::connect(Connection {
        endpoint_url: Some(endpoint_url),
        tables: TableNames::default(),
    })
    .await
}

#[tokio::test]
async fn every_page_is_read() {
    let backup = servers::dynamodb_backup().await.with_page_items(2);
    the_live_entries_are_exactly_the_live_ones(&backup).await;
    let queue = fresh_queue();
    let created = stored(&json!({}));
    for queue in [fresh_queue(), queue.clone(), fresh_queue()] {
        backup.create_queue(&queue, &created).await.expect("created");
    }
    assert!(backup.list_queues().await.expect("an answer").contains(&queue));
}

#[tokio::test]
async fn settings_that_an_operator_wrote_by_hand_are_read() {
    let (backup, queue) = (servers::dynamodb_backup().await, fresh_queue());
    let created = stored(&json!({ "capacity": 1 }));
    backup.create_queue(&queue, &created).await.expect("created");
    let write = async |settings: AttributeValue| {
        by_hand()
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
        "what was read by hand is what is expected"
    );

    let one = |name: &str, value| AttributeValue::M([(name.to_owned(), value)].into());
    let strange = AttributeValue::Ss(vec!["a".to_owned()]);
    for (wrong, field) in [
        (one("message", strange.clone()), "message"),
        // DynamoDB JSON, pasted where plain JSON was wanted.
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
        let error = read.settings.parse().expect_err("no such setting");
        assert_eq!(error.field, field, "{wrong:?}");
        let replaced = backup.replace_settings(&queue, &read.settings, &new).await;
        assert!(
            replaced.expect("an answer").is_some(),
            "{wrong:?}: what was read is what is expected"
        );
    }
}

#[tokio::test]
async fn an_attribute_that_a_hand_deleted_can_be_put_back() {
    let (backup, queue) = (servers::dynamodb_backup().await, fresh_queue());
    let created = stored(&json!({ "capacity": 1 }));
    backup.create_queue(&queue, &created).await.expect("created");
    let deleted = by_hand()
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
        "an answer was lost"
    );
    let nobody = fresh_queue();
    let replaced = backup
        .replace_settings(&nobody, &StoredSettings::Missing, &new)
        .await;
    assert_eq!(replaced.expect("an answer"), None, "no such queue");
    assert_eq!(backup.read_queue(&nobody).await.expect("an answer"), None);
}

#[tokio::test]
async fn an_item_that_is_none_of_ours_is_named() {
    let (backup, shelf, id) = (servers::dynamodb_backup().await, fresh_partition(), fresh_id());
    let entered = change(id, 1, Event::Entered { score: place(0) });
    backup.put_change(&shelf, &entered).await.expect("written");
    let shard = format!("{}#{}#{}", shelf.queue, shelf.generation, id.shard());
    by_hand()
        .await
        .update_item()
        .table_name(TableNames::default().entries)
        .key("shard", AttributeValue::S(shard))
        .key("entry", AttributeValue::S(id.to_string()))
        .update_expression("SET #visit = :visit")
        .expression_attribute_names("#visit", "visit")
        .expression_attribute_values(":visit", AttributeValue::N("4096".to_owned()))
        .send()
        .await
        .expect("written");
    let error = backup.read_entry(&shelf, id).await.expect_err("no visit");
    assert!(
        matches!(&error, BackupError::Unreadable(text) if text.contains("visit")),
        "{error}"
    );
    // Whoever reads them all goes without it: the queue could never be put back.
    let live = backup.read_live_entries(&shelf, id.shard()).await;
    assert_eq!(live.expect("the others"), []);
}

/// One of them is damaged: the others are written, and the table is known to take writes.
#[tokio::test]
async fn a_damaged_item_is_refused_alone() {
    let (backup, shelf) = (servers::dynamodb_backup().await, fresh_partition());
    let changes: Vec<_> = (0..3)
        .map(|n| change(fresh_id(), n + 1, Event::Entered { score: place(n) }))
        .collect();
    let damaged = changes[1].id;
    by_hand()
        .await
        .put_item()
        .table_name(TableNames::default().entries)
        .item(
            "shard",
            AttributeValue::S(format!(
                "{}#{}#{}",
                shelf.queue,
                shelf.generation,
                damaged.shard()
            )),
        )
        .item("entry", AttributeValue::S(damaged.to_string()))
        .item("status", AttributeValue::N("1".to_owned()))
        .send()
        .await
        .expect("written");
    let until = tokio::time::Instant::now() + Duration::from_secs(30);
    let outcomes = backup.put_changes(&shelf, &changes, until).await;
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert!(
        matches!(&outcomes[1], Err(BackupError::Unreadable(_))),
        "{outcomes:?}"
    );
    backup.probe_writes(&shelf).await.expect("it does");
    let elsewhere = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(servers::dynamodb_url()),
        tables: TableNames {
            entries: "no-such-table".to_owned(),
            ..TableNames::default()
        },
    })
    .await;
    elsewhere.ping().await.expect("the other table is there");
    elsewhere.probe_writes(&shelf).await.expect_err("this one is not");
}

#[tokio::test]
async fn a_service_that_is_away_fails_soon_and_says_how() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let silent_url = format!("http://{}", silent.local_addr().expect("an address"));
    for url in [servers::closed_port_url(), silent_url] {
        let backup = unreachable(url.clone()).await;
        let since = Instant::now();
        let error = backup.ping().await.expect_err("nobody is there");
        assert!(
            since.elapsed() < Duration::from_secs(3),
            "{url}: {:?}",
            since.elapsed()
        );
        assert!(matches!(error, BackupError::Unavailable(_)), "{url}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_service_is_told_by_its_code() {
    let backup = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(servers::dynamodb_url()),
        tables: TableNames {
            queues: "no-such-table".to_owned(),
            ..TableNames::default()
        },
    })
    .await;
    let error = backup.ping().await.expect_err("no such table");
    assert!(
        matches!(&error, BackupError::Unavailable(text) if text.contains("ResourceNotFoundException")),
        "{error}"
    );
}

#[tokio::test]
async fn tables_can_be_created_by_two_at_once() {
    let prefix = fresh_queue().as_str().replace(':', "-");
    let tables = TableNames {
        queues: format!("{prefix}-queues"),
        entries: format!("{prefix}-entries"),
    };
    let connect = || {
        DynamoDbBackup::connect(Connection {
            endpoint_url: Some(servers::dynamodb_url()),
            tables: tables.clone(),
        })
    };
    let (one, other) = (connect().await, connect().await);
    let (first, second) = tokio::join!(one.create_tables_if_missing(), other.create_tables_if_missing());
    first.expect("created");
    second.expect("created");
    one.create_tables_if_missing().await.expect("there already");
    one.ping().await.expect("an answer");
    let described = by_hand()
        .await
        .describe_time_to_live()
        .table_name(&tables.entries)
        .send()
        .await
        .expect("an answer");
    let time_to_live = described
        .time_to_live_description()
        .and_then(|description| description.attribute_name());
    assert_eq!(time_to_live, Some("delete_at_seconds"));
}
