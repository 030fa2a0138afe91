//! Starts a Lambda function. It first reads the whole configuration from the environment, and then connects to
//! all servers at the same time, because a visitor waits for a function that starts.

use std::sync::Arc;

use tokio::sync::watch;
use vestibule_api::Edge;
use vestibule_backup_dynamodb::{Connection, DynamoDb};
use vestibule_line::{Line, LineError};
use vestibule_line_redis::{IamLogin, RedisLine};
use vestibule_operate::admin::Admin;

use crate::config::{
    ConfigError, KeysConfig, RedisConfig, RootKeyConfig, api_config_from_env, dynamodb_from_env,
};

/// Why a function cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration in the environment is incomplete or invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Redis cannot be reached.
    #[error(transparent)]
    Line(#[from] LineError),
}

/// Creates what the HTTP routes work with: the line, the backup, the keys and the configuration. Redis may be
/// down.
///
/// # Errors
/// [`StartError`], which names the environment variable or the server.
pub async fn edge() -> Result<Arc<Edge>, StartError> {
    let config = api_config_from_env()?;
    let keys = KeysConfig::from_env()?;
    let servers = Servers::from_env()?;
    let aws = vestibule_aws::load([servers.endpoint_url(), keys.endpoint_url()]).await;
    let line = servers.line_later(&aws)?;
    // The function connects to Redis and fetches the keys at the same time. If Redis does not answer, the
    // function starts all the same: it can answer from the backup, and each request tries to connect to Redis
    // again.
    let (reached, keys) = tokio::join!(line.ping(), keys.fetch(&aws));
    if let Err(error) = reached {
        tracing::warn!(
            event = "server.started_without_line",
            %error,
            "started the function without Redis; each request tries to connect again"
        );
    }
    let keys = keys?;
    // Lambda freezes or ends a function only between requests, so no held poll needs the shutdown signal.
    let (_, shutdown) = watch::channel(false);
    Ok(Edge::new(
        Arc::new(line),
        Arc::new(servers.backup(&aws)),
        keys,
        config,
        shutdown,
    ))
}

/// Creates what the admin function works with. Redis must answer.
///
/// # Errors
/// [`StartError`], which names the environment variable or the server.
pub async fn admin() -> Result<Admin, StartError> {
    let policy = (&api_config_from_env()?).into();
    let root_key = RootKeyConfig::from_env()?;
    let servers = Servers::from_env()?;
    let aws = vestibule_aws::load([servers.endpoint_url(), root_key.endpoint_url()]).await;
    let (line, root_key) = tokio::try_join!(servers.line(&aws), async { Ok(root_key.fetch(&aws).await?) })?;
    Ok(Admin {
        line: Arc::new(line),
        backup: Arc::new(servers.backup(&aws)),
        root_key,
        policy,
    })
}

/// Connects to the line in Redis and to the backup in DynamoDB, for the promoter function.
///
/// # Errors
/// [`StartError`], which names the environment variable or the server.
pub async fn line_and_backup() -> Result<(RedisLine, DynamoDb), StartError> {
    let servers = Servers::from_env()?;
    let aws = vestibule_aws::load([servers.endpoint_url()]).await;
    Ok((servers.line(&aws).await?, servers.backup(&aws)))
}

/// The addresses of Redis and DynamoDB.
struct Servers {
    redis: RedisConfig,
    dynamodb: Connection,
}

impl Servers {
    fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            redis: RedisConfig::from_env()?,
            dynamodb: dynamodb_from_env()?,
        })
    }

    fn endpoint_url(&self) -> Option<&str> {
        self.dynamodb.endpoint_url.as_deref()
    }

    async fn line(&self, aws: &aws_config::SdkConfig) -> Result<RedisLine, StartError> {
        Ok(match self.login(aws)? {
            Some(login) => RedisLine::connect_as(&self.redis.url, login).await?,
            None => RedisLine::connect(&self.redis.url).await?,
        })
    }

    fn line_later(&self, aws: &aws_config::SdkConfig) -> Result<RedisLine, StartError> {
        Ok(RedisLine::connect_later(&self.redis.url, self.login(aws)?)?)
    }

    fn login(&self, aws: &aws_config::SdkConfig) -> Result<Option<IamLogin>, ConfigError> {
        let login = |user| IamLogin::new(user, aws).ok_or_else(no_region);
        self.redis.iam.clone().map(login).transpose()
    }

    fn backup(&self, aws: &aws_config::SdkConfig) -> DynamoDb {
        DynamoDb::on(aws, self.dynamodb.clone())
    }
}

fn no_region() -> ConfigError {
    ConfigError {
        name: "AWS_REGION",
        reason:
            "is not set, but the IAM login to the cache needs a region; set it to the region of the cache"
                .to_owned(),
    }
}
