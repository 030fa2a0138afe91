//! Starts a Lambda function. It first reads the whole configuration from the environment, and then
//! connects to all servers at the same time, because a visitor waits for a function that starts.

use std::{future::Future, pin::Pin, process::ExitCode, sync::Arc};

use lambda_runtime::Error;
use tokio::sync::watch;
use vestibule_admin::{Admin, Invocation, OperatorRootKey};
use vestibule_api::{
    Services,
    config::{ApiConfig, AuthorizerConfig, settings_policy_from_env},
};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup};
use vestibule_domain::right::Right;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{IamLogin, Line, LineError};
use vestibule_telemetry::{
    emf::Metrics,
    read_all,
    variables::{ConfigError, ConfigErrors},
};

use crate::config::{KeysConfig, RedisConfig, RootKeyConfig, SigningKeysConfig, dynamodb_from_env};

/// Starts a function, and serves with what the start gave until Lambda ends it. A function that cannot start says why in one line
/// of the log, with every variable that is wrong.
pub fn run_function<Parts: 'static, Failure, Serving>(
    start: impl Future<Output = Result<Parts, Failure>> + 'static,
    serve: impl FnOnce(Parts) -> Serving + 'static,
) -> impl Future<Output = ExitCode>
where
    Failure: Into<Error>,
    Serving: Future<Output = Result<(), Error>> + 'static,
{
    // Boxes, because the compiler has a limit for how deep a type is nested.
    let start: BoxedStep<Parts> = Box::pin(async { start.await.map_err(Into::into) });
    run_steps(start, |parts| Box::pin(serve(parts)))
}

type BoxedStep<T> = Pin<Box<dyn Future<Output = Result<T, Error>>>>;

async fn run_steps<Parts>(start: BoxedStep<Parts>, serve: impl FnOnce(Parts) -> BoxedStep<()>) -> ExitCode {
    vestibule_telemetry::init_logging();
    let parts = match start.await {
        Ok(parts) => parts,
        Err(error) => {
            let variables = match error.downcast_ref() {
                Some(StartError::Config(errors)) => errors.names().join(", "),
                _ => String::new(),
            };
            tracing::error!(event = "server.not_started", variables, %error, "the function cannot start");
            return ExitCode::FAILURE;
        }
    };
    match serve(parts).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(event = "server.ended", %error, "the function ended, because the runtime of Lambda failed");
            ExitCode::FAILURE
        }
    }
}

/// Why a function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration in the environment is incomplete or invalid.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// Redis cannot be reached.
    #[error(transparent)]
    Line(#[from] LineError),
}

/// Creates what the HTTP routes work with: the line, the backup, the keys and the configuration.
/// Redis may be down.
///
/// # Errors
/// [`StartError`], which names the environment variables or the server.
pub async fn connect_api() -> Result<Services, StartError> {
    connect(ApiEnvironment::read()?).await
}

/// Creates what the authorizer works with: that of the HTTP routes, and whom it admits.
///
/// # Errors
/// As [`connect_api`].
pub async fn connect_authorizer() -> Result<(Services, AuthorizerConfig), StartError> {
    read_all! {
        config = AuthorizerConfig::from_env();
        environment = ApiEnvironment::read();
    }
    Ok((connect(environment).await?, config))
}

/// What the environment says of a function that serves HTTP routes.
struct ApiEnvironment {
    config: ApiConfig,
    keys: KeysConfig,
    servers: ServersConfig,
}

impl ApiEnvironment {
    fn read() -> Result<Self, ConfigErrors> {
        read_all! {
            config = ApiConfig::from_env();
            keys = KeysConfig::from_env();
            servers = ServersConfig::from_env();
        }
        Ok(Self {
            config,
            keys,
            servers,
        })
    }
}

async fn connect(environment: ApiEnvironment) -> Result<Services, StartError> {
    let ApiEnvironment {
        config,
        keys,
        servers,
    } = environment;
    let aws = vestibule_aws::load_config([servers.endpoint_url(), keys.endpoint_url()]).await;
    let line = servers.connect_line_later(&aws)?;
    // The function connects to Redis and fetches the keys at the same time. If Redis does not
    // answer, the function starts all the same: it can answer from the backup, and each request
    // tries to connect to Redis again.
    let (reached, keys) = tokio::join!(line.ping(), keys.fetch(&aws));
    if let Err(error) = reached {
        tracing::warn!(
            event = "server.started_without_line",
            %error,
            "started the function without Redis; each request tries to connect again"
        );
    }
    // Lambda freezes or ends a function only between requests, so no held poll needs the shutdown
    // signal.
    let (_, shutdown) = watch::channel(false);
    Ok(Services::new(
        line,
        Arc::new(servers.backup(&aws)),
        keys?,
        config,
        shutdown,
        Metrics::for_process(),
    ))
}

