//! Faults of the tables and of the signing key, each planted in the emulator of DynamoDB and Secrets Manager.

use std::sync::Arc;

use vestibule_admin::Admin;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_runtime::config::SigningKeysConfig;
use vestibule_tests::servers::{dynamodb_backup, dynamodb_url};

use crate::scene::Scene;

async fn backup_in(tables: TableNames) -> DynamoDbBackup {
    let endpoint_url = Some(dynamodb_url());
    DynamoDbBackup::connect(Connection { endpoint_url, tables }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_work_have_no_fault() {
    let backup = dynamodb_backup().await;
    let scene = Scene::with_servers(|admin| Admin {
        backup: Arc::new(backup),
        ..admin
    });
    scene.await.expect_faults(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_table_is_found() {
    drop(dynamodb_backup().await);
    for (check, tables) in [
        (
            "backup-entries",
            TableNames {
                entries: "no-such-table".to_owned(),
                ..TableNames::default()
            },
        ),
        (
            "backup-queues",
            TableNames {
                queues: "no-such-table".to_owned(),
                ..TableNames::default()
            },
        ),
    ] {
        let backup = backup_in(tables).await;
        let scene = Scene::with_servers(|admin| Admin {
            backup: Arc::new(backup),
            ..admin
        });
        scene.await.expect_faults(&[check]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_signing_key_is_found() {
    let url = dynamodb_url();
    let aws = vestibule_aws::load_config([Some(url.as_str())]).await;
    let vars = |name: &str| match name {
        "VESTIBULE_SIGNING_KEY_SECRET" => Some("test/no-such-secret".to_owned()),
        "VESTIBULE_SECRETS_ENDPOINT" => Some(url.clone()),
        _ => None,
    };
    let signing_keys = SigningKeysConfig::read(&vars).expect("complete").connect(&aws);
    let scene = Scene::with_servers(|admin| Admin {
        signing_keys,
        ..admin
    })
    .await;
    scene.expect_faults(&["signing-key"]).await;
    let (found, _) = scene.finding("signing-key").await;
    assert!(found.contains("names no secret"), "{found}");
}
