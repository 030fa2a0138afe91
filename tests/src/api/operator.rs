//! Runs the commands of operators, in the way that each backend offers.

use std::{env, future::ready, sync::Arc};

use serde_json::{Value, json};
use vestibule_admin::{Admin, OperatorRootKey};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;

use crate::{
    functions::Deployment,
    runner::Runner,
    servers::{dynamodb_url, server_url},
};

/// Runs the commands of operators.
pub(super) enum Operator {
    /// The runner, over HTTP.
    Runner(Runner),
    /// The function `admin`.
    Function(Deployment),
    /// The library in this process, over the line and the backup of the backend.
    Library(Admin),
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Operator")
    }
}

impl Operator {
    /// Uses the Redis and the tables that the environment names.
    pub(super) async fn with_servers_of_environment() -> Self {
        let default = TableNames::default();
        let table_name = |variable, default| {
            env::var(variable)
                .ok()
                .filter(|table| !table.is_empty())
                .unwrap_or(default)
        };
        let connection = Connection {
            endpoint_url: Some(dynamodb_url()),
            tables: TableNames {
                queues: table_name("TEST_QUEUES_TABLE", default.queues),
                entries: table_name("TEST_ENTRIES_TABLE", default.entries),
            },
        };
        Self::Library(Admin {
            line: Line::connect_patiently(&server_url("TEST_REDIS_URL"))
                .await
                .expect("Redis answers"),
            backup: Arc::new(DynamoDbBackup::connect(connection).await),
            // The suite names no visitor in a command. A queue that is created without the key is tied to it by the first
            // function that serves it.
            root_key: OperatorRootKey::fetched_by(Box::new(|| {
                Box::pin(ready(Err(
                    "the suite has no root key of the deployment".to_owned()
                )))
            })),
            policy: SettingsPolicy::default(),
            signing_keys: crate::functions::fixed_signing_keys(),
        })
    }

    pub(super) async fn run_command(&self, command: &Value) -> Value {
        let mut outcome = match self {
            Self::Runner(runner) => return runner.run_command(command.clone()).await,
            Self::Function(deployment) => deployment.run_command(command).await,
            Self::Library(admin) => admin.handle(command.clone()).await,
        };
        assert_eq!(outcome["ok"], json!(true), "{command}: {outcome}");
        outcome["result"].take()
    }
}
