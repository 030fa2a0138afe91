//! The secret of a distribution that stands before the API.

use std::time::Duration;

use aws_config::SdkConfig;
use vestibule_api::origin_key::{LiveOriginKey, ORIGIN_KEY_CHARACTERS_MIN, OriginKey};
use vestibule_telemetry::emf::Metrics;

use vestibule_telemetry::variables::{ConfigError, VariableLookup, invalid_variable};

use super::secret::{Secret, SecretText, SecretsClient};

/// How long the secret before a change counts: until the locations of a distribution have the present one.
const FORMER_KEPT: Duration = Duration::from_hours(1);

/// Where to find the origin key, if there is one. Every mistake in it shows when the key is read, and ends no start.
#[derive(Debug, Clone)]
pub struct OriginKeyConfig {
    secret: Result<Option<Secret>, ConfigError>,
    endpoint_url: Option<String>,
}

impl OriginKeyConfig {
    /// Reads these variables with the given lookup. All are optional:
    ///
    /// - `VESTIBULE_ORIGIN_KEY`: the secret, at least 16 characters.
    /// - `VESTIBULE_ORIGIN_KEY_SECRET`: instead of the variable above, the ARN or name of a secret in Secrets Manager
    ///   with such a text.
    /// - `VESTIBULE_SECRETS_ENDPOINT`: the address of an emulator of Secrets Manager.
    pub fn read(vars: VariableLookup<'_>) -> Self {
        Self {
            secret: Secret::read_optional(vars, "VESTIBULE_ORIGIN_KEY", "VESTIBULE_ORIGIN_KEY_SECRET"),
            endpoint_url: vars("VESTIBULE_SECRETS_ENDPOINT"),
        }
    }

    /// Reads the origin key, if there is one. From then on it is read again each minute.
    pub async fn connect(&self, aws: &SdkConfig) -> LiveOriginKey {
        let Some(secret) = self.secret.clone().transpose() else {
            return LiveOriginKey::default();
        };
        let client = SecretsClient::without_time_limits(aws, self.endpoint_url.as_deref());
        let read = move || {
            let (secret, client) = (secret.clone(), client.clone());
            async move {
                fetch_key(secret, &client)
                    .await
                    .map_err(|error| error.to_string())
            }
        };
        LiveOriginKey::load(Box::new(move || Box::pin(read())), Metrics::for_process()).await
    }
}

async fn fetch_key(
    secret: Result<Secret, ConfigError>,
    client: &SecretsClient,
) -> Result<OriginKey, ConfigError> {
    let (SecretText { name, text }, former) = secret?.fetch_with_former(client, FORMER_KEPT).await?;
    let key = OriginKey::new(&text).map_err(|held| {
        let reason = format!(
            "holds {held} characters, but the secret of a distribution needs at least {ORIGIN_KEY_CHARACTERS_MIN}"
        );
        invalid_variable(name, reason)
    })?;
    Ok(match former {
        Some(former) => key.with_former(&former),
        None => key,
    })
}
