//! Whoever gives orders, by what the backend takes them.

use std::{env, sync::Arc};

use serde_json::{Value, json};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::id::RootKey;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line_redis::RedisLine;
use vestibule_operate::admin::Admin;

use crate::{
    functions::Deployment,
    runner::Runner,
    servers::{dynamodb_url, server_url},
};

/// Whoever gives orders.
pub(super) enum Operator {
    /// The runner takes them over HTTP.
    Runner(Runner),
    /// The function `admin`.
    Function(Deployment),
    /// The library in this process, over the same Redis and tables.
    Library(Admin),
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Operator")
    }
}

impl Operator {
    /// Over the Redis and the tables that the environment names.
    pub(super) async fn library() -> Self {
        let default = TableNames::default();
        let named = |name, default| {
            env::var(name)
                .ok()
                .filter(|table| !table.is_empty())
                .unwrap_or(default)
        };
        let connection = Connection {
            endpoint_url: Some(dynamodb_url()),
            tables: TableNames {
                queues: named("TEST_QUEUES_TABLE", default.queues),
                entries: named("TEST_ENTRIES_TABLE", default.entries),
            },
        };
        Self::Library(Admin {
            line: Arc::new(
                RedisLine::connect(&server_url("TEST_REDIS_URL"))
                    .await
                    .expect("Redis answers"),
            ),
            backup: Arc::new(DynamoDbBackup::connect(connection).await),
            // Nobody is looked for by visitor id here: the deployment's own key stays its own.
            root_key: RootKey::new(vec![0; 32]).expect("long enough"),
            policy: SettingsPolicy::default(),
        })
    }

    pub(super) async fn order(&self, order: &Value) -> Value {
        let mut answer = match self {
            Self::Runner(runner) => return runner.run_command(order.clone()).await,
            Self::Function(deployment) => deployment.run_command(order).await,
            Self::Library(admin) => admin.handle(order.clone()).await,
        };
        assert_eq!(answer["ok"], json!(true), "{order}: {answer}");
        answer["result"].take()
    }
}
