//! A deployment on this machine: the real function binaries under an emulated Lambda, with an emulated API Gateway in
//! front and tables that no other test uses.

// A panic in the harness fails the test.
#![allow(clippy::missing_panics_doc)]

mod definitions;
mod secrets;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_admin::SigningKeys;
use vestibule_api::pass::new_key_pem;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::{id::RootKey, key_ring::KeyRing};
use vestibule_engine::key_store::FixedKey;

pub use self::definitions::function_binary;
use self::{
    definitions::{define_functions, resource_names},
    secrets::DeploymentSecrets,
};
use crate::{
    aws_calls::{AwsEndpoint, CallRecorder, Emulator, KnownCalls},
    lambda::{
        InvocationError, Lambda,
        document::{Conditions, Document},
        gateway::{GatewayConfig, RunningGateway},
    },
    lines::Backend,
    servers::{dynamodb_url, server_url},
};

/// The signing keys of commands that do not rotate them.
pub fn fixed_signing_keys() -> SigningKeys {
    SigningKeys {
        store: Arc::new(FixedKey(KeyRing::single(""))),
        cache_seconds: 1,
    }
}

/// The only origin that the deployment allows in cross-origin requests.
pub const ORIGIN: &str = "https://shop.example";
/// The API key of the protected service.
pub const API_KEY: &str = "a-key-of-the-shop";
/// The id of that key in API Gateway.
const API_KEY_ID: &str = "key1";
/// The ARN of the role that signs requests of the protected service.
pub const SHOP_ARN: &str = "arn:aws:sts::000000000000:assumed-role/shop/i-0123";
/// The access key id that those signatures name.
pub const SHOP_ACCESS_KEY_ID: &str = "AKIDSHOP";
/// The secret of the distribution in front of a deployment whose keys are in Secrets Manager.
pub const ORIGIN_KEY: &str = "the-secret-of-the-distribution";
/// The root key in hex.
const ROOT_KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";
/// The time limit for the creation of the tables.
const TABLES_MAX: Duration = Duration::from_mins(1);
/// The stage of the deployment.
const STAGE: &str = "v1";
/// The Redis database of the deployments. The runners of other tests use other databases.
const REDIS_DATABASE: u8 = 13;

/// How API Gateway guards the routes of the protected service. This is a parameter of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceAuth {
    /// The caller sends an API key.
    ApiKey,
    /// The caller signs with AWS Signature Version 4.
    Iam,
}

/// The settings of a deployment. The default suits most tests.
#[derive(Debug, Clone)]
pub struct DeploymentConfig {
    /// The server that holds the line.
    pub line: Backend,
    /// How API Gateway guards the routes of the protected service.
    pub service: ServiceAuth,
    /// The longest that one invocation of the function `status` may take.
    pub status_timeout: Duration,
    /// The longest that one run of the promoter may take.
    pub promoter_timeout: Duration,
    /// The most execution environments of each function except the promoter.
    pub environments_max: usize,
    /// The most promoters that run at once.
    pub promoters_max: usize,
    /// The most polls that the deployment holds at once. `None` means the default of the code.
    pub held_polls_max: Option<u32>,
    /// The URL of the Redis that holds the line. `None` means the server that `line` selects.
    pub redis_url: Option<String>,
    /// The DynamoDB endpoints of single functions, by function name, instead of the endpoint that records the calls.
    pub table_urls: BTreeMap<&'static str, String>,
    /// Variables of every function that replace the usual ones. The code treats an empty variable as unset.
    pub variables: BTreeMap<&'static str, String>,
    /// Whether the keys are in Secrets Manager, as on AWS, and with them an origin key. Otherwise they are in variables.
    pub secrets: bool,
    /// Whether the promoter sends events to a bus.
    pub event_bus: bool,
}

impl Default for DeploymentConfig {
    fn default() -> Self {
        Self {
            line: Backend::Redis,
            service: ServiceAuth::ApiKey,
            status_timeout: Duration::from_secs(29),
            promoter_timeout: Duration::from_mins(1),
            environments_max: 20,
            promoters_max: 1,
            held_polls_max: None,
            redis_url: None,
            table_urls: BTreeMap::new(),
            variables: BTreeMap::new(),
            secrets: false,
            event_bus: false,
        }
    }
}

/// A running deployment.
#[derive(Debug)]
pub struct Deployment {
    /// The functions.
    pub lambda: Lambda,
    /// The backup, which is the deployment's tables in DynamoDB.
    pub backup: DynamoDbBackup,
    /// The name of the deployment, as the functions know it.
    pub name: String,
    /// The names of its tables.
    pub tables: TableNames,
    gateway: RunningGateway,
    /// The last field: dropping it fails the test if a function sent an unknown call, and the processes end before.
    aws: AwsEndpoint,
}

