//! Opens the line and the backup: in this process and in a file, unless the command line names servers.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;
use vestibule_backup::{Backup, BackupError};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_backup_file::FileBackup;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{EmbeddedServer, Line};
use vestibule_telemetry::clock::system_clock;

use crate::{cli::Cli, error::StartError, keys::STORE_FILE, saved_line::SavedLine};

/// A server that does not answer within this time counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The line and the backup that the command line selects.
pub(crate) struct Stores {
    pub line: Line,
    pub backup: Arc<dyn Backup>,
    /// Where the line is saved, if it is in this process.
    saved_line: Option<SavedLine>,
    /// The backup again, if it is in a file.
    file: Option<Arc<FileBackup>>,
}

impl Stores {
    /// Opens both, and verifies that they answer.
    pub(crate) async fn open(cli: &Cli) -> Result<Self, StartError> {
        let (backup, file): (Arc<dyn Backup>, _) = if let Some(endpoint) = &cli.dynamodb {
            (Arc::new(connect_to_tables(cli, endpoint).await?), None)
        } else {
            let file = Arc::new(FileBackup::open(cli.dir.join(STORE_FILE))?);
            (file.clone(), Some(file))
        };
        let (line, saved_line) = if let Some(url) = &cli.redis {
            let line = connect_to_redis(url).await?;
            (line.with_backup_name(&backup_name(cli)), None)
        } else {
            let server = EmbeddedServer::new(system_clock());
            (
                Line::on_embedded(server.clone()),
                Some(SavedLine::new(server, &cli.dir)),
            )
        };
        Ok(Self {
            line,
            backup,
            saved_line,
            file,
        })
    }

    /// Continues the line that the last run stopped in order.
    pub(crate) async fn continue_line(&self, policy: SettingsPolicy) -> Result<(), BackupError> {
        match (&self.saved_line, &self.file) {
            (Some(saved), Some(file)) => saved.continue_line(file, policy).await,
            // A Redis goes on without the file, which makes a saved line outdated.
            (None, Some(file)) => file.take_stop().await.map(drop),
            (_, None) => Ok(()),
        }
    }

    /// Stops a line that ends with the process, and saves it.
    pub(crate) async fn stop_line(&self) {
        if let (Some(saved), Some(file)) = (&self.saved_line, &self.file) {
            saved.stop_line(file).await;
        }
    }
}

/// The name of the table of the queues, or of the folder with the file. Other runners may use the same Redis.
fn backup_name(cli: &Cli) -> String {
    match &cli.dynamodb {
        Some(_) => table_names(cli).queues,
        None => cli.dir.display().to_string(),
    }
}

async fn connect_to_redis(url: &str) -> Result<Line, StartError> {
    let connect = async {
        let line = Line::connect(url).await?;
        line.ping().await?;
        Ok(line)
    };
    match timeout(CONNECT_TIMEOUT, connect).await {
        Ok(Ok(line)) => Ok(line),
        Ok(Err(error)) => Err(StartError::Redis(error)),
        Err(_) => Err(StartError::RedisTimeout(CONNECT_TIMEOUT)),
    }
}

async fn connect_to_tables(cli: &Cli, endpoint: &str) -> Result<DynamoDbBackup, StartError> {
    let connection = Connection {
        endpoint_url: Some(endpoint.to_owned()),
        tables: table_names(cli),
    };
    let backup = DynamoDbBackup::connect(connection).await;
    // The call has its own time limit.
    backup
        .create_tables_if_missing()
        .await
        .map_err(StartError::DynamoDb)?;
    Ok(backup)
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
