//! A secret, which is either in an environment variable itself, or in AWS Secrets Manager under a
//! name that a variable gives.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use aws_config::{
    SdkConfig, retry::RetryConfig, stalled_stream_protection::StalledStreamProtectionConfig,
    timeout::TimeoutConfig,
};
use aws_sdk_secretsmanager::{Client, config, operation::get_secret_value::GetSecretValueError};

use vestibule_telemetry::variables::{ConfigError, VariableLookup, invalid_variable};

/// The timeout of one attempt, from the connection to the complete answer.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The most attempts. A function has 10 s to start, and the attempts take at most 6 s plus the
/// pauses between them.
const ATTEMPTS_MAX: u32 = 3;
const INITIAL_BACKOFF: Duration = Duration::from_millis(50);

/// One secret that a function needs.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret {
    /// The variable that holds or names the secret.
    name: &'static str,
    location: SecretLocation,
}

#[derive(Clone, PartialEq, Eq)]
enum SecretLocation {
    /// The variable holds the secret itself.
    Inline(String),
    /// The variable holds the ARN or name of the secret in Secrets Manager.
    SecretsManager(String),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(***)", self.name)
    }
}

/// The text of a secret, with the name of its variable for error messages.
pub(super) struct SecretText {
    pub(super) name: &'static str,
    pub(super) text: String,
}

impl Secret {
    /// Reads the variable that is set of the two: `plain` holds the secret, and `by_name` names it.
    ///
    /// # Errors
    /// [`ConfigError`] if both variables are set, or neither is.
    pub(super) fn read(
        vars: VariableLookup<'_>,
        plain: &'static str,
        by_name: &'static str,
    ) -> Result<Self, ConfigError> {
        Self::read_optional(vars, plain, by_name)?.ok_or_else(|| {
            invalid_variable(
                plain,
                format!("is not set, and neither is {by_name}; set one of the two"),
            )
        })
    }

    /// Reads the variable that is set of the two, if one is.
    ///
    /// # Errors
    /// [`ConfigError`] if both variables are set.
    pub(super) fn read_optional(
        vars: VariableLookup<'_>,
        plain: &'static str,
        by_name: &'static str,
    ) -> Result<Option<Self>, ConfigError> {
        let (name, location) = match (vars(plain), vars(by_name)) {
            (Some(_), Some(_)) => {
                return Err(invalid_variable(
                    by_name,
                    format!("is set beside {plain}: set only one of the two"),
                ));
            }
            (Some(text), None) => (plain, SecretLocation::Inline(text)),
            (None, Some(id)) => (by_name, SecretLocation::SecretsManager(id)),
            (None, None) => return Ok(None),
        };
        Ok(Some(Self { name, location }))
    }

    /// The variable that holds or names the secret.
    pub(super) fn variable(&self) -> &'static str {
        self.name
    }

    /// The secret, if the variable holds it.
    pub(super) fn inline_text(&self) -> Option<&str> {
        match &self.location {
            SecretLocation::Inline(text) => Some(text),
            SecretLocation::SecretsManager(_) => None,
        }
    }

    /// Replaces the text of a secret in Secrets Manager.
    pub(super) async fn store(&self, vault: &SecretsClient, text: String) -> Result<(), ConfigError> {
        match &self.location {
            SecretLocation::Inline(_) => Err(invalid_variable(
                self.name,
                "holds the secret, which no call can replace",
            )),
            SecretLocation::SecretsManager(id) => vault.store_text(self.name, id, text).await,
        }
    }

    /// Returns the text of the secret. It fetches the text if it is in Secrets Manager.
    pub(super) async fn fetch(&self, vault: &SecretsClient) -> Result<SecretText, ConfigError> {
        let text = match &self.location {
            SecretLocation::Inline(text) => text.clone(),
            SecretLocation::SecretsManager(id) => vault.fetch_version(self.name, id, CURRENT).await?.text,
        };
        Ok(SecretText {
            name: self.name,
            text,
        })
    }
}

