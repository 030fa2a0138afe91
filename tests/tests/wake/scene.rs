//! A process that uses a line, and a new queue in which every entry waits until a promotion.

use std::sync::Arc;

use axum::Router;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle};
use vestibule_api::config::ApiConfig;
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::QueueId;
use vestibule_faults::Faults;
use vestibule_line::{Arrival, LeaveReason, Line, Promotion};
use vestibule_tests::{
    api::{Guest, new_visitor_id},
    in_process::{ApiRequest, ApiResponse, BOUND, build_router, configuration, local_config, send_to},
    lines::{fresh_queue, tick_order, visitor},
    waiting::poll_until,
};

/// More polls than any case holds.
const HELD_BUDGET: u32 = 10_000;
/// The visitor who is let in.
const ACTIVE: u64 = 1;
/// The visitor who is in line until another one is.
const FIRST_IN_LINE: u64 = 2;

pub(crate) struct Scene {
    pub(crate) line: Line,
    pub(crate) queue: QueueId,
    pub(crate) faults: Faults,
    /// The line as the routes have it, with the faults.
    tapped_line: Line,
    router: Router,
    _stop: watch::Sender<bool>,
    _dir: TempDir,
}

impl Scene {
    /// Opens a queue with room for many entries, and one in line. All who enter later wait behind it, although there is
    /// room: only the test promotes.
    pub(crate) async fn open(line: Line) -> Self {
        let (queue, faults) = (fresh_queue(), Faults::default());
        // No request runs a fallback tick, so only the test promotes.
        faults.refuse_fallback_ticks();
        let dir = tempfile::tempdir().expect("a folder");
        let backup = Arc::new(FileBackup::open(dir.path().join("store")).expect("a store"));
        let config = ApiConfig {
            held_polls_max: HELD_BUDGET,
            ..local_config()
        };
        let (stop, stopped) = watch::channel(false);
        let tapped_line = line.clone().with_tap(Arc::new(faults.clone()));
        let router = build_router(tapped_line.clone(), backup.clone(), config, &stopped);
        let scene = Self {
            line,
            tapped_line,
            queue,
            faults,
            router,
            _stop: stop,
            _dir: dir,
        };
        scene.create(&*backup).await;
        scene.put_one_in_line().await;
        scene
    }

    /// Puts an entry in line while there is room for one only, and makes room. No process has a snapshot of the full
    /// queue, in which turns are too far away for polls to be held.
    async fn put_one_in_line(&self) {
        for number in [ACTIVE, FIRST_IN_LINE] {
            let entered = self
                .line
                .enter(&self.queue, visitor(number), Arrival::Ordinary)
                .await;
            entered.expect("the queue exists");
        }
        let configuration = configuration(&settings(10_000), "2");
        let configured = self.line.configure(&self.queue, &configuration, false).await;
        configured.expect("the queue exists");
    }

    async fn create(&self, backup: &dyn Backup) {
        let settings = settings(1);
        let configuration = configuration(&settings, "1");
        let stored = StoredQueue {
            settings: settings.into(),
            settings_order: 0,
            metadata: QueueMetadata::new(configuration.salt),
        };
        let created = backup.create_queue(&self.queue, &stored).await;
        assert!(created.expect("the backup accepts the queue"));
        let configured = self.line.configure(&self.queue, &configuration, true).await;
        configured.expect("the line accepts the queue");
    }

    /// Lets a new visitor enter, who waits.
    pub(crate) async fn enter(&self) -> Guest {
        let id = new_visitor_id();
        let answer = self.send(Guest::enter(self.queue.as_str(), &id)).await;
        assert_eq!(answer.expect_status(201).text("state"), "waiting");
        // From now on, this visitor keeps the others in line.
        let left = self
            .line
            .leave(&self.queue, visitor(FIRST_IN_LINE), None, LeaveReason::Leave);
        left.await.expect("the queue exists");
        Guest::from_response(id, &answer)
    }

    pub(crate) async fn enter_many(&self, many: usize) -> Vec<Guest> {
        let mut visitors = Vec::new();
        for _ in 0..many {
            visitors.push(self.enter().await);
        }
        visitors
    }

    pub(crate) async fn send(&self, ask: ApiRequest) -> ApiResponse {
        send_to(&self.router, ask).await
    }

    /// Sends a poll that may be held for longer than any test takes.
    pub(crate) fn poll(&self, guest: &Guest) -> JoinHandle<ApiResponse> {
        let (router, ask) = (self.router.clone(), guest.held_poll(20));
        tokio::spawn(async move { send_to(&router, ask).await })
    }

    /// Promotes this many entries.
    pub(crate) async fn promote(&self, asked: u64) -> Promotion {
        let promote = async || {
            self.line
                .promote(&self.queue, tick_order(asked))
                .await
                .expect("promotes")
        };
        // The pace may have to earn tokens first.
        let promotion = poll_until(BOUND, promote, |promotion| promotion.promoted > 0).await;
        assert_eq!(promotion.promoted, asked);
        promotion
    }

    /// From now on every view shows the queue as it is now, so that no view reveals a later event.
    pub(crate) async fn freeze(&self) {
        self.faults.freeze("queue_view");
        let view = self.tapped_line.queue_view(&self.queue).await;
        view.expect("the queue exists");
    }
}

/// The settings of a queue with this capacity. It moves fast enough that all polls in it are held.
fn settings(capacity: u32) -> Map<String, Value> {
    let settings = json!({
        "capacity": capacity, "batch": 10_000, "interval_seconds": 1, "claim_seconds": 60, "session_seconds": 300,
    });
    settings.as_object().expect("an object").clone()
}
