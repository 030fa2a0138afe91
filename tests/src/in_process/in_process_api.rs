//! The API with one queue, its line in this process and its backup in a file.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::Router;
use lambda_runtime::{Context, LambdaEvent};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::{sync::watch, time::timeout};
use vestibule_api::{
    Services,
    authorizer::Authorizer,
    claim_routes,
    config::{ApiConfig, AuthorizerConfig, Keys},
    document_routes, enter_routes, router,
    serve::handle,
    status_routes, validate_routes,
};
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::Salt;
use vestibule_faults::{Faults, FaultyBackup};
use vestibule_line::{EmbeddedServer, Line, Promotion};

use super::{
    ApiRequest, ApiResponse, BOUND, QUEUE, QUEUE_SALT, configuration, keys, local_config, queue_id, send_to,
};
use crate::{
    captured_output::CapturedOutput,
    entries::partition_of,
    lines::{ManualClock, tick_order},
    waiting::poll_until,
};

/// Lambda's id of each invocation.
pub const INVOCATION_ID: &str = "invocation-1";

/// The name of the file with the backup.
pub(super) const STORE: &str = "store";

/// The API with one queue, its line in this process and its backup in a file.
pub struct InProcessApi {
    /// The line.
    pub line: Line,
    pub(super) server: EmbeddedServer,
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
    pub(super) shutdown: watch::Sender<bool>,
    pub(super) dir: TempDir,
}

impl InProcessApi {
    /// Returns the routes of another process of the same deployment.
    pub fn start_second_process(&self, config: ApiConfig) -> Router {
        router(self.second_services(config))
    }

    /// Returns the routes of one function of the same deployment, by the name of its binary. `None` if it serves no
    /// routes.
    pub fn start_function(&self, name: &str, config: ApiConfig) -> Option<Router> {
        let services = self.second_services(config);
        match name {
            "document" => Some(document_routes(services)),
            "enter" => Some(enter_routes(services)),
            "claim" => Some(claim_routes(services)),
            "status" => Some(status_routes(services)),
            "validate" => Some(validate_routes(services)),
            _ => None,
        }
    }

    /// Returns the authorizer of the same deployment.
    pub fn start_authorizer(&self, config: AuthorizerConfig) -> Arc<Authorizer> {
        let services = self.second_services(local_config());
        Authorizer::new(services, config)
    }

    fn second_services(&self, config: ApiConfig) -> Services {
        Services::new(
            self.line.clone().with_tap(Arc::new(self.faults.clone())),
            FaultyBackup::new(self.backup.clone(), self.backup_faults.clone()),
            keys(),
            config,
            self.shutdown.subscribe(),
            self.written.metrics(),
        )
    }

    /// Returns the routes of another process of the same deployment, with these keys.
    pub fn start_process_with_keys(&self, keys: Keys) -> Router {
        self.start_process_with(keys, local_config())
    }

    /// Returns the routes of another process of the same deployment, with these keys and this configuration.
    pub fn start_process_with(&self, keys: Keys, config: ApiConfig) -> Router {
        router(Services::new(
            self.line.clone(),
            self.backup.clone(),
            keys,
            config,
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

    /// Returns how many requests the API has sent to the line.
    pub fn line_calls(&self) -> u64 {
        self.faults.all_calls().values().sum()
    }

    /// Promotes as many entries as the settings allow.
    pub async fn promote(&self) -> Promotion {
        self.line
            .promote(&queue_id(), tick_order(u64::MAX))
            .await
            .expect("the queue exists")
    }

    /// Returns the path of the file with the backup.
    pub fn store_path(&self) -> PathBuf {
        self.dir.path().join(STORE)
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
        let send = async || {
            self.drop_shared_view().await;
            self.send(request()).await
        };
        poll_until(BOUND, send, matches).await
    }

    /// Removes the view of the queue that processes share. The line renews it when it is a second old, and its clock stands
    /// still.
    pub async fn drop_shared_view(&self) {
        let mut remove = redis::cmd("DEL");
        remove.arg(format!("vestibule:{{{QUEUE}}}:view"));
        let removed = remove.query_async::<u64>(&mut self.server.clone()).await;
        removed.expect("the server answers");
    }

    /// Hands an event of API Gateway to the routes, as the Lambda runtime does.
    pub async fn send_event(&self, event: &Value) -> ApiResponse {
        self.send_event_with_time_limit(event, Duration::from_secs(29))
            .await
    }

    /// Hands an event to a function that may run for `limit`.
    pub async fn send_event_with_time_limit(&self, event: &Value, limit: Duration) -> ApiResponse {
        send_event_to(&self.router, event, limit).await
    }
}

/// Hands an event of API Gateway to the routes of a function, which may run for `limit`.
pub async fn send_event_to(router: &Router, event: &Value, limit: Duration) -> ApiResponse {
    let mut context = Context::default();
    context.deadline = unix_ms(SystemTime::now() + limit);
    INVOCATION_ID.clone_into(&mut context.request_id);
    let event = serde_json::from_str(&event.to_string()).expect("reading an event never fails");
    let event = LambdaEvent::new(event, context);
    let response = timeout(BOUND, handle(router.clone(), event));
    let (parts, body) = response.await.expect("a response in time").into_parts();
    ApiResponse::new(parts.status, parts.headers, &body)
}

pub(super) fn unix_ms(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since_1970.as_millis()).expect("before the year 500,000,000")
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("settings must be an object: {other}"),
    }
}
