//! The client: how long it tries, and what its failures become.

use std::{env, error::Error, time::Duration};

use aws_config::{
    BehaviorVersion, environment::EnvironmentVariableRegionProvider, meta::region::RegionProviderChain,
    retry::RetryConfig, timeout::TimeoutConfig,
};
use aws_sdk_dynamodb::{
    Client,
    config::Credentials,
    error::{ProvideErrorMetadata, SdkError},
};

use super::Tables;
use crate::backup::BackupError;

/// One operation with all its attempts. A visitor waits for it.
const OPERATION: Duration = Duration::from_millis(1_500);
/// One attempt, answer included.
const ATTEMPT: Duration = Duration::from_millis(700);
const CONNECT: Duration = Duration::from_millis(500);
/// With these and the SDK's jittered pauses between them, an operation ends within [`OPERATION`] in most cases.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Where the backup is.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// The address of an emulator; that of the region where `None`.
    pub endpoint_url: Option<String>,
    /// The names of the tables.
    pub tables: Tables,
}

/// A client with bounded timeouts and retries.
pub(super) async fn connect(endpoint_url: Option<String>) -> Client {
    let timeouts = TimeoutConfig::builder()
        .operation_timeout(OPERATION)
        .operation_attempt_timeout(ATTEMPT)
        .connect_timeout(CONNECT)
        .build();
    let retries = RetryConfig::standard()
        .with_max_attempts(ATTEMPTS)
        .with_initial_backoff(FIRST_PAUSE);
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .timeout_config(timeouts)
        .retry_config(retries);
    if let Some(url) = endpoint_url {
        // An emulator speaks plain HTTP and takes any credentials: nobody needs an account to try things.
        if url.starts_with("http://") && env::var_os("AWS_ACCESS_KEY_ID").is_none() {
            loader = loader
                .credentials_provider(Credentials::new("local", "local", None, None, "emulator"))
                .region(
                    RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
                        .or_else("us-east-1"),
                );
        }
        loader = loader.endpoint_url(url);
    }
    Client::new(&loader.load().await)
}

/// What a call that gave no answer comes to. The text has the service's own code where there is one, for whoever
/// reads the log.
pub(super) fn unavailable<E, R>(operation: &str, error: &SdkError<E, R>) -> BackupError
where
    E: Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    let text = match error.code() {
        Some(code) => format!("{operation}: {code}: {}", error.message().unwrap_or("no message")),
        None => format!("{operation}: {}", chain(error)),
    };
    BackupError::Unavailable(text)
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
