//! An edge of one queue, and all that is behind it.

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
use vestibule_api::{ApiState, config::ApiConfig, router, serve::handle};
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::Salt;
use vestibule_line::{JournalLimits, Promotion, PromotionLine, RecoveryLine};
use vestibule_line_memory::MemoryLine;

use super::{Answer, Ask, BOUND, QUEUE, configuration, keys, local, queue, send_to};
use crate::{
    captured_output::CapturedOutput,
    entries::partition_of,
    lines::{ManualClock, tick_order},
    switched::Switch,
    waiting::poll_until,
};

const AN_HOUR: Duration = Duration::from_hours(1);

/// The edge and all that is behind it.
pub struct EdgeUnderTest {
    /// The line.
    pub line: MemoryLine,
    /// Whether the edge reaches it.
    pub switch: Switch,
    /// The backup.
    pub backup: Arc<FileBackup>,
    /// All routes.
    pub router: Router,
    /// The metrics that were written.
    pub written: CapturedOutput,
    /// The right time, and how far the line's server is off.
    pub clock: ManualClock,
    looks: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
    _dir: TempDir,
}

impl EdgeUnderTest {
    /// A local edge with one queue of these settings.
    pub async fn open(settings: Value) -> Self {
        Self::with(local(), settings).await
    }

    /// An edge with one queue of these settings.
    pub async fn with(config: ApiConfig, settings: Value) -> Self {
        Self::over(config, settings, None, Duration::ZERO, JournalLimits::default()).await
    }

    /// A local edge whose backup nobody can reach, and whose journals hold so much.
    pub async fn without_backup_within(settings: Value, limits: JournalLimits) -> Self {
        let backup: Arc<dyn Backup> = Arc::new(nobodys_table().await);
        Self::over(local(), settings, Some(backup), Duration::ZERO, limits).await
    }

