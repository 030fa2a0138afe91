//! The backup in DynamoDB: the table `queues` (`queue_items.rs` describes its items) and the table
//! `entries` (`entry_items.rs` describes them).
//!
//! The entries of a queue are spread over 64 partitions, because one partition takes at most 1,000
//! writes a second. Every write is conditional: it requires that the item states a lesser fact than
//! the change. Repeated and late writes therefore have no effect.

mod backup;
mod client;
mod conditions;
mod connection;
mod default_items;
mod entry_items;
mod entry_writes;
mod event_items;
mod folded_writes;
mod metadata_writes;
mod queue_items;
mod queue_listing;
mod queue_writes;
mod report_items;
mod setting_values;
mod shard_reads;
mod tables;

use std::sync::Arc;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use tokio::sync::Semaphore;
use vestibule_backup::BackupError;

pub use self::connection::{Connection, TableNames};

/// The most journal writes that one process has in flight, however many queues it flushes. The
/// remaining capacity of the tables is for visitors' requests.
const JOURNAL_WRITES_IN_FLIGHT_MAX: usize = 64;

/// The backup in DynamoDB.
#[derive(Debug, Clone)]
pub struct DynamoDbBackup {
    client: Client,
    tables: TableNames,
    page_items: Option<i32>,
    journal_writes: Arc<Semaphore>,
}

impl DynamoDbBackup {
    /// Creates the backup on a client whose timeouts and retries are already set.
    pub fn new(client: Client, tables: TableNames) -> Self {
        Self {
            client,
            tables,
            page_items: None,
            journal_writes: Arc::new(Semaphore::new(JOURNAL_WRITES_IN_FLIGHT_MAX)),
        }
    }

    /// Connects to an address, with timeouts and retries that are bounded so that a visitor never
    /// waits long. Credentials and region come from the environment, as for every AWS client.
    pub async fn connect(connection: Connection) -> Self {
        let aws = vestibule_aws::load_config([connection.endpoint_url.as_deref()]).await;
        Self::from_sdk_config(&aws, connection)
    }

    /// Connects with a configuration that other AWS clients share.
    pub fn from_sdk_config(aws: &SdkConfig, connection: Connection) -> Self {
        let client = client::new(aws, connection.endpoint_url.as_deref());
        Self::new(client, connection.tables)
    }

    /// Limits how many items one request of a query or a scan reads. Without it, the limit is 1 MB
    /// of items.
    #[must_use]
    pub fn with_page_items(mut self, items_max: i32) -> Self {
        self.page_items = Some(items_max);
        self
    }

    /// Creates the tables that do not exist, and waits until they are active; for a laptop and for
    /// tests. Any number of callers may do so at once.
    ///
    /// # Errors
    /// [`BackupError::Unavailable`] if DynamoDB cannot be reached, refuses the request, or takes
    /// longer than a minute.
    pub async fn create_tables_if_missing(&self) -> Result<(), BackupError> {
        tables::create_if_missing(&self.client, &self.tables).await
    }
}