/// Creates what the admin function works with. It connects to Redis and fetches the root key with the first command that
/// needs them, so that the others can be given while either is unavailable.
///
/// # Errors
/// [`StartError`], which names the environment variables.
pub async fn prepare_admin() -> Result<Admin, StartError> {
    read_all! {
        policy = settings_policy_from_env();
        root_key = RootKeyConfig::from_env();
        signing_keys = SigningKeysConfig::from_env();
        servers = ServersConfig::from_env();
    }
    let aws = vestibule_aws::load_config([servers.endpoint_url(), root_key.endpoint_url()]).await;
    Ok(Admin {
        line: servers.connect_line_later(&aws)?,
        backup: Arc::new(servers.backup(&aws)),
        root_key: fetch_later(root_key, aws.clone()),
        policy,
        signing_keys: signing_keys.connect(&aws),
    })
}

fn fetch_later(root_key: RootKeyConfig, aws: aws_config::SdkConfig) -> OperatorRootKey {
    let fetch = move || {
        let (root_key, aws) = (root_key.clone(), aws.clone());
        async move { root_key.fetch(&aws).await.map_err(|error| error.to_string()) }
    };
    OperatorRootKey::fetched_by(Box::new(move || Box::pin(fetch())))
}

/// What the context of a call of the admin function tells about its caller. Lambda passes the identity of a Cognito user, and
/// not that of an IAM user or role, whom `CloudTrail` has under the id of the request.
pub fn describe_invocation(context: &lambda_runtime::Context) -> Invocation {
    let identity = context.identity.as_ref();
    Invocation {
        identity: identity.map(|identity| identity.identity_id.clone()),
        request_id: Some(context.request_id.clone()),
        right: Right::of_invoked(&context.invoked_function_arn),
    }
}

/// What the promoter function works with.
pub struct PromoterServers {
    /// What this deployment allows the settings of its queues to contain.
    pub policy: SettingsPolicy,
    /// The line in Redis.
    pub line: Line,
    /// The backup in DynamoDB.
    pub backup: DynamoDbBackup,
    /// What its further AWS clients share with those two.
    pub aws: aws_config::SdkConfig,
}

/// Connects to the line in Redis and to the backup in DynamoDB, for the promoter function. `further_endpoints` are the
/// addresses of the other services that it will use; `None` stands for the service's own address.
///
/// # Errors
/// [`StartError`], which names the environment variables or the server.
pub async fn connect_promoter(further_endpoints: &[Option<&str>]) -> Result<PromoterServers, StartError> {
    read_all! {
        policy = settings_policy_from_env();
        servers = ServersConfig::from_env();
    }
    let endpoints = [&[servers.endpoint_url()], further_endpoints].concat();
    let aws = vestibule_aws::load_config(endpoints).await;
    Ok(PromoterServers {
        policy,
        line: servers.connect_line(&aws).await?,
        backup: servers.backup(&aws),
        aws,
    })
}

/// The addresses of Redis and DynamoDB.
struct ServersConfig {
    redis: RedisConfig,
    dynamodb: Connection,
}

impl ServersConfig {
    fn from_env() -> Result<Self, ConfigErrors> {
        read_all! {
            redis = RedisConfig::from_env();
            dynamodb = dynamodb_from_env();
        }
        Ok(Self { redis, dynamodb })
    }

    fn endpoint_url(&self) -> Option<&str> {
        self.dynamodb.endpoint_url.as_deref()
    }

    async fn connect_line(&self, aws: &aws_config::SdkConfig) -> Result<Line, StartError> {
        let line = match self.iam_login(aws)? {
            Some(login) => Line::connect_with_login(&self.redis.url, login).await?,
            None => Line::connect(&self.redis.url).await?,
        };
        Ok(line.with_backup_name(&self.dynamodb.tables.queues))
    }

    fn connect_line_later(&self, aws: &aws_config::SdkConfig) -> Result<Line, StartError> {
        let line = Line::connect_lazily(&self.redis.url, self.iam_login(aws)?)?;
        Ok(line.with_backup_name(&self.dynamodb.tables.queues))
    }

    fn iam_login(&self, aws: &aws_config::SdkConfig) -> Result<Option<IamLogin>, ConfigErrors> {
        let login = |user| IamLogin::new(user, aws).ok_or_else(|| missing_region().into());
        self.redis.iam.clone().map(login).transpose()
    }

    fn backup(&self, aws: &aws_config::SdkConfig) -> DynamoDbBackup {
        DynamoDbBackup::from_sdk_config(aws, self.dynamodb.clone())
    }
}

fn missing_region() -> ConfigError {
    ConfigError {
        name: "AWS_REGION",
        reason:
            "is not set, but the IAM login to the cache needs a region; set it to the region of the cache"
                .to_owned(),
    }
}