    /// A local edge whose backup takes every call and answers none.
    pub async fn with_silent_backup(settings: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            let mut calls = Vec::new();
            while let Ok((call, _)) = listener.accept().await {
                calls.push(call);
            }
        });
        let backup: Arc<dyn Backup> = Arc::new(table_at(url).await);
        Self::over(
            local(),
            settings,
            Some(backup),
            Duration::ZERO,
            JournalLimits::default(),
        )
        .await
    }

    /// A local edge by a line's clock that stood an hour before the process's.
    pub async fn an_hour_ago(settings: Value) -> Self {
        Self::over(local(), settings, None, AN_HOUR, JournalLimits::default()).await
    }

    /// A local edge whose backup nobody can reach; the queue is in the line alone.
    pub async fn without_backup(settings: Value) -> Self {
        Self::without_backup_within(settings, JournalLimits::default()).await
    }

    async fn over(
        config: ApiConfig,
        settings: Value,
        other: Option<Arc<dyn Backup>>,
        behind_by: Duration,
        limits: JournalLimits,
    ) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let backup = Arc::new(FileBackup::open(dir.path().join("store")).expect("a store"));
        let then = SystemTime::now() - behind_by;
        let now = then.duration_since(UNIX_EPOCH).expect("after 1970");
        let clock = ManualClock::new();
        clock.set_ms(u64::try_from(now.as_millis()).expect("not that late"));
        let looks = Arc::new(AtomicU64::new(0));
        let line = MemoryLine::with_clock({
            let (server, looks) = (clock.as_server_clock(), looks.clone());
            // A line asks its clock once for whatever it is asked.
            Arc::new(move || {
                looks.fetch_add(1, Ordering::SeqCst);
                server()
            })
        })
        .with_journal_limits(limits);
        let line = line.with_witness(clock.as_clock());
        let (stop, stopped) = watch::channel(false);
        let behind = other.unwrap_or_else(|| backup.clone());
        let written = CapturedOutput::default();
        let switch = Switch::default();
        let switched = switch.before(Arc::new(line.clone()));
        let edge = ApiState::with_metrics(switched, behind, keys(), config, stopped, written.metrics());
        let this = Self {
            line,
            switch,
            backup,
            router: router(edge),
            written,
            clock,
            looks,
            stop,
            _dir: dir,
        };
        this.create(QUEUE, settings).await;
        this
    }

    /// The routes of another process of the same deployment.
    pub fn beside(&self, config: ApiConfig) -> Router {
        router(ApiState::with_metrics(
            self.switch.before(Arc::new(self.line.clone())),
            self.backup.clone(),
            keys(),
            config,
            self.stop.subscribe(),
            self.written.metrics(),
        ))
    }

    /// Creates a queue in the line and in the backup.
    pub async fn create(&self, id: &str, settings: Value) {
        let (id, settings) = (id.parse().expect("a queue id"), object(settings));
        let line = QueueMetadata::new(Salt::new([1; 32]));
        let stored = StoredQueue {
            settings: settings.clone().into(),
            settings_order: 0,
            metadata: line,
        };
        assert!(
            self.backup
                .create_queue(&id, &stored)
                .await
                .expect("the backup takes it")
        );
        let configuration = configuration(&settings, "1");
        self.line
            .configure(&id, &configuration, true)
            .await
            .expect("the line takes it");
    }

    /// Puts other settings in force, in the line alone.
    pub async fn configure(&self, settings: Value, revision: &str) {
        let configuration = configuration(&object(settings), revision);
        self.line
            .configure(&queue(), &configuration, false)
            .await
            .expect("there is the queue");
    }

    /// Stores other settings in the backup, right or wrong, as an operator's hand would.
    pub async fn store(&self, settings: Value) {
        let stored = self
            .backup
            .read_queue(&queue())
            .await
            .expect("the backup answers");
        let expected = stored.expect("there is the queue").settings;
        let replaced = self
            .backup
            .replace_settings(&queue(), &expected, &object(settings))
            .await;
        assert!(replaced.expect("the backup answers").is_some());
    }

    /// Where the records of the queue's entries are.
    pub fn shelf(&self) -> EntryPartition {
        partition_of(queue())
    }

    /// Moves the line's clock.
    pub fn pass_seconds(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Line time.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// How often the line was asked for anything.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::SeqCst)
    }

    /// Promotes as many as may go.
    pub async fn promote(&self) -> Promotion {
        self.line
            .promote(&queue(), tick_order(u64::MAX))
            .await
            .expect("there is the queue")
    }

    /// Tells the process to stop.
    pub fn stop(&self) {
        self.stop.send(true).expect("the edge listens");
    }

    /// Sends a request as a local listener would.
    pub async fn send(&self, ask: Ask) -> Answer {
        send_to(&self.router, ask).await
    }

    /// Sends it until the answer is so: what is seen of a queue may be a second or two old.
    pub async fn send_until(&self, ask: impl Fn() -> Ask, is_so: impl Fn(&Answer) -> bool) -> Answer {
        poll_until(BOUND, async || self.send(ask()).await, is_so).await
    }

    /// Hands an event of API Gateway to the edge, as the Lambda runtime would.
    pub async fn send_event(&self, event: &Value) -> Answer {
        self.send_event_within(event, Duration::from_secs(29)).await
    }

    /// The same in a function that is stopped after so long.
    pub async fn send_event_within(&self, event: &Value, limit: Duration) -> Answer {
        let stopped_at = SystemTime::now() + limit;
        let since_1970 = stopped_at.duration_since(UNIX_EPOCH).expect("after 1970");
        let mut context = Context::default();
        context.deadline = u64::try_from(since_1970.as_millis()).expect("not that late");
        let event = from_str(&event.to_string())
            .expect("an event")
            .with_lambda_context(context);
        let response = timeout(BOUND, handle(self.router.clone(), event));
        let (parts, body) = response.await.expect("an answer in time").into_parts();
        Answer::new(parts.status, parts.headers, &body)
    }
}

async fn nobodys_table() -> DynamoDbBackup {
    // Nobody listens there: the port is reserved.
    table_at("http://127.0.0.1:1".to_owned()).await
}

async fn table_at(url: String) -> DynamoDbBackup {
    let connection = Connection {
        endpoint_url: Some(url),
        ..Connection::default()
    };
    DynamoDbBackup::connect(connection).await
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("settings are an object: {other}"),
    }
}
