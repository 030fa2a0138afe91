//! The API with one queue, its line in memory and its backup in a file.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::Router;
use lambda_http::{Context, RequestExt, request::from_str};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::watch, time::timeout};
use vestibule_api::{
    ApiState,
    authorizer::Authorizer,
    config::{ApiConfig, AuthorizerConfig, Keys},
    router,
    serve::handle,
};
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::Salt;
use vestibule_faults::{Faults, FaultyBackup, FaultyLine};
use vestibule_line::{JournalLimits, Promotion, PromotionLine, RecoveryLine};
use vestibule_line_memory::MemoryLine;

use super::{
    ApiRequest, ApiResponse, BOUND, QUEUE, QUEUE_SALT, configuration, keys, local_config, queue_id, send_to,
};
use crate::{
    captured_output::CapturedOutput,
    entries::partition_of,
    lines::{ManualClock, tick_order},
    waiting::poll_until,
};

/// The API with one queue, its line in memory and its backup in a file.
pub struct InProcessApi {
    /// The line.
    pub line: MemoryLine,
    /// What goes wrong between the API and the line. Until a test grants fallback ticks, requests run none.
    pub faults: Faults,
    /// What goes wrong between the API and the backup, unless the test chose another one.
    pub backup_faults: Faults,
    /// The backup. The API uses another one if the test chose so.
    pub backup: Arc<FileBackup>,
    /// The routes.
    pub router: Router,
    /// The metrics that were written.
    pub written: CapturedOutput,
    /// The time, and how far the clock of the line's server is off.
    pub clock: ManualClock,
    line_calls: Arc<AtomicU64>,
    shutdown: watch::Sender<bool>,
    _dir: TempDir,
}

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
        let backup = Arc::new(FileBackup::open(dir.path().join("store")).expect("a store"));
        let clock = ManualClock::new();
        clock.set_ms(unix_ms(SystemTime::now() - choices.clock_behind_by));
        let line_calls = Arc::new(AtomicU64::new(0));
        let line = MemoryLine::with_clock({
            let (server, line_calls) = (clock.as_server_clock(), line_calls.clone());
            // The line reads its clock once in each call.
            Arc::new(move || {
                line_calls.fetch_add(1, Ordering::SeqCst);
                server()
            })
        })
        .with_journal_limits(choices.journal_limits)
        .with_witness(clock.as_clock());
        let (shutdown, shutdown_receiver) = watch::channel(false);
        let written = CapturedOutput::default();
        let faults = Faults::default();
        faults.refuse_fallback_ticks();
        let backup_faults = Faults::default();
        let state = ApiState::with_metrics(
            FaultyLine::new(Arc::new(line.clone()), faults.clone()),
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
            faults,
            backup_faults,
            backup,
            router: router(state),
            written,
            clock,
            line_calls,
            shutdown,
            _dir: dir,
        };
        api.create_queue(QUEUE, settings).await;
        api
    }

    /// Returns the routes of another process of the same deployment.
    pub fn start_second_process(&self, config: ApiConfig) -> Router {
        router(self.second_state(config))
    }

    /// Returns the authorizer of the same deployment.
    pub fn start_authorizer(&self, config: AuthorizerConfig) -> Arc<Authorizer> {
        let state = self.second_state(local_config());
        Authorizer::new(state, config)
    }

    fn second_state(&self, config: ApiConfig) -> Arc<ApiState> {
        ApiState::with_metrics(
            FaultyLine::new(Arc::new(self.line.clone()), self.faults.clone()),
            self.backup.clone(),
            keys(),
            config,
            self.shutdown.subscribe(),
            self.written.metrics(),
        )
    }

    /// Returns the routes of another process of the same deployment, with these keys.
    pub fn start_process_with_keys(&self, keys: Keys) -> Router {
        router(ApiState::with_metrics(
            Arc::new(self.line.clone()),
            self.backup.clone(),
            keys,
            local_config(),
            self.shutdown.subscribe(),
            self.written.metrics(),
        ))
    }

    /// Creates a queue in the line and in the file.
    pub async fn create_queue(&self, id: &str, settings: Value) {
        let (id, settings) = (id.parse().expect("a queue id"), into_object(settings));
        let stored = StoredQueue {
            settings: settings.clone().into(),
            settings_order: 0,
            metadata: QueueMetadata::new(Salt::new(QUEUE_SALT)),
        };
        assert!(
            self.backup
                .create_queue(&id, &stored)
                .await
                .expect("the backup stores it")
        );
        let configuration = configuration(&settings, "1");
        self.line
            .configure(&id, &configuration, true)
            .await
            .expect("the line creates it");
    }

    /// Changes the settings in the line only.
    pub async fn configure_line(&self, settings: Value, revision: &str) {
        let configuration = configuration(&into_object(settings), revision);
        self.line
            .configure(&queue_id(), &configuration, false)
            .await
            .expect("the queue exists");
    }

    /// Changes the settings in the file only. They need not be valid.
    pub async fn store_settings(&self, settings: Value) {
        let stored = self
            .backup
            .read_queue(&queue_id())
            .await
            .expect("the backup answers");
        let expected = stored.expect("the queue exists").settings;
        let replaced = self
            .backup
            .replace_settings(&queue_id(), &expected, &into_object(settings))
            .await;
        assert!(replaced.expect("the backup answers").is_some());
    }

    /// Returns the partition of the backup that holds the queue's entries.
    pub fn partition(&self) -> EntryPartition {
        partition_of(queue_id())
    }

    /// Advances the clocks.
    pub fn advance_seconds(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Returns the time, in Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Returns how many calls the line has answered.
    pub fn line_calls(&self) -> u64 {
        self.line_calls.load(Ordering::SeqCst)
    }

    /// Promotes as many entries as the settings allow.
    pub async fn promote(&self) -> Promotion {
        self.line
            .promote(&queue_id(), tick_order(u64::MAX))
            .await
            .expect("the queue exists")
    }

    /// Tells the process to shut down.
    pub fn shut_down(&self) {
        self.shutdown.send(true).expect("the routes listen");
    }

    /// Sends a request without a connection.
    pub async fn send(&self, request: ApiRequest) -> ApiResponse {
        send_to(&self.router, request).await
    }

    /// Repeats a request until its response matches. The routes cache the state of a queue for up to two seconds.
    pub async fn send_until(
        &self,
        request: impl Fn() -> ApiRequest,
        matches: impl Fn(&ApiResponse) -> bool,
    ) -> ApiResponse {
        poll_until(BOUND, async || self.send(request()).await, matches).await
    }

    /// Hands an event of API Gateway to the routes, as the Lambda runtime does.
    pub async fn send_event(&self, event: &Value) -> ApiResponse {
        self.send_event_with_time_limit(event, Duration::from_secs(29))
            .await
    }

    /// Hands an event to a function that may run for `limit`.
    pub async fn send_event_with_time_limit(&self, event: &Value, limit: Duration) -> ApiResponse {
        let mut context = Context::default();
        context.deadline = unix_ms(SystemTime::now() + limit);
        let event = from_str(&event.to_string())
            .expect("an event")
            .with_lambda_context(context);
        let response = timeout(BOUND, handle(self.router.clone(), event));
        let (parts, body) = response.await.expect("a response in time").into_parts();
        ApiResponse::new(parts.status, parts.headers, &body)
    }
}

fn unix_ms(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since_1970.as_millis()).expect("before the year 500,000,000")
}

async fn connect_to_table(url: String) -> DynamoDbBackup {
    let connection = Connection {
        endpoint_url: Some(url),
        ..Connection::default()
    };
    DynamoDbBackup::connect(connection).await
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("settings must be an object: {other}"),
    }
}
