//! The requests to the functions: a deployment with one queue and one active entry.

use std::{collections::BTreeMap, sync::Arc};

use aws_sdk_secretsmanager::Client;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_admin::Admin;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup};
use vestibule_domain::id::{IdKey, RootKey, Visitor};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{Arrival, Line};
use vestibule_tests::{
    functions::{DeploymentConfig, fresh_tables, function_variables, redis_url, root_key},
    in_process::{event, with_header},
    servers::dynamodb_url,
};

use crate::BenchResult;

const ENTRY: &str = "/queues/{queue}/entries/{token}";

/// The environment and the requests of the functions.
pub(crate) struct Calls {
    variables: BTreeMap<String, String>,
    queue: String,
    visitor: String,
    token: String,
}

impl Calls {
    /// Creates a queue with room for all visitors, and enters one of them.
    pub(crate) async fn prepare() -> BenchResult<Self> {
        let tables = fresh_tables();
        let mut variables = function_variables(&DeploymentConfig::default(), &tables);
        store_keys(&mut variables).await?;
        let backup = DynamoDbBackup::connect(Connection {
            endpoint_url: Some(dynamodb_url()),
            tables,
        })
        .await;
        backup.create_tables_if_missing().await?;
        let line = Line::connect(&redis_url()).await?;
        let admin = Admin {
            line: line.clone(),
            backup: Arc::new(backup),
            root_key: root_key().into(),
            policy: SettingsPolicy::default(),
            signing_keys: vestibule_tests::functions::fixed_signing_keys(),
        };
        let queue = format!("bench:{}", Uuid::new_v4());
        let settings = json!({ "capacity": 1_000, "batch": 1_000 });
        let created = admin
            .handle(json!({ "op": "create", "queue": queue, "settings": settings }))
            .await;
        if created["ok"] != true {
            return Err(format!("the queue was not created: {created}").into());
        }
        variables.insert("VESTIBULE_AUTHORIZER_QUEUES".to_owned(), queue.clone());
        // The same visitor calls in every start.
        variables.insert("VESTIBULE_AUTHORIZER_CALLS".to_owned(), "0".to_owned());
        let visitor = Uuid::new_v4().to_string();
        let token = enter(&line, &queue, &visitor, &root_key()).await?;
        Ok(Self {
            variables,
            queue,
            visitor,
            token,
        })
    }

    /// The environment of each function.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        self.variables.clone()
    }

    /// A request for which a function does its usual work.
    pub(crate) fn request_for(&self, function: &str) -> Value {
        let entry = json!({ "queue": self.queue, "token": self.token });
        match function {
            "document" => event("GET", "/queues/{queue}", &json!({ "queue": self.queue })),
            "enter" => {
                let enter = event("POST", "/queues/{queue}/entries", &json!({ "queue": self.queue }));
                with_header(enter, "X-Visitor-Id", &Uuid::new_v4().to_string())
            }
            "claim" => with_header(
                event("POST", &format!("{ENTRY}/claim"), &entry),
                "X-Visitor-Id",
                &self.visitor,
            ),
            "status" => with_header(event("GET", ENTRY, &entry), "X-Visitor-Id", &self.visitor),
            "validate" => {
                let mut validate = event("POST", &format!("{ENTRY}/validate"), &entry);
                validate["requestContext"]["identity"]["apiKeyId"] = json!("key1");
                validate["body"] = json!(json!({ "visitor": self.visitor }).to_string());
                with_header(validate, "Content-Type", "application/json")
            }
            "authorizer" => {
                let pair = STANDARD.encode(format!("{}:{}", self.token, self.visitor));
                json!({
                    "type": "TOKEN",
                    "authorizationToken": format!("Basic {pair}"),
                    "methodArn": "arn:aws:execute-api:us-east-1:123456789012:abc123/v1/GET/",
                })
            }
            "admin" => json!({ "op": "stats", "queue": self.queue }),
            _ => json!({ "source": "aws.events" }),
        }
    }
}

/// Stores the keys in Secrets Manager, where the functions of a deployment fetch them at their start.
async fn store_keys(variables: &mut BTreeMap<String, String>) -> BenchResult {
    let address = dynamodb_url(); // The emulator serves both at this address.
    let client = Client::new(&vestibule_aws::config_for_endpoint(
        &vestibule_aws::load_config([Some(address.as_str())]).await,
        Some(&address),
    ));
    for name in ["VESTIBULE_ROOT_KEY", "VESTIBULE_SIGNING_KEY"] {
        let key = variables.remove(name).ok_or("a deployment has both keys")?;
        let secret = client
            .create_secret()
            .name(format!("bench/{}", Uuid::new_v4()))
            .secret_string(key);
        let arn = secret.send().await?.arn.ok_or("a secret has an ARN")?;
        variables.insert(format!("{name}_SECRET"), arn);
    }
    variables.insert("VESTIBULE_SECRETS_ENDPOINT".to_owned(), address);
    Ok(())
}

async fn enter(line: &Line, queue: &str, visitor: &str, root: &RootKey) -> BenchResult<String> {
    let queue = queue.parse()?;
    let salt = line.queue_view(&queue).await?.configuration.salt;
    let id = IdKey::derive_for_queue(root, &queue, &salt)?.entry_id(&Visitor::anonymous(visitor)?);
    line.enter(&queue, id, Arrival::Ordinary).await?;
    Ok(id.to_string())
}
