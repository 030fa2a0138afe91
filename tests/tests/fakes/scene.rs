//! A runner with its line in Redis, and honest visitors.

use std::time::Duration;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{task::JoinSet, time::sleep};
use uuid::Uuid;
use vestibule_domain::state::EntryState;
use vestibule_tests::{
    entries::now_ms,
    follower::{FollowingVisitor, Step},
    own_redis::OwnRedis,
    runner::{Runner, send_until_served},
    waiting::wait_until,
};

use crate::fakes::{add_fakes, try_fakes};

/// How long the honest visitors may take to enter.
const ENTER_BOUND: Duration = Duration::from_mins(1);

pub(crate) struct Scene {
    runner: Runner,
    _redis: OwnRedis,
    _dir: TempDir,
}

/// A queue of the scene.
pub(crate) struct Queue<'a> {
    runner: &'a Runner,
    id: String,
    claim_seconds: u64,
}

/// The turn of a visitor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// The position in the first answer.
    pub(crate) position: u64,
    /// From the first answer to the promotion.
    pub(crate) wait: Duration,
}

impl Scene {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let redis = OwnRedis::start();
        let arguments = ["--demo-visitors", "0", "--quiet", "--redis", &redis.url()];
        let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
        Self {
            runner,
            _redis: redis,
            _dir: dir,
        }
    }

    pub(crate) async fn create_queue(&self, settings: Value) -> Queue<'_> {
        let id = format!("fakes:{}", Uuid::new_v4());
        let create = json!({ "op": "create", "queue": id, "settings": settings });
        self.runner.run_command(create).await;
        let claim_seconds = settings["claim_seconds"].as_u64().unwrap_or(60);
        Queue {
            runner: &self.runner,
            id,
            claim_seconds,
        }
    }
}

impl Queue<'_> {
    /// Puts fakes in line. They never poll.
    pub(crate) async fn add_fakes(&self, count: usize) {
        let server = self.runner.host_and_port();
        add_fakes(server, &self.id, count)
            .await
            .expect("the fakes are in line");
    }

    /// Fakes try to enter, each once. Returns how many got a place.
    pub(crate) async fn try_fakes(&self, count: usize) -> u64 {
        let server = self.runner.host_and_port();
        let entered = try_fakes(server, &self.id, count).await;
        entered.expect("each fake gets a place or is told that the queue is full")
    }

    /// Changes settings as an operator does.
    pub(crate) async fn update(&self, settings: Value) {
        let update = json!({ "op": "update", "queue": self.id, "settings": settings });
        self.runner.run_command(update).await;
    }

    /// A visitor who is about to enter.
    pub(crate) fn new_visitor(&self, reads_documents: bool) -> FollowingVisitor {
        let url = self.runner.url(&format!("/queues/{}", self.id));
        FollowingVisitor::new(self.runner.http().clone(), url.into(), reads_documents)
    }

    /// Fills the queue with honest visitors who keep to `retry_after_ms`. Each one stays active for `stay`, and those who
    /// are let in at once end their visits one after the other. Returns once all are in line or active, with the tasks of
    /// the visitors.
    pub(crate) async fn add_honest_visitors(&self, count: u32, capacity: u32, stay: Duration) -> JoinSet<()> {
        let mut visits = JoinSet::new();
        for number in 0..count {
            let mut visitor = self.new_visitor(false);
            assert_eq!(visitor.step().await, Step::Entry);
            let stays = if number < capacity {
                stay * (number + 1) / capacity
            } else {
                stay
            };
            let complete = self.runner.http().post(self.complete_url(&visitor));
            visits.spawn(finish_visit(visitor, stays, complete.json(&json!({}))));
        }
        wait_until(ENTER_BOUND, "the queue is full", async || {
            self.stats().await["active"] == u64::from(capacity)
        })
        .await;
        visits
    }

    /// Enters, follows the place and returns the turn. The wait counts by the time of the line.
    pub(crate) async fn wait_for_turn(&self, mut visitor: FollowingVisitor) -> Turn {
        while visitor.step().await != Step::Entry {}
        let (entered_at_ms, position) = (
            now_ms(),
            visitor.follower.entry().and_then(|entry| entry.position),
        );
        let position = position.expect("the visitor waits");
        let step = visitor.wait_for_turn().await;
        assert_eq!(step, Step::Entry, "the visitor lost the turn");
        let entry = visitor.follower.entry().expect("the visitor has entered");
        let claim_by_ms = entry.claim_by_ms.expect("the visitor is ready");
        let promoted_at_ms = claim_by_ms - self.claim_seconds * 1_000;
        Turn {
            position,
            wait: Duration::from_millis(promoted_at_ms.saturating_sub(entered_at_ms)),
        }
    }

    pub(crate) async fn stats(&self) -> Value {
        self.runner
            .run_command(json!({ "op": "stats", "queue": self.id }))
            .await
    }

    fn complete_url(&self, visitor: &FollowingVisitor) -> String {
        let token = &visitor.follower.entry().expect("the visitor has entered").token;
        let path = format!("/queues/{}/entries/{token}/complete", self.id);
        self.runner.url(&path)
    }
}

/// Waits for the turn, claims it, stays for a while and completes the visit.
async fn finish_visit(mut visitor: FollowingVisitor, stays: Duration, complete: RequestBuilder) {
    if has_state(&visitor, EntryState::Waiting) {
        let step = visitor.wait_for_turn().await;
        assert_eq!(step, Step::Entry, "an honest visitor lost the turn");
    }
    while has_state(&visitor, EntryState::Ready) {
        let step = visitor.step().await;
        assert!(!matches!(step, Step::End(_)), "an honest visitor could not claim");
    }
    sleep(stays).await;
    send_until_served(|| complete.try_clone().expect("a request without a stream")).await;
}

fn has_state(visitor: &FollowingVisitor, state: EntryState) -> bool {
    visitor.follower.entry().is_some_and(|entry| entry.state == state)
}
