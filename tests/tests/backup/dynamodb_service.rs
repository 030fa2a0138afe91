//! Tests for DynamoDB as a service: it is unreachable, refuses a request, or gets its tables from two processes at once.

use std::time::{Duration, Instant};

use tokio::{net::TcpListener, time::timeout};
use vestibule_backup::{Backup, BackupError};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_tests::{lines::fresh_queue, servers};

use crate::dynamodb::plain_client;

async fn connect_to(endpoint_url: String) -> DynamoDbBackup {
    DynamoDbBackup::connect(Connection {
        endpoint_url: Some(endpoint_url),
        tables: TableNames::default(),
    })
    .await
}

#[tokio::test]
async fn unreachable_dynamodb_is_unavailable_after_a_time_limit() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let silent_url = format!("http://{}", silent.local_addr().expect("an address"));
    for url in [servers::closed_port_url(), silent_url] {
        let backup = connect_to(url.clone()).await;
        let since = Instant::now();
        // A client without a time limit waits for ever.
        let error = timeout(Duration::from_mins(1), backup.ping())
            .await
            .expect("the call ends")
            .expect_err("no server answers");
        println!("{url}: the error came after {:?}", since.elapsed());
        assert!(matches!(error, BackupError::Unavailable(_)), "{url}: {error}");
    }
}

#[tokio::test]
async fn refusal_of_dynamodb_is_named_by_its_code() {
    let backup = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(servers::dynamodb_url()),
        tables: TableNames {
            queues: "no-such-table".to_owned(),
            ..TableNames::default()
        },
    })
    .await;
    let error = backup.ping().await.expect_err("the table does not exist");
    assert!(
        matches!(&error, BackupError::Unavailable(text) if text.contains("ResourceNotFoundException")),
        "{error}"
    );
}

#[tokio::test]
async fn two_processes_may_create_the_tables_at_once() {
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
    one.create_tables_if_missing()
        .await
        .expect("the tables exist already");
    one.ping().await.expect("an answer");
    let described = plain_client()
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
