//! The functions as Lambda runs them: several processes, each of which a test may kill at any moment.

mod concurrent_entries;
mod killed_promoter;
mod killed_status;
mod secondary_failures;
mod signed_requests;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_domain::id::QueueId;
use vestibule_line::{QueueLine, QueueView};
use vestibule_line_redis::RedisLine;
use vestibule_tests::{
    functions::{API_KEY, Deployment, DeploymentConfig, redis_url},
    in_process::{ApiRequest, ApiResponse},
};

/// The longest that a test waits for a condition.
const BOUND: Duration = Duration::from_mins(1);

/// A deployment with one queue, and direct access to its line.
struct Stage {
    deployment: Arc<Deployment>,
    line: RedisLine,
    queue: QueueId,
    http: reqwest::Client,
}

/// A visitor with an entry in the queue.
#[derive(Debug, Clone)]
struct Visitor {
    id: String,
    token: String,
}

impl Stage {
    async fn open(config: DeploymentConfig, settings: Value) -> Self {
        let deployment = Arc::new(Deployment::start(config).await);
        let queue = format!("test:{}", Uuid::new_v4());
        let command = json!({ "op": "create", "queue": queue, "settings": settings });
        let created = deployment.run_command(&command).await;
        assert_eq!(created["ok"], true, "{created}");
        Self {
            deployment,
            line: RedisLine::connect_patiently(&redis_url())
                .await
                .expect("Redis answers"),
            queue: queue.parse().expect("an id"),
            http: reqwest::Client::new(),
        }
    }

    async fn send(&self, ask: ApiRequest) -> ApiResponse {
        vestibule_tests::api::send(&self.http, self.deployment.url(), ask).await
    }

    async fn enter(&self) -> (Visitor, ApiResponse) {
        let id = Uuid::new_v4().to_string();
        let answer = self.send(self.enter_request(&id)).await;
        let token = answer.expect_status(201).text("token").to_owned();
        (Visitor { id, token }, answer)
    }

    fn enter_request(&self, visitor: &str) -> ApiRequest {
        ApiRequest::post(format!("/queues/{}/entries", self.queue)).visitor(visitor)
    }

    fn entry_path(&self, visitor: &Visitor, below: &str) -> String {
        format!("/queues/{}/entries/{}{below}", self.queue, visitor.token)
    }

    async fn get_status(&self, visitor: &Visitor) -> ApiResponse {
        self.send(ApiRequest::get(self.entry_path(visitor, "")).visitor(&visitor.id))
            .await
    }

    async fn claim(&self, visitor: &Visitor) -> ApiResponse {
        self.send(ApiRequest::post(self.entry_path(visitor, "/claim")).visitor(&visitor.id))
            .await
    }

    async fn complete(&self, visitor: &Visitor) {
        let ask = ApiRequest::post(self.entry_path(visitor, "/complete")).header("x-api-key", API_KEY);
        self.send(ask).await.expect_status(204);
    }

    async fn view(&self) -> QueueView {
        self.line.queue_view(&self.queue).await.expect("the queue exists")
    }
}
