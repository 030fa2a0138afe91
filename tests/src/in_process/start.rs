//! How an [`InProcessApi`] starts.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::Value;
use tokio::{net::TcpListener, sync::watch};
use vestibule_api::{Services, config::ApiConfig, router};
use vestibule_backup::Backup;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup};
use vestibule_backup_file::FileBackup;
use vestibule_faults::{Faults, FaultyBackup};
use vestibule_line::{EmbeddedServer, JournalLimits, Line};

use super::{
    InProcessApi, QUEUE,
    in_process_api::{STORE, unix_ms},
    keys, local_config,
};
use crate::{captured_output::CapturedOutput, lines::ManualClock};

/// How an [`InProcessApi`] differs from the usual.
struct Choices {
    config: ApiConfig,
    other_backup: Option<Arc<dyn Backup>>,
    clock_behind_by: Duration,
    journal_limits: JournalLimits,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            config: local_config(),
            other_backup: None,
            clock_behind_by: Duration::ZERO,
            journal_limits: JournalLimits::default(),
        }
    }
}

impl InProcessApi {
    /// Starts it with the settings of its queue.
    pub async fn start(settings: Value) -> Self {
        Self::build(Choices::default(), settings).await
    }

    /// Starts it with a configuration.
    pub async fn start_with_config(config: ApiConfig, settings: Value) -> Self {
        let choices = Choices {
            config,
            ..Choices::default()
        };
        Self::build(choices, settings).await
    }

    /// Starts it with a backup that cannot be reached. The queue exists in the line only.
    pub async fn start_without_backup(settings: Value) -> Self {
        Self::start_without_backup_and_with_limits(settings, JournalLimits::default()).await
    }

    /// Starts it with a backup that cannot be reached, and with these limits of the journal.
    pub async fn start_without_backup_and_with_limits(settings: Value, limits: JournalLimits) -> Self {
        // Port 1 is reserved, so nothing listens on it.
        let backup = connect_to_table("http://127.0.0.1:1".to_owned()).await;
        let choices = Choices {
            other_backup: Some(Arc::new(backup)),
            journal_limits: limits,
            ..Choices::default()
        };
        Self::build(choices, settings).await
    }

    /// Starts it with a backup that accepts every call and never answers.
    pub async fn start_with_silent_backup(settings: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            let mut connections = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.push(connection);
            }
        });
        let choices = Choices {
            other_backup: Some(Arc::new(connect_to_table(url).await)),
            ..Choices::default()
        };
        Self::build(choices, settings).await
    }

    /// Starts it with a line whose clock is an hour behind that of the process.
    pub async fn start_an_hour_behind(settings: Value) -> Self {
        let choices = Choices {
            clock_behind_by: Duration::from_hours(1),
            ..Choices::default()
        };
        Self::build(choices, settings).await
    }

    async fn build(choices: Choices, settings: Value) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let backup = Arc::new(FileBackup::open(dir.path().join(STORE)).expect("a store"));
        let clock = ManualClock::new();
        clock.set_ms(unix_ms(SystemTime::now() - choices.clock_behind_by));
        let server = EmbeddedServer::new(clock.as_server_clock());
        let line = Line::on_embedded(server.clone())
            .with_journal_limits(choices.journal_limits)
            .with_witness(clock.as_clock());
        let (shutdown, shutdown_receiver) = watch::channel(false);
        let written = CapturedOutput::default();
        let faults = Faults::default();
        faults.refuse_fallback_ticks();
        let backup_faults = Faults::default();
        let services = Services::new(
            line.clone().with_tap(Arc::new(faults.clone())),
            choices
                .other_backup
                .unwrap_or_else(|| FaultyBackup::new(backup.clone(), backup_faults.clone())),
            keys(),
            choices.config,
            shutdown_receiver,
            written.metrics(),
        );
        let api = Self {
            line,
            server,
            faults,
            backup_faults,
            backup,
            router: router(services),
            written,
            clock,
            shutdown,
            dir,
        };
        api.create_queue(QUEUE, settings).await;
        api
    }
}

async fn connect_to_table(url: String) -> DynamoDbBackup {
    let connection = Connection {
        endpoint_url: Some(url),
        ..Connection::default()
    };
    DynamoDbBackup::connect(connection).await
}
