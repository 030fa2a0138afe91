//! A process that serves visitors with that Redis, and its visitors.

use std::{sync::Arc, time::Duration};

use axum::Router;
use serde_json::{Map, Value, json};
use tokio::{sync::watch, time::Instant};
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_domain::id::QueueId;
use vestibule_line::Line;
use vestibule_tests::{
    api::{Guest, new_visitor_id},
    in_process::{ApiRequest, ApiResponse, BOUND, build_router, configuration, local_config, send_to},
    lines::fresh_queue,
    servers,
    waiting::poll_until,
};

/// No call takes longer than 2 s. The rest is for a busy machine.
const CALL_TIME_MAX: Duration = Duration::from_secs(12);

/// A visitor, and the answer to entering.
pub(crate) struct Visitor {
    pub(crate) guest: Guest,
    pub(crate) entered: ApiResponse,
}

/// A process that serves visitors with that Redis and the emulator.
pub(crate) struct Process {
    pub(crate) queue: QueueId,
    pub(crate) routes: Router,
    _stop: watch::Sender<bool>,
}

impl Process {
    pub(crate) async fn start(url: &str, queue: &QueueId) -> Self {
        let line = Line::connect_lazily(url, None).expect("an address");
        let backup = servers::dynamodb_backup().await;
        let (stop, stopped) = watch::channel(false);
        Self {
            queue: queue.clone(),
            routes: build_router(line, Arc::new(backup), local_config(), &stopped),
            _stop: stop,
        }
    }

    /// Sends a request and checks that the process does not hang.
    pub(crate) async fn send(&self, ask: ApiRequest) -> (ApiResponse, Duration) {
        let begun = Instant::now();
        let answer = send_to(&self.routes, ask).await;
        let took = begun.elapsed();
        assert!(took < CALL_TIME_MAX, "{took:?} for {answer:?}");
        (answer, took)
    }

    pub(crate) async fn enter_and_expect_created(&self) -> Visitor {
        let id = new_visitor_id();
        let ask = || Guest::enter(self.queue.as_str(), &id);
        let entered = self.send_until(ask, |answer| answer.status == 201).await;
        let guest = Guest::from_response(id, &entered);
        Visitor { guest, entered }
    }

    /// Repeats a request until the answer satisfies the condition, up to a time limit.
    pub(crate) async fn send_until(
        &self,
        ask: impl Fn() -> ApiRequest,
        condition: impl Fn(&ApiResponse) -> bool,
    ) -> ApiResponse {
        let begun = Instant::now();
        let answer = poll_until(BOUND, async || self.send(ask()).await.0, condition).await;
        println!("the condition held after {:?}", begun.elapsed());
        answer
    }
}

pub(crate) fn settings() -> Map<String, Value> {
    let settings = json!({
        "capacity": 1, "batch": 1, "session_seconds": 3_600, "on_outage": "open", "outage_grace_seconds": 60,
    });
    settings.as_object().expect("an object").clone()
}

/// Creates a queue in the line and in the backup.
pub(crate) async fn create(url: &str) -> QueueId {
    let (queue, configuration) = (fresh_queue(), configuration(&settings(), "1"));
    let line = Line::connect_lazily(url, None).expect("an address");
    let configure = async || line.configure(&queue, &configuration, true).await;
    poll_until(BOUND, configure, Result::is_ok)
        .await
        .expect("configured");
    let stored = StoredQueue {
        settings: settings().into(),
        settings_order: 0,
        metadata: QueueMetadata::new(configuration.salt),
    };
    let created = servers::dynamodb_backup()
        .await
        .create_queue(&queue, &stored)
        .await;
    assert!(created.expect("the backup answers"));
    queue
}
