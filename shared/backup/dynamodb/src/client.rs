//! The client: how long it tries, and what its failures become.

use std::{error::Error, time::Duration};

use aws_config::{SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_dynamodb::{
    Client, config,
    error::{ProvideErrorMetadata, SdkError},
};
use vestibule_backup::BackupError;

use super::Tables;

/// One operation with all its attempts. A visitor waits for it.
const OPERATION: Duration = Duration::from_millis(1_500);
/// One attempt, answer included.
const ATTEMPT: Duration = Duration::from_millis(700);
const CONNECT: Duration = Duration::from_millis(500);
/// With these and the SDK's jittered pauses between them, an operation ends within [`OPERATION`] in most cases.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// By what the service says that it has too much to do. See its
/// [list of errors](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html).
const THROTTLES: [&str; 3] = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
];

/// Where the backup is.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// The address of an emulator; that of the region where `None`.
    pub endpoint_url: Option<String>,
    /// The names of the tables.
    pub tables: Tables,
}

/// The same of reading whole shards, a megabyte at a time, for a restore or a check: no visitor waits for one answer.
const LONG_OPERATION: Duration = Duration::from_secs(30);
const LONG_ATTEMPT: Duration = Duration::from_secs(14);

/// A client with bounded timeouts and retries.
pub(super) fn new(aws: &SdkConfig, endpoint_url: Option<&str>) -> Client {
    let retries = RetryConfig::standard()
        .with_max_attempts(ATTEMPTS)
        .with_initial_backoff(FIRST_PAUSE);
    let config = config::Builder::from(&vestibule_aws::at(aws, endpoint_url))
        .timeout_config(timeouts(OPERATION, ATTEMPT))
        .retry_config(retries);
    Client::from_conf(config.build())
}

/// The same client, for whoever reads much.
pub(super) fn patient(client: &Client) -> Client {
    let config = client.config().to_builder();
    Client::from_conf(
        config
            .timeout_config(timeouts(LONG_OPERATION, LONG_ATTEMPT))
            .build(),
    )
}

fn timeouts(operation: Duration, attempt: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .operation_timeout(operation)
        .operation_attempt_timeout(attempt)
        .connect_timeout(CONNECT)
        .build()
}

/// What a call that gave no answer comes to. The text has the service's own code where there is one, for whoever
/// reads the log.
pub(super) fn unavailable<E, R>(operation: &str, error: &SdkError<E, R>) -> BackupError
where
    E: Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    let reason = format!("{operation}: {}", vestibule_aws::reason(error));
    match error.code() {
        Some(code) if THROTTLES.contains(&code) => BackupError::Throttled(reason),
        _ => BackupError::Unavailable(reason),
    }
}
