//! Opens the line and the backup: in memory and in a file, unless the command line names servers.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;
use vestibule_backup::Backup;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_backup_file::FileBackup;
use vestibule_line::{Line, QueueLine};
use vestibule_line_memory::MemoryLine;
use vestibule_line_redis::RedisLine;

use crate::{cli::Cli, error::StartError, keys::STORE_FILE};

/// A server that does not answer within this time counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the line that the command line selects, and verifies that it answers.
pub(crate) async fn open_line(cli: &Cli) -> Result<Arc<dyn Line>, StartError> {
    let Some(url) = &cli.redis else {
        return Ok(Arc::new(MemoryLine::new()));
    };
    let connect = async {
        let line = RedisLine::connect(url).await?;
        line.ping().await?;
        Ok(line)
    };
    match timeout(CONNECT_TIMEOUT, connect).await {
        Ok(Ok(line)) => Ok(Arc::new(line)),
        Ok(Err(error)) => Err(StartError::Redis(error)),
        Err(_) => Err(StartError::RedisTimeout(CONNECT_TIMEOUT)),
    }
}

/// Opens the backup that the command line selects, and verifies that it answers.
pub(crate) async fn open_backup(cli: &Cli) -> Result<Arc<dyn Backup>, StartError> {
    let Some(endpoint) = &cli.dynamodb else {
        return Ok(Arc::new(FileBackup::open(cli.dir.join(STORE_FILE))?));
    };
    let connection = Connection {
        endpoint_url: Some(endpoint.clone()),
        tables: table_names(cli),
    };
    let backup = DynamoDbBackup::connect(connection).await;
    // The call has its own time limit.
    backup
        .create_tables_if_missing()
        .await
        .map_err(StartError::DynamoDb)?;
    Ok(Arc::new(backup))
}

/// The table names of the command line. An empty environment variable counts as not set.
fn table_names(cli: &Cli) -> TableNames {
    let default = TableNames::default();
    let named = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    TableNames {
        queues: named(&cli.queues_table).unwrap_or(default.queues),
        entries: named(&cli.entries_table).unwrap_or(default.entries),
    }
}
