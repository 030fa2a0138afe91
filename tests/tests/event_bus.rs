//! The events of queues at an endpoint that speaks the protocol of EventBridge, and that fails or hangs.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};
use vestibule_backup::{Backup, QueueMetadata, StoredQueue, StoredSettings};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::{EntryId, QueueId, Salt};
use vestibule_engine::sync::{SettingsPolicy, sync_settings};
use vestibule_line::{Arrival, Line};
use vestibule_promoter::Promoter;
use vestibule_runtime::event_bridge::{EventBridge, EventBridgeConfig};
use vestibule_tests::{entries::fresh_id, waiting::wait_until};

/// A queue that the bus holds up promotes no visitor, so a few promotions show that it goes on.
const PROMOTED_MEANWHILE: u64 = 8;
/// The time limit for what takes seconds on an idle machine.
const BOUND: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Accepts,
    Fails,
    Hangs,
    /// It answers 200, and refuses each entry.
    RefusesEntries,
}

/// An endpoint that remembers the entries that it accepted.
struct Endpoint {
    mode: Mutex<Mode>,
    accepted: Mutex<Vec<Value>>,
    calls: Mutex<u32>,
}

impl Endpoint {
    async fn start(mode: Mode) -> (Arc<Self>, String) {
        let endpoint = Arc::new(Self {
            mode: Mutex::new(mode),
            accepted: Mutex::default(),
            calls: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let routes = Router::new()
            .route("/", post(answer))
            .with_state(endpoint.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (endpoint, url)
    }

    fn set_mode(&self, mode: Mode) {
        *lock(&self.mode) = mode;
    }

    fn accepted(&self) -> Vec<Value> {
        lock(&self.accepted).clone()
    }

    fn calls(&self) -> u32 {
        *lock(&self.calls)
    }
}

async fn answer(State(endpoint): State<Arc<Endpoint>>, body: String) -> Response {
    *lock(&endpoint.calls) += 1;
    let body: Value = serde_json::from_str(&body).expect("JSON");
    let entries = body["Entries"].as_array().expect("entries").clone();
    let mode = *lock(&endpoint.mode);
    match mode {
        Mode::Accepts => {
            lock(&endpoint.accepted).extend_from_slice(&entries);
            let ids: Vec<_> = entries.iter().map(|_| json!({ "EventId": "an id" })).collect();
            Json(json!({ "FailedEntryCount": 0, "Entries": ids })).into_response()
        }
        Mode::Fails => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mode::Hangs => std::future::pending().await,
        Mode::RefusesEntries => {
            let refused = json!({ "ErrorCode": "InternalFailure", "ErrorMessage": "try again" });
            let refused: Vec<_> = entries.iter().map(|_| refused.clone()).collect();
            Json(json!({ "FailedEntryCount": refused.len(), "Entries": refused })).into_response()
        }
    }
}

/// A queue that promotes one visitor each second, in which a hundred wait.
struct Sale {
    line: Line,
    backup: Arc<FileBackup>,
    queue: QueueId,
    _dir: TempDir,
}

impl Sale {
    async fn start() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let backup = FileBackup::open(dir.path().join("backup.redb")).expect("a new store");
        let sale = Self {
            line: Line::in_process(),
            backup: Arc::new(backup),
            queue: "shop:1".parse().expect("a queue id"),
            _dir: dir,
        };
        let settings: Map<String, Value> = serde_json::from_value(json!({
            "capacity": 1_000, "batch": 1, "interval_seconds": 1, "presence_seconds": 0, "fast_track": false
        }))
        .expect("a map");
        let stored = StoredQueue {
            settings: settings.into(),
            settings_order: 0,
            metadata: QueueMetadata::new(Salt::new([3; 32])),
        };
        let created = sale.backup.create_queue(&sale.queue, &stored).await;
        assert!(created.expect("created"));
        let synced = sync_settings(&sale.line, &*sale.backup, &sale.queue, SettingsPolicy::default());
        synced.await.expect("synced");
        for id in (0..100).map(|_| fresh_id()) {
            sale.enter(id).await;
        }
        sale
    }

    async fn enter(&self, id: EntryId) {
        let entered = self.line.enter(&self.queue, id, Arrival::Ordinary).await;
        entered.expect("entered");
        let polled = self.line.check_in(&self.queue, id).await;
        polled.expect("an answer");
    }

    /// Changes a setting in the table only, as an operator may.
    async fn store(&self, name: &str, value: Value) {
        let stored = self.backup.read_queue(&self.queue).await.expect("an answer");
        let before = stored.expect("the queue").settings;
        let StoredSettings::Map(mut settings) = before.clone() else {
            panic!("settings: {before:?}")
        };
        settings.insert(name.to_owned(), value);
        let replaced = self
            .backup
            .replace_settings(&self.queue, &before, &settings)
            .await;
        assert!(replaced.expect("an answer").is_some());
    }

    async fn promoted(&self) -> u64 {
        let view = self.line.queue_view(&self.queue).await;
        view.expect("seen").totals.promoted
    }

    async fn promoter(&self, url: &str) -> Arc<Promoter> {
        let config = EventBridgeConfig {
            bus_name: "shop-events".to_owned(),
            endpoint_url: Some(url.to_owned()),
            deployment: "shop".to_owned(),
        };
        let aws = vestibule_aws::load_config([Some(url)]).await;
        let promoter = Promoter::new(self.line.clone(), self.backup.clone(), SettingsPolicy::default());
        Arc::new(promoter.with_event_bus(Arc::new(EventBridge::new(&aws, config))))
    }
}

#[tokio::test]
async fn accepted_event_has_all_fields() {
    let (endpoint, url) = Endpoint::start(Mode::Accepts).await;
    let sale = Sale::start().await;
    sale.promoter(&url).await.run(sleep(Duration::from_secs(4))).await;
    let accepted = endpoint.accepted();
    let [entry] = accepted.as_slice() else {
        panic!("one event: {accepted:?}")
    };
    assert_eq!(entry["Source"], "vestibule");
    assert_eq!(entry["DetailType"], "Queue Opened");
    assert_eq!(entry["EventBusName"], "shop-events");
    let detail: Value = serde_json::from_str(entry["Detail"].as_str().expect("a text")).expect("JSON");
    for (name, expected) in [
        ("deployment", json!("shop")),
        ("queue", json!("shop:1")),
        ("generation", json!(1)),
        ("serial", json!(1)),
        ("kind", json!("opened")),
        ("state", json!("open")),
        ("troubles", json!([])),
    ] {
        assert_eq!(detail[name], expected, "{name}: {detail}");
    }
    assert_eq!(detail["id"].as_str().map(str::len), Some(32));
    let noticed_seconds = detail["noticed_at_ms"].as_f64().expect("a time") / 1_000.0;
    let sent_seconds = entry["Time"].as_f64().expect("a time");
    assert!(
        (sent_seconds - noticed_seconds).abs() < 1.0,
        "{sent_seconds} for {noticed_seconds}"
    );
}

#[tokio::test]
async fn event_of_an_end_says_why() {
    let (endpoint, url) = Endpoint::start(Mode::Accepts).await;
    let sale = Sale::start().await;
    sale.store("entrance", json!("sold_out")).await;
    let promoter = sale.promoter(&url).await;
    let is_told = wait_until(BOUND, "the end is told", async || {
        endpoint
            .accepted()
            .iter()
            .any(|entry| entry["DetailType"] == "Queue Finished")
    });
    promoter.run(is_told).await;
    let accepted = endpoint.accepted();
    let detail = accepted.last().expect("an event")["Detail"]
        .as_str()
        .expect("a text")
        .to_owned();
    let detail: Value = serde_json::from_str(&detail).expect("JSON");
    assert_eq!(
        (&detail["kind"], &detail["finish_reason"]),
        (&json!("finished"), &json!("sold_out"))
    );
}

#[tokio::test]
async fn promotion_goes_on_while_the_endpoint_fails() {
    promotion_goes_on(Mode::Fails).await;
}

#[tokio::test]
async fn promotion_goes_on_while_the_endpoint_hangs() {
    promotion_goes_on(Mode::Hangs).await;
}

#[tokio::test]
async fn promotion_goes_on_while_the_endpoint_refuses_entries() {
    promotion_goes_on(Mode::RefusesEntries).await;
}

async fn promotion_goes_on(mode: Mode) {
    let (endpoint, url) = Endpoint::start(mode).await;
    let sale = Sale::start().await;
    let promoter = sale.promoter(&url).await;
    let outage = async {
        let started = Instant::now();
        while sale.promoted().await < PROMOTED_MEANWHILE || endpoint.calls() == 0 {
            assert!(
                started.elapsed() < BOUND,
                "the queue goes on, and the endpoint is asked"
            );
            sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(endpoint.accepted(), [] as [Value; 0]);
        endpoint.set_mode(Mode::Accepts);
        let started = Instant::now();
        while endpoint.accepted().is_empty() {
            assert!(started.elapsed() < BOUND, "the event comes");
            sleep(Duration::from_millis(100)).await;
        }
    };
    promoter.run(outage).await;
    assert_eq!(endpoint.accepted().len(), 1);
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
