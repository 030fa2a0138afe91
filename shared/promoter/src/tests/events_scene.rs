//! An event bus that a test holds up, and a queue whose promoter tells it what changes.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::event_bus::{EventBus, SendError};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    id::QueueId,
    queue_event::{QueueEvent, QueueEventKind},
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;

use super::{Fixture, slow_backup::paced_line};
use crate::Promoter;

/// How a bus answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BusMode {
    Accepts,
    Fails,
    Hangs,
    /// It takes the events and never answers, like a process that dies after the call.
    AcceptsWithoutAnswer,
}

/// A bus that remembers what it took.
pub(super) struct FakeBus {
    mode: Mutex<BusMode>,
    taken: Mutex<Vec<QueueEvent>>,
    calls: Mutex<u32>,
}

impl FakeBus {
    pub(super) fn new(mode: BusMode) -> Arc<Self> {
        Arc::new(Self {
            mode: Mutex::new(mode),
            taken: Mutex::default(),
            calls: Mutex::default(),
        })
    }

    pub(super) fn set_mode(&self, mode: BusMode) {
        *lock(&self.mode) = mode;
    }

    pub(super) fn taken(&self) -> Vec<QueueEvent> {
        lock(&self.taken).clone()
    }

    pub(super) fn kinds(&self) -> Vec<QueueEventKind> {
        self.taken().iter().map(|event| event.kind).collect()
    }

    pub(super) fn calls(&self) -> u32 {
        *lock(&self.calls)
    }
}

#[async_trait]
impl EventBus for FakeBus {
    async fn send(&self, _queue: &QueueId, events: &[QueueEvent]) -> Vec<Result<(), SendError>> {
        *lock(&self.calls) += 1;
        let mode = *lock(&self.mode);
        if matches!(mode, BusMode::Accepts | BusMode::AcceptsWithoutAnswer) {
            lock(&self.taken).extend_from_slice(events);
        }
        match mode {
            BusMode::Accepts => vec![Ok(()); events.len()],
            BusMode::Fails => vec![Err("a test made the bus fail".to_owned()); events.len()],
            BusMode::Hangs | BusMode::AcceptsWithoutAnswer => std::future::pending().await,
        }
    }
}

/// A queue `q` in a line whose clock follows tokio's time. `scene.line` and `scene.backup` are the real ones; a test may
/// decorate them.
pub(super) struct EventScene {
    pub(super) scene: Fixture,
    pub(super) partition: EntryPartition,
    pub(super) bus: Arc<FakeBus>,
}

impl EventScene {
    pub(super) async fn new(settings: Value) -> Self {
        let scene = Fixture::new(paced_line());
        let (_, partition) = scene.create_queue("q", settings).await;
        tokio::time::pause();
        Self {
            scene,
            partition,
            bus: FakeBus::new(BusMode::Accepts),
        }
    }

    /// A new promoter, as a process that has just started.
    pub(super) fn promoter(&self) -> Arc<Promoter> {
        self.promoter_on(self.scene.line.clone(), self.scene.backup.clone())
    }

    pub(super) fn promoter_on(&self, line: Line, backup: Arc<dyn Backup>) -> Arc<Promoter> {
        let promoter = Promoter::new(line, backup, SettingsPolicy::default());
        Arc::new(promoter.with_event_bus(self.bus.clone()))
    }

    /// Runs a new promoter for this time.
    pub(super) async fn run_for(&self, seconds: u64) {
        self.promoter().run(sleep(Duration::from_secs(seconds))).await;
    }

    /// Edits the table as an operator does by hand.
    pub(super) async fn edit(&self, settings: Value) {
        self.scene
            .replace_stored_settings(&self.partition.queue, settings)
            .await;
    }

    /// Line time, in Unix milliseconds.
    pub(super) async fn now_ms(&self) -> u64 {
        let view = self.scene.line.queue_view(&self.partition.queue).await;
        view.expect("seen").now_ms
    }

    /// How many visitors were promoted.
    pub(super) async fn promoted(&self) -> u64 {
        let view = self.scene.line.queue_view(&self.partition.queue).await;
        view.expect("seen").totals.promoted
    }

    /// Begins another generation of the queue, as the command `reset` does.
    pub(super) async fn reset(&self) {
        let (backup, queue) = (&self.scene.backup, &self.partition.queue);
        let salt = vestibule_domain::id::Salt::new([7; 32]);
        let begun = backup
            .begin_generation(queue, 1, salt)
            .await
            .expect("begun")
            .expect("epoch 1");
        self.scene
            .line
            .drop_queue(queue, begun.epoch)
            .await
            .expect("dropped");
        self.scene.sync(queue).await.expect("restored");
    }
}

/// Settings of a queue that promotes a visitor each second.
pub(super) fn busy_settings() -> Value {
    json!({ "capacity": 1_000, "batch": 1, "interval_seconds": 1, "presence_seconds": 0 })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
