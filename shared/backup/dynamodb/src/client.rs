//! The DynamoDB client: its timeouts and retries, and how its errors become [`BackupError`]s.

use std::{error::Error, time::Duration};

use aws_config::{SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_dynamodb::{
    Client, config,
    error::{ProvideErrorMetadata, SdkError},
};
use vestibule_backup::BackupError;

/// The timeout of one operation with all its attempts. A visitor waits for it.
const OPERATION_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The timeout of one attempt, including the answer.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(700);
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// With these attempts and the SDK's jittered pauses between them, most operations end within
/// [`OPERATION_TIMEOUT`].
const ATTEMPTS_MAX: u32 = 3;
const BACKOFF_FIRST: Duration = Duration::from_millis(50);

/// The error codes by which DynamoDB throttles. See its [list of
/// errors](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html).
const THROTTLE_CODES: [&str; 3] = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
];

/// The timeouts for reading complete shards, 1 MB at a time, for a restore or a check. No visitor
/// waits for one of these answers.
const LONG_OPERATION_TIMEOUT: Duration = Duration::from_secs(30);
const LONG_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(14);

/// A client with bounded timeouts and retries.
pub(super) fn new(aws: &SdkConfig, endpoint_url: Option<&str>) -> Client {
    let retries = RetryConfig::standard()
        .with_max_attempts(ATTEMPTS_MAX)
        .with_initial_backoff(BACKOFF_FIRST);
    let config = config::Builder::from(&vestibule_aws::config_for_endpoint(aws, endpoint_url))
        .timeout_config(timeouts(OPERATION_TIMEOUT, ATTEMPT_TIMEOUT))
        .retry_config(retries);
    Client::from_conf(config.build())
}

/// The same client with longer timeouts, for reading many items.
pub(super) fn with_long_timeouts(client: &Client) -> Client {
    let config = client.config().to_builder();
    Client::from_conf(
        config
            .timeout_config(timeouts(LONG_OPERATION_TIMEOUT, LONG_ATTEMPT_TIMEOUT))
            .build(),
    )
}

fn timeouts(operation: Duration, attempt: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .operation_timeout(operation)
        .operation_attempt_timeout(attempt)
        .connect_timeout(CONNECT_TIMEOUT)
        .build()
}

/// Converts the error of a failed call. The text contains the service's own error code if there is
/// one, for the log.
pub(super) fn to_backup_error<E, R>(operation: &str, error: &SdkError<E, R>) -> BackupError
where
    E: Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    let reason = format!("{operation}: {}", vestibule_aws::failure_reason(error));
    match error.code() {
        Some(code) if THROTTLE_CODES.contains(&code) => BackupError::Throttled(reason),
        _ => BackupError::Unavailable(reason),
    }
}
