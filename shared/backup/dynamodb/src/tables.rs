//! Creates the two tables on a laptop and in tests. A deployment's template creates its own.

use std::time::Duration;

use aws_sdk_dynamodb::{
    Client,
    error::ProvideErrorMetadata,
    types::{
        AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TableStatus,
        TimeToLiveSpecification, TimeToLiveStatus,
    },
};
use tokio::time::{sleep, timeout};
use vestibule_backup::BackupError;

use super::{client::to_backup_error, connection::TableNames, entry_items, queue_items};

/// How long a new table may take until it is active.
const ACTIVE_TIMEOUT: Duration = Duration::from_mins(1);
const ACTIVE_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Creates the tables that do not exist, and waits until they are active. Any number of callers may
/// do so at once.
///
/// # Errors
/// [`BackupError::Unavailable`] if DynamoDB cannot be reached, refuses the request, or takes longer
/// than a minute.
pub(super) async fn create_if_missing(client: &Client, tables: &TableNames) -> Result<(), BackupError> {
    create_table(client, &tables.queues, queue_items::QUEUE, queue_items::PART).await?;
    create_table(client, &tables.entries, entry_items::SHARD, entry_items::ENTRY).await?;
    for table in [&tables.queues, &tables.entries] {
        timeout(ACTIVE_TIMEOUT, wait_until_active(client, table))
            .await
            .map_err(|_| {
                BackupError::Unavailable(format!("the table {table} is not active after a minute"))
            })??;
    }
    for table in [&tables.queues, &tables.entries] {
        enable_time_to_live(client, table).await?;
    }
    Ok(())
}

async fn create_table(
    client: &Client,
    table: &str,
    partition_key: &str,
    sort_key: &str,
) -> Result<(), BackupError> {
    let request = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(vec![
            key_schema_element(partition_key, KeyType::Hash)?,
            key_schema_element(sort_key, KeyType::Range)?,
        ]))
        .set_attribute_definitions(Some(vec![
            text_attribute(partition_key)?,
            text_attribute(sort_key)?,
        ]));
    match request.send().await {
        Err(error) if !is_in_use(&error) => Err(to_backup_error("CreateTable", &error)),
        // "In use" means that the table exists, or that another caller is creating it.
        _ => Ok(()),
    }
}

fn is_in_use<E: ProvideErrorMetadata>(error: &E) -> bool {
    error.code() == Some("ResourceInUseException")
}

fn key_schema_element(attribute: &str, key_type: KeyType) -> Result<KeySchemaElement, BackupError> {
    KeySchemaElement::builder()
        .attribute_name(attribute)
        .key_type(key_type)
        .build()
        .map_err(|error| BackupError::Unavailable(error.to_string()))
}

fn text_attribute(attribute: &str) -> Result<AttributeDefinition, BackupError> {
    AttributeDefinition::builder()
        .attribute_name(attribute)
        .attribute_type(ScalarAttributeType::S)
        .build()
        .map_err(|error| BackupError::Unavailable(error.to_string()))
}

async fn wait_until_active(client: &Client, table: &str) -> Result<(), BackupError> {
    loop {
        match client.describe_table().table_name(table).send().await {
            Ok(answer) => {
                let status = answer.table().and_then(|table| table.table_status());
                if status == Some(&TableStatus::Active) {
                    return Ok(());
                }
            }
            // DynamoDB may not report a table yet that was just created.
            Err(error) if error.code() == Some("ResourceNotFoundException") => {}
            Err(error) => return Err(to_backup_error("DescribeTable", &error)),
        }
        sleep(ACTIVE_POLL_INTERVAL).await;
    }
}

async fn enable_time_to_live(client: &Client, table: &str) -> Result<(), BackupError> {
    if has_time_to_live(client, table).await? {
        return Ok(());
    }
    let specification = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name(entry_items::DELETE_AT_SECONDS)
        .build()
        .map_err(|error| BackupError::Unavailable(error.to_string()))?;
    let request = client
        .update_time_to_live()
        .table_name(table)
        .time_to_live_specification(specification);
    match request.send().await {
        // Another caller may have been faster. DynamoDB refuses to enable it twice.
        Err(error) if !has_time_to_live(client, table).await? => {
            Err(to_backup_error("UpdateTimeToLive", &error))
        }
        _ => Ok(()),
    }
}

async fn has_time_to_live(client: &Client, table: &str) -> Result<bool, BackupError> {
    let request = client.describe_time_to_live().table_name(table);
    let answer = request
        .send()
        .await
        .map_err(|error| to_backup_error("DescribeTimeToLive", &error))?;
    let status = answer
        .time_to_live_description()
        .and_then(|description| description.time_to_live_status());
    Ok(matches!(
        status,
        Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
    ))
}