impl Deployment {
    /// Creates the tables and starts the gateway. Lambda starts a function when it is invoked.
    pub async fn start(config: DeploymentConfig) -> Self {
        let tables = fresh_tables();
        let connection = Connection {
            endpoint_url: Some(dynamodb_url()),
            tables: tables.clone(),
        };
        let backup = DynamoDbBackup::connect(connection).await;
        create_tables(&backup).await;
        let secrets = if config.secrets {
            Some(DeploymentSecrets::create(ROOT_KEY, ORIGIN_KEY).await)
        } else {
            None
        };
        let (emulator, resources) = (
            Emulator::at(&dynamodb_url()),
            resource_names(&tables, secrets.as_ref()),
        );
        let aws = AwsEndpoint::listen(emulator, KnownCalls::from_file(), resources).await;
        let lambda = Lambda::new(define_functions(&config, &tables, &aws, secrets.as_ref()));
        aws.set_lambda(&lambda);
        let gateway = GatewayConfig {
            lambda: lambda.clone(),
            stage: STAGE.to_owned(),
            document: Document::read(&template_conditions(&config)),
            api_keys: HashMap::from([(API_KEY.to_owned(), API_KEY_ID.to_owned())]),
            signers: HashMap::from([(SHOP_ACCESS_KEY_ID.to_owned(), SHOP_ARN.to_owned())]),
        };
        Self {
            backup,
            name: deployment_name(&tables),
            tables,
            gateway: gateway.listen().await,
            lambda,
            aws,
        }
    }

    /// The URL of the API, with the stage.
    pub fn url(&self) -> &str {
        &self.gateway.url
    }

    /// The entries of the events that the promoter sent to the bus.
    pub fn sent_events(&self) -> Vec<Value> {
        self.aws.sent_events()
    }

    /// What records the calls of the functions, for an endpoint of [`DeploymentConfig::table_urls`].
    pub(crate) fn call_recorder(&self) -> Arc<CallRecorder> {
        self.aws.recorder()
    }

    /// Runs a command of an operator with the function `admin`.
    pub async fn run_command(&self, command: &Value) -> Value {
        self.lambda.invoke("admin", command).await.expect("an answer")
    }

    /// Runs the promoter once, as the schedule does each minute.
    ///
    /// # Errors
    /// [`InvocationError`], for example if a test killed the run.
    pub async fn run_promoter(&self) -> Result<Value, InvocationError> {
        let event = json!({ "source": "aws.events", "detail-type": "Scheduled Event", "detail": {} });
        self.lambda.invoke("promoter", &event).await
    }
}

/// Creates the tables. Many tests may do so at once, and the emulator answers one after the other.
async fn create_tables(backup: &DynamoDbBackup) {
    let end = Instant::now() + TABLES_MAX;
    while let Err(error) = backup.create_tables_if_missing().await {
        assert!(Instant::now() < end, "the tables were not created: {error}");
    }
}

/// The URL of the Redis database that all deployments of the tests share.
pub fn redis_url() -> String {
    let server = server_url("TEST_REDIS_URL");
    format!("{}/{REDIS_DATABASE}", server.trim_end_matches('/'))
}

/// The root key that all deployments of the tests share.
pub fn root_key() -> RootKey {
    RootKey::new(vec![7; 32]).expect("long enough")
}

/// Names for tables that no other test uses, because a promoter serves every queue that it finds in its tables.
pub fn fresh_tables() -> TableNames {
    let run = Uuid::new_v4();
    TableNames {
        queues: format!("test-queues-{run}"),
        entries: format!("test-entries-{run}"),
    }
}

/// The environment variables of every function of a deployment.
pub fn function_variables(config: &DeploymentConfig, tables: &TableNames) -> BTreeMap<String, String> {
    let service_routes = match config.service {
        ServiceAuth::Iam => "iam",
        ServiceAuth::ApiKey => "api-key",
    };
    let redis_url = match (&config.redis_url, config.line) {
        (Some(url), _) => url.clone(),
        (None, Backend::Redis) => redis_url(),
        (None, other) => other.url(),
    };
    // The code treats an empty variable as unset.
    let held_polls_max = config
        .held_polls_max
        .map_or_else(String::new, |budget| budget.to_string());
    let usual = [
        ("VESTIBULE_REDIS_URL", redis_url),
        ("VESTIBULE_DYNAMODB_ENDPOINT", dynamodb_url()),
        ("VESTIBULE_QUEUES_TABLE", tables.queues.clone()),
        ("VESTIBULE_ENTRIES_TABLE", tables.entries.clone()),
        ("VESTIBULE_ROOT_KEY", ROOT_KEY.to_owned()),
        ("VESTIBULE_SIGNING_KEY", new_key_pem(rand::random)),
        ("VESTIBULE_ISSUER", "https://wait.example".to_owned()),
        ("VESTIBULE_CORS_ORIGINS", ORIGIN.to_owned()),
        ("VESTIBULE_SERVICE_ROUTES", service_routes.to_owned()),
        ("VESTIBULE_DEPLOYMENT", deployment_name(tables)),
        ("VESTIBULE_HELD_BUDGET", held_polls_max),
        ("RUST_LOG", "warn".to_owned()),
    ];
    let replaced = config.variables.clone();
    let variables = usual.into_iter().chain(replaced);
    variables.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The name of a deployment. It keeps the deployment's keys apart from those of others in the same Redis.
fn deployment_name(tables: &TableNames) -> String {
    format!("of-{}", tables.queues)
}

/// The values that the conditions of the template have in this deployment.
fn template_conditions(config: &DeploymentConfig) -> Conditions {
    [
        ("VisitorsAreOpen", true),
        ("VisitorsAreOfCognito", false),
        ("VisitorsAreOfAnAuthorizer", false),
        ("VisitorsHaveKeys", false),
        ("ServiceIsUnguarded", false),
        ("ServiceHasKeys", config.service == ServiceAuth::ApiKey),
        ("AnyOrigin", false),
    ]
    .into()
}
