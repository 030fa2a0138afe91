//! The deployment's own functions under Lambda on this machine, with tables of their own and API Gateway in front.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::OnceLock,
    time::Duration,
};

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_api::pass::new_key_pem;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::id::RootKey;

use crate::{
    lambda::{
        Failure, Function, Lambda,
        document::{Conditions, Document},
        gateway::{Gateway, Listening},
    },
    lines::Backend,
    programs::built,
    servers::{dynamodb_url, server_url},
};

/// The origin whose pages may call.
pub const ORIGIN: &str = "https://shop.example";
/// The key of the protected service.
pub const API_KEY: &str = "a-key-of-the-shop";
/// What API Gateway calls that key.
const API_KEY_ID: &str = "key1";
/// Who signs as the protected service.
pub const SHOP_ARN: &str = "arn:aws:sts::000000000000:assumed-role/shop/i-0123";
/// With which access key.
pub const SHOP_ACCESS_KEY_ID: &str = "AKIDSHOP";
/// In hex.
const ROOT_KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";
/// The deployment's stage.
const STAGE: &str = "v1";
/// A Redis database of its own, beside those of the runners.
const REDIS_DATABASE: u8 = 13;

/// How the protected service's routes are guarded: the template's parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceAuth {
    /// By an API key.
    ApiKey,
    /// By an AWS signature.
    Iam,
}

/// How a deployment differs from the usual.
#[derive(Debug, Clone)]
pub struct Choices {
    /// Where the line is.
    pub line: Backend,
    /// How the protected service's routes are guarded.
    pub service: ServiceAuth,
    /// How long the function `status` may run.
    pub status_timeout: Duration,
    /// How long the promoter may run.
    pub promoter_timeout: Duration,
    /// How many environments a function may have.
    pub environments_max: usize,
    /// How many promoters may run at once.
    pub promoters_max: usize,
    /// How many polls may be held at once, where it is not the default.
    pub held_budget: Option<u32>,
    /// Where the functions find the line, where it is at neither of the servers that every suite has.
    pub redis_url: Option<String>,
    /// Where single functions find the table, by their names, where it is not [`dynamodb_url`].
    pub table_urls: BTreeMap<&'static str, String>,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            line: Backend::Redis,
            service: ServiceAuth::ApiKey,
            status_timeout: Duration::from_secs(29),
            promoter_timeout: Duration::from_mins(1),
            environments_max: 20,
            promoters_max: 1,
            held_budget: None,
            redis_url: None,
            table_urls: BTreeMap::new(),
        }
    }
}

/// A deployment.
#[derive(Debug)]
pub struct Deployment {
    /// Its functions.
    pub lambda: Lambda,
    /// Its tables.
    pub backup: DynamoDbBackup,
    /// What its functions call it.
    pub name: String,
    gateway: Listening,
}

impl Deployment {
    /// Makes the tables, and starts nothing else: Lambda starts what is called.
    pub async fn start(choices: Choices) -> Self {
        let tables = fresh_tables();
        let connection = Connection {
            endpoint_url: Some(dynamodb_url()),
            tables: tables.clone(),
        };
        let backup = DynamoDbBackup::connect(connection).await;
        backup.create_tables_if_missing().await.expect("tables");
        let lambda = Lambda::new(functions(&choices, &variables(&choices, &tables)));
        let gateway = Gateway {
            lambda: lambda.clone(),
            stage: STAGE.to_owned(),
            document: Document::read(&conditions(&choices)),
            api_keys: HashMap::from([(API_KEY.to_owned(), API_KEY_ID.to_owned())]),
            signers: HashMap::from([(SHOP_ACCESS_KEY_ID.to_owned(), SHOP_ARN.to_owned())]),
        };
        Self {
            lambda,
            backup,
            name: name(&tables),
            gateway: gateway.listen().await,
        }
    }

    /// Where its API is, with the stage.
    pub fn url(&self) -> &str {
        &self.gateway.url
    }

    /// Carries an order of an operator out, by the function `admin`.
    pub async fn order(&self, order: &Value) -> Value {
        self.lambda.invoke("admin", order).await.expect("an answer")
    }

    /// What the schedule does each minute.
    ///
    /// # Errors
    /// Where the run was killed, for example.
    pub async fn promoter_runs(&self) -> Result<Value, Failure> {
        let event = json!({ "source": "aws.events", "detail-type": "Scheduled Event", "detail": {} });
        self.lambda.invoke("promoter", &event).await
    }
}

