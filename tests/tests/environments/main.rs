//! The functions as Lambda runs them: several processes, each of which may be killed at any moment.

mod gateway;
mod killed;
mod promoter;
mod shared_line;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_domain::id::QueueId;
use vestibule_line::{Line, QueueView};
use vestibule_line_redis::RedisLine;
use vestibule_tests::{
    edge::{Answer, Ask},
    functions::{API_KEY, Deployment, DeploymentConfig, redis_url},
};

/// The longest that anything here takes.
const BOUND: Duration = Duration::from_mins(1);

/// A deployment with one queue, and its line as it stands.
struct Stage {
    deployment: Arc<Deployment>,
    line: RedisLine,
    queue: QueueId,
    http: reqwest::Client,
}

/// Somebody in line.
#[derive(Debug, Clone)]
struct Guest {
    id: String,
    token: String,
}

impl Stage {
    async fn open(config: DeploymentConfig, settings: Value) -> Self {
        let deployment = Arc::new(Deployment::start(config).await);
        let queue = format!("test:{}", Uuid::new_v4());
        let order = json!({ "op": "create", "queue": queue, "settings": settings });
        let created = deployment.run_command(&order).await;
        assert_eq!(created["ok"], true, "{created}");
        Self {
            deployment,
            line: RedisLine::connect(&redis_url()).await.expect("Redis answers"),
            queue: queue.parse().expect("an id"),
            http: reqwest::Client::new(),
        }
    }

    async fn send(&self, ask: Ask) -> Answer {
        vestibule_tests::api::send(&self.http, self.deployment.url(), ask).await
    }

    async fn enters(&self) -> (Guest, Answer) {
        let id = Uuid::new_v4().to_string();
        let answer = self.send(self.entering(&id)).await;
        let token = answer.is(201).text("token").to_owned();
        (Guest { id, token }, answer)
    }

    fn entering(&self, visitor: &str) -> Ask {
        Ask::post(format!("/queues/{}/entries", self.queue)).visitor(visitor)
    }

    fn of(&self, guest: &Guest, below: &str) -> String {
        format!("/queues/{}/entries/{}{below}", self.queue, guest.token)
    }

    async fn looks(&self, guest: &Guest) -> Answer {
        self.send(Ask::get(self.of(guest, "")).visitor(&guest.id)).await
    }

    async fn claims(&self, guest: &Guest) -> Answer {
        self.send(Ask::post(self.of(guest, "/claim")).visitor(&guest.id))
            .await
    }

    async fn completes(&self, guest: &Guest) {
        let ask = Ask::post(self.of(guest, "/complete")).header("x-api-key", API_KEY);
        self.send(ask).await.is(204);
    }

    async fn view(&self) -> QueueView {
        self.line
            .queue_view(&self.queue)
            .await
            .expect("there is the queue")
    }
}
