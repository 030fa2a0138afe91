//! The secret of a distribution that stands before the API.

use aws_config::SdkConfig;
use vestibule_api::config::{ORIGIN_KEY_CHARACTERS_MIN, OriginKey};

use super::{
    ConfigError, VariableLookup, invalid_variable, read_process_variable,
    secret::{Secret, SecretsClient},
};

/// Where to find the origin key, if there is one.
#[derive(Debug, Clone)]
pub struct OriginKeyConfig {
    secret: Option<Secret>,
    endpoint_url: Option<String>,
}

impl OriginKeyConfig {
    /// Reads these variables, which are all optional:
    ///
    /// - `VESTIBULE_ORIGIN_KEY`: the secret, at least 16 characters.
    /// - `VESTIBULE_ORIGIN_KEY_SECRET`: instead of the variable above, the ARN or name of a secret in Secrets Manager
    ///   with such a text.
    /// - `VESTIBULE_SECRETS_ENDPOINT`: the address of an emulator of Secrets Manager.
    ///
    /// # Errors
    /// [`ConfigError`] if the secret is given twice.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&read_process_variable)
    }

    /// Reads the same variables with the given lookup.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn read(vars: VariableLookup<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            secret: Secret::read_optional(vars, "VESTIBULE_ORIGIN_KEY", "VESTIBULE_ORIGIN_KEY_SECRET")?,
            endpoint_url: vars("VESTIBULE_SECRETS_ENDPOINT"),
        })
    }

    /// Returns the origin key, if there is one. It fetches the key if it is in Secrets Manager.
    ///
    /// # Errors
    /// [`ConfigError`] if the key cannot be fetched or is too short.
    pub async fn fetch(&self, aws: &SdkConfig) -> Result<Option<OriginKey>, ConfigError> {
        let Some(secret) = &self.secret else {
            return Ok(None);
        };
        let found = secret
            .fetch(&SecretsClient::new(aws, self.endpoint_url.as_deref()))
            .await?;
        OriginKey::new(&found.text).map(Some).map_err(|held| {
            let reason = format!(
                "holds {held} characters, but the secret of a distribution needs at least {ORIGIN_KEY_CHARACTERS_MIN}"
            );
            invalid_variable(found.name, reason)
        })
    }
}
