//! The functions as Lambda runs them: several processes, each of which a test may kill at any moment.
//!
//! Together these tests make the functions send each call that `tests/aws-calls.txt` has.

mod commands;
mod concurrent_entries;
mod fallback_ticks;
mod killed_promoter;
mod killed_status;
mod not_started;
mod origin_key;
mod promoter;
mod root_key;
mod secondary_failures;
mod secrets;
mod signed_requests;
mod unknown_entry;
mod unwritten_entries;
mod widget;

use std::{future::Future, sync::Arc, time::Duration};

use aws_sdk_dynamodb::{Client, types::AttributeValue};
use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_domain::id::QueueId;
use vestibule_line::{Line, OperatorView};
use vestibule_tests::{
    api::{Guest, new_visitor_id},
    functions::{API_KEY, Deployment, DeploymentConfig, redis_url},
    in_process::{ApiRequest, ApiResponse},
    servers::{connect_redis, dynamodb_url},
};

/// The longest that a test waits for a condition.
const BOUND: Duration = Duration::from_mins(1);

/// A deployment with one queue, and direct access to its line.
struct Stage {
    deployment: Arc<Deployment>,
    line: Line,
    queue: QueueId,
    http: reqwest::Client,
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
            line: Line::connect_patiently(&redis_url())
                .await
                .expect("Redis answers"),
            queue: queue.parse().expect("an id"),
            http: reqwest::Client::new(),
        }
    }

    /// Runs a command about the queue, which must succeed, and returns its result. `arguments` are its further fields.
    async fn run_command(&self, op: &str, arguments: Value) -> Value {
        let mut command = json!({ "op": op, "queue": self.queue.as_str() });
        let fields = command.as_object_mut().expect("an object");
        fields.extend(arguments.as_object().expect("an object").clone());
        let mut answer = self.deployment.run_command(&command).await;
        assert_eq!(answer["ok"], true, "{command}: {answer}");
        answer["result"].take()
    }

    /// Runs a command that has to be confirmed.
    async fn run_confirmed(&self, op: &str) -> Value {
        let epoch = self.view().await.configuration.epoch;
        self.run_command(op, json!({ "confirm": self.queue.as_str(), "epoch": epoch }))
            .await
    }

    /// Runs promoters, one after the other, until the work is done.
    async fn with_promoters<T>(&self, work: impl Future<Output = T>) -> T {
        let runs = async {
            loop {
                let _ = self.deployment.run_promoter().await;
            }
        };
        let done = tokio::select! {
            done = work => done,
            never = runs => never,
        };
        self.deployment.lambda.kill("promoter");
        done
    }

    async fn send(&self, ask: ApiRequest) -> ApiResponse {
        vestibule_tests::api::send(&self.http, self.deployment.url(), ask).await
    }

    async fn enter(&self) -> (Guest, ApiResponse) {
        let id = new_visitor_id();
        let answer = self.send(Guest::enter(self.queue.as_str(), &id)).await;
        (Guest::from_response(id, answer.expect_status(201)), answer)
    }

    async fn get_status(&self, visitor: &Guest) -> ApiResponse {
        self.send(visitor.status()).await
    }

    async fn claim(&self, visitor: &Guest) -> ApiResponse {
        self.send(visitor.claim()).await
    }

    async fn complete(&self, visitor: &Guest) {
        let ask = visitor.of_service("complete", &json!({}));
        self.send(ask.header("x-api-key", API_KEY))
            .await
            .expect_status(204);
    }

    /// Asks the authorizer whether a request with these headers may call an API of the shop that the queue protects.
    async fn authorize(&self, mut headers: Value) -> Value {
        headers["x-vestibule-queue"] = json!(self.queue.as_str());
        authorize(&self.deployment, &headers).await
    }

    /// The keys of the queue in Redis.
    async fn find_keys(&self) -> (MultiplexedConnection, Vec<String>) {
        let client = redis::Client::open(redis_url()).expect("an address");
        let mut connection = connect_redis(client).await;
        let pattern = format!("vestibule:{{{}}}:*", self.queue);
        let mut keys = redis::cmd("KEYS");
        let keys = keys.arg(pattern).query_async(&mut connection).await;
        (connection, keys.expect("keys"))
    }

    /// Deletes the queue from Redis, as a Redis that restarted without its data has lost it.
    async fn lose_line(&self) {
        let (mut connection, keys) = self.find_keys().await;
        let lost: Result<u64, _> = redis::cmd("DEL").arg(keys).query_async(&mut connection).await;
        assert!(lost.expect("deleted") > 0);
    }

    /// Deletes both items of the queue in the table, as an operator may in the console of AWS.
    async fn delete_items_by_hand(&self) {
        let url = dynamodb_url();
        let aws = vestibule_aws::load_config([Some(url.as_str())]).await;
        let client = Client::new(&vestibule_aws::config_for_endpoint(&aws, Some(&url)));
        for part in ["settings", "line"] {
            let key = [("queue", self.queue.as_str()), ("part", part)];
            let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
            let delete = client.delete_item().table_name(&self.deployment.tables.queues);
            delete.set_key(Some(key.into())).send().await.expect("deleted");
        }
    }

    async fn view(&self) -> OperatorView {
        self.line.queue_view(&self.queue).await.expect("the queue exists")
    }
}

/// Asks the authorizer whether a request with these headers may call an API of the shop.
async fn authorize(deployment: &Deployment, headers: &Value) -> Value {
    let event = json!({
        "version": "2.0", "type": "REQUEST", "headers": headers, "requestContext": { "requestId": "a-request" },
    });
    let answer = deployment.lambda.invoke("authorizer", &event).await;
    answer.expect("an answer")
}