impl Secret {
    /// Reads the secret, and the one before it if it was changed less than `kept` ago.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub(super) async fn fetch_with_former(
        &self,
        vault: &SecretsClient,
        kept: Duration,
    ) -> Result<(SecretText, Option<String>), ConfigError> {
        let SecretLocation::SecretsManager(id) = &self.location else {
            return Ok((self.fetch(vault).await?, None));
        };
        let present = vault.fetch_version(self.name, id, CURRENT).await?;
        let is_new = present
            .changed_at
            .is_some_and(|at| at.elapsed().is_ok_and(|age| age < kept));
        // A secret that was never changed has no version before it.
        let former = if is_new {
            vault.fetch_version(self.name, id, PREVIOUS).await.ok()
        } else {
            None
        };
        let text = SecretText {
            name: self.name,
            text: present.text,
        };
        Ok((text, former.map(|former| former.text)))
    }
}

/// The stages of Secrets Manager: the version in force, and the one before it.
const CURRENT: &str = "AWSCURRENT";
const PREVIOUS: &str = "AWSPREVIOUS";

/// One version of a secret.
struct SecretVersion {
    text: String,
    /// When this version was stored; `None` if that is unknown.
    changed_at: Option<SystemTime>,
}

/// A client of AWS Secrets Manager.
#[derive(Debug, Clone)]
pub(super) struct SecretsClient(Client);

impl SecretsClient {
    /// Creates a client of the emulator at this address, or of the region's Secrets Manager if it
    /// is `None`.
    pub(super) fn new(aws: &SdkConfig, endpoint_url: Option<&str>) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .build();
        let config = config::Builder::from(&vestibule_aws::config_for_endpoint(aws, endpoint_url))
            .timeout_config(timeouts)
            .retry_config(retries());
        Self(Client::from_conf(config.build()))
    }

    /// As [`new`](Self::new), but without time limits. The caller ends a call that takes too long: the limits of the SDK
    /// count the time in which Lambda has frozen the process, and would then end a call that was already answered.
    pub(super) fn without_time_limits(aws: &SdkConfig, endpoint_url: Option<&str>) -> Self {
        let config = config::Builder::from(&vestibule_aws::config_for_endpoint(aws, endpoint_url))
            .timeout_config(TimeoutConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .retry_config(retries());
        Self(Client::from_conf(config.build()))
    }

    async fn store_text(&self, name: &'static str, id: &str, text: String) -> Result<(), ConfigError> {
        let stored = self
            .0
            .put_secret_value()
            .secret_id(id)
            .secret_string(text)
            .send()
            .await;
        stored.map(drop).map_err(|error| {
            let reason = vestibule_aws::failure_reason(&error);
            invalid_variable(name, format!("cannot be written: {reason}"))
        })
    }

    async fn fetch_version(
        &self,
        name: &'static str,
        id: &str,
        stage: &str,
    ) -> Result<SecretVersion, ConfigError> {
        let request = self.0.get_secret_value().secret_id(id).version_stage(stage);
        let answer = request.send().await;
        let secret = answer.map_err(|error| {
            let missing = error
                .as_service_error()
                .is_some_and(GetSecretValueError::is_resource_not_found_exception);
            let what = if missing {
                "names no secret"
            } else {
                "cannot be read"
            };
            invalid_variable(name, format!("{what}: {}", vestibule_aws::failure_reason(&error)))
        })?;
        match secret.secret_string {
            Some(text) if !text.trim().is_empty() => Ok(SecretVersion {
                text,
                changed_at: secret.created_date.and_then(|at| SystemTime::try_from(at).ok()),
            }),
            _ => Err(invalid_variable(name, "names a secret without text")),
        }
    }
}

fn retries() -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(ATTEMPTS_MAX)
        .with_initial_backoff(INITIAL_BACKOFF)
}
