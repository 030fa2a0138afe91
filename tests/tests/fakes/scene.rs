//! A runner with its line in Redis, and honest visitors.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use uuid::Uuid;
use vestibule_crowd::{
    crowd::Crowd,
    door::Caller,
    http::{HttpClient, HttpDoor},
    record::VisitEnd,
    rules::FollowerOptions,
    temper::Temper,
    visitor::Visitor,
};
use vestibule_domain::state::EntryState;
use vestibule_tests::{own_redis::OwnRedis, runner::Runner, waiting::wait_until};

use crate::fakes::{add_fakes, try_fakes};

/// How long the honest visitors may take to enter.
const ENTER_BOUND: Duration = Duration::from_mins(1);
/// The connections of the honest visitors that are kept.
const CONNECTIONS: usize = 256;

pub(crate) struct Scene {
    runner: Runner,
    _redis: OwnRedis,
    _dir: TempDir,
}

/// A queue of the scene.
pub(crate) struct Queue<'a> {
    runner: &'a Runner,
    id: String,
    crowd: Arc<Crowd<HttpDoor>>,
}

/// The turn of a visitor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// The position in the first answer.
    pub(crate) position: u64,
    /// From entering to the promotion, by the line.
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
        let client = HttpClient::new(CONNECTIONS).expect("the certificates of the machine");
        let door = HttpDoor::new(client, self.runner.url(&format!("/queues/{id}")));
        Queue {
            runner: &self.runner,
            id,
            crowd: Arc::new(Crowd::new(door)),
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

    /// A visitor who arrives now.
    pub(crate) fn new_visitor(&self, reads_documents: bool) -> Visitor {
        self.new_visitor_who_stays(reads_documents, Duration::ZERO)
    }

    fn new_visitor_who_stays(&self, reads_documents: bool, stay: Duration) -> Visitor {
        let temper = Temper {
            client: FollowerOptions {
                reads_documents,
                ..FollowerOptions::default()
            },
            ..Temper::honest(stay.as_secs_f64() * 1_000.0)
        };
        self.crowd.arrive(Caller::anonymous(), temper, rand::random())
    }

    /// Sends the next request of a visitor.
    pub(crate) async fn step(&self, visitor: &mut Visitor) {
        self.crowd.step(visitor).await.expect("the visit goes on");
    }

    /// Fills the queue with honest visitors who keep to `retry_after_ms`. Each one stays active for `stay`, and those who
    /// are let in at once end their visits one after the other. Returns once all are in line or active, with the tasks of
    /// the visitors.
    pub(crate) async fn add_honest_visitors(&self, count: u32, capacity: u32, stay: Duration) -> JoinSet<()> {
        let mut visits = JoinSet::new();
        for number in 0..count {
            let stays = if number < capacity {
                stay * (number + 1) / capacity
            } else {
                stay
            };
            let mut visitor = self.new_visitor_who_stays(false, stays);
            self.step(&mut visitor).await;
            assert!(visitor.record.has_entered, "{:?}", visitor.record);
            let crowd = self.crowd.clone();
            visits.spawn(async move {
                crowd.follow(&mut visitor).await;
                assert_eq!(visitor.record.end, Some(VisitEnd::Completed));
            });
        }
        wait_until(ENTER_BOUND, "the queue is full", async || {
            self.stats().await["active"] == u64::from(capacity)
        })
        .await;
        visits
    }

    /// Enters, follows the place and returns the turn.
    pub(crate) async fn wait_for_turn(&self, mut visitor: Visitor) -> Turn {
        while !visitor.record.has_entered {
            self.step(&mut visitor).await;
        }
        let position = visitor.follower.entry().and_then(|entry| entry.position);
        let position = position.expect("the visitor waits");
        self.follow_to_turn(&mut visitor).await;
        let wait_ms = visitor.record.wait_ms().expect("the visitor is ready");
        Turn {
            position,
            wait: Duration::from_millis(wait_ms),
        }
    }

    /// Follows the place of a visitor until the turn.
    pub(crate) async fn follow_to_turn(&self, visitor: &mut Visitor) {
        while visitor.state().is_none_or(|state| state == EntryState::Waiting) {
            self.step(visitor).await;
        }
        let is_let_in = matches!(visitor.state(), Some(EntryState::Ready | EntryState::Active));
        assert!(is_let_in, "the visitor lost the turn: {:?}", visitor.record);
    }

    pub(crate) async fn stats(&self) -> Value {
        self.runner
            .run_command(json!({ "op": "stats", "queue": self.id }))
            .await
    }
}