/// The database in Redis that every deployment of a test has.
pub fn redis_url() -> String {
    let server = server_url("TEST_REDIS_URL");
    format!("{}/{REDIS_DATABASE}", server.trim_end_matches('/'))
}

/// The root key of every deployment of a test.
pub fn root_key() -> RootKey {
    RootKey::new(vec![7; 32]).expect("long enough")
}

/// Tables that nobody else has: a promoter serves every queue that it finds in them.
pub fn fresh_tables() -> TableNames {
    let run = Uuid::new_v4();
    TableNames {
        queues: format!("test-queues-{run}"),
        entries: format!("test-entries-{run}"),
    }
}

/// The environment of every function of a deployment.
pub fn variables(choices: &Choices, tables: &TableNames) -> BTreeMap<String, String> {
    let service_routes = match choices.service {
        ServiceAuth::Iam => "iam",
        ServiceAuth::ApiKey => "api-key",
    };
    let redis_url = match (&choices.redis_url, choices.line) {
        (Some(url), _) => url.clone(),
        (None, Backend::Redis) => redis_url(),
        (None, other) => other.url(),
    };
    // One that is empty counts as none.
    let held_budget = choices
        .held_budget
        .map_or_else(String::new, |budget| budget.to_string());
    [
        ("VESTIBULE_REDIS_URL", redis_url),
        ("VESTIBULE_DYNAMODB_ENDPOINT", dynamodb_url()),
        ("VESTIBULE_QUEUES_TABLE", tables.queues.clone()),
        ("VESTIBULE_ENTRIES_TABLE", tables.entries.clone()),
        ("VESTIBULE_ROOT_KEY", ROOT_KEY.to_owned()),
        ("VESTIBULE_SIGNING_KEY", new_key_pem(rand::random())),
        ("VESTIBULE_ISSUER", "https://wait.example".to_owned()),
        ("VESTIBULE_CORS_ORIGINS", ORIGIN.to_owned()),
        ("VESTIBULE_SERVICE_ROUTES", service_routes.to_owned()),
        ("VESTIBULE_DEPLOYMENT", name(tables)),
        ("VESTIBULE_HELD_BUDGET", held_budget),
        ("RUST_LOG", "warn".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// A deployment's name: it shares its Redis with others, and nothing else.
fn name(tables: &TableNames) -> String {
    format!("of-{}", tables.queues)
}

fn functions(choices: &Choices, variables: &BTreeMap<String, String>) -> Vec<Function> {
    let minute = Duration::from_mins(1);
    [
        ("enter", Duration::from_secs(10), choices.environments_max),
        ("status", choices.status_timeout, choices.environments_max),
        ("validate", Duration::from_secs(10), choices.environments_max),
        ("admin", minute, choices.environments_max),
        ("promoter", choices.promoter_timeout, choices.promoters_max),
    ]
    .into_iter()
    .map(|(name, timeout, environments_max)| {
        let mut variables = variables.clone();
        if let Some(url) = choices.table_urls.get(name) {
            variables.insert("VESTIBULE_DYNAMODB_ENDPOINT".to_owned(), url.clone());
        }
        Function {
            name,
            program: binaries().join(name),
            variables,
            timeout,
            environments_max,
        }
    })
    .collect()
}

/// The template's conditions, as this deployment decides them.
fn conditions(choices: &Choices) -> Conditions {
    [
        ("VisitorsAreOpen", true),
        ("VisitorsAreOfCognito", false),
        ("VisitorsAreOfAnAuthorizer", false),
        ("VisitorsHaveKeys", false),
        ("ServiceIsUnguarded", false),
        ("ServiceHasKeys", choices.service == ServiceAuth::ApiKey),
        ("AnyOrigin", false),
    ]
    .into()
}

/// Where the functions' programs are: `VESTIBULE_FUNCTIONS_DIR`, or built beside this test.
fn binaries() -> &'static PathBuf {
    static BINARIES: OnceLock<PathBuf> = OnceLock::new();
    BINARIES.get_or_init(|| match std::env::var_os("VESTIBULE_FUNCTIONS_DIR") {
        Some(path) => path.into(),
        None => built("functions"),
    })
}
