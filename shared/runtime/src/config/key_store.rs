//! Where a function finds the keys that sign passes.

use std::sync::Arc;

use async_trait::async_trait;
use aws_config::SdkConfig;
use vestibule_admin::SigningKeys;
use vestibule_domain::key_ring::KeyRing;
use vestibule_engine::key_store::{FixedKey, KeyStore, KeyStoreError};

use vestibule_telemetry::{
    read_all,
    variables::{ConfigError, ConfigErrors, VariableLookup, invalid_variable, read_process_variable},
};

use super::secret::{Secret, SecretsClient};

const CACHE_SECONDS: &str = "VESTIBULE_KEY_CACHE_SECONDS";
/// How old keys in a process or a cache may be without the variable, in seconds.
const CACHE_SECONDS_DEFAULT: u32 = 300;
/// The most that the variable may say, in seconds. A rotation takes twice as long before the new key signs.
const CACHE_SECONDS_MAX: u32 = 86_400;

/// Where the signing keys are, and for how long they may be kept.
#[derive(Debug, Clone)]
pub struct SigningKeysConfig {
    pub(super) secret: Secret,
    pub(super) cache_seconds: u32,
    endpoint_url: Option<String>,
}

impl SigningKeysConfig {
    /// Reads these variables:
    ///
    /// - `VESTIBULE_SIGNING_KEY`: a P-256 key in PKCS#8 as PEM, in which `\n` may stand for a
    ///   line break; or at least 64 letters and digits, from which a key is derived. No command can rotate it.
    /// - `VESTIBULE_SIGNING_KEY_SECRET`: instead of the variable above, the ARN or name of a secret
    ///   in Secrets Manager with such a text, or with the key ring that the command `rotate` stores there.
    /// - `VESTIBULE_KEY_CACHE_SECONDS`: how long a process and the readers of the public keys may keep them,
    ///   300 by default, at most 86,400.
    /// - `VESTIBULE_SECRETS_ENDPOINT`: optional, the address of an emulator of Secrets Manager.
    ///
    /// # Errors
    /// [`ConfigErrors`] for the variables that are missing or invalid.
    pub fn from_env() -> Result<Self, ConfigErrors> {
        Self::read(&read_process_variable)
    }

    /// Reads the same variables with the given lookup.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn read(vars: VariableLookup<'_>) -> Result<Self, ConfigErrors> {
        read_all! {
            secret = Secret::read(vars, "VESTIBULE_SIGNING_KEY", "VESTIBULE_SIGNING_KEY_SECRET");
            cache_seconds = read_cache_seconds(vars);
        }
        Ok(Self {
            secret,
            cache_seconds,
            endpoint_url: vars("VESTIBULE_SECRETS_ENDPOINT"),
        })
    }

    /// The address of an emulator of Secrets Manager, or `None` for Secrets Manager itself.
    pub fn endpoint_url(&self) -> Option<&str> {
        self.endpoint_url.as_deref()
    }

    /// Connects to the store of the keys. Reads nothing yet.
    pub fn connect(&self, aws: &SdkConfig) -> SigningKeys {
        let store: Arc<dyn KeyStore> = match self.secret.inline_text() {
            // A text that is no ring is taken for a key, so its reader gets the reason why it is none.
            Some(text) => Arc::new(FixedKey(
                KeyRing::parse(text).unwrap_or_else(|_| KeyRing::single(text)),
            )),
            None => Arc::new(SecretKeyStore {
                secret: self.secret.clone(),
                client: SecretsClient::new(aws, self.endpoint_url()),
            }),
        };
        SigningKeys {
            store,
            cache_seconds: self.cache_seconds,
        }
    }
}

fn read_cache_seconds(vars: VariableLookup<'_>) -> Result<u32, ConfigError> {
    let Some(text) = vars(CACHE_SECONDS) else {
        return Ok(CACHE_SECONDS_DEFAULT);
    };
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| (1..=CACHE_SECONDS_MAX).contains(seconds));
    seconds.ok_or_else(|| {
        let reason = format!("must be a whole number of seconds from 1 to {CACHE_SECONDS_MAX}");
        invalid_variable(CACHE_SECONDS, reason)
    })
}

/// A secret in Secrets Manager that holds the key ring.
#[derive(Debug)]
struct SecretKeyStore {
    secret: Secret,
    client: SecretsClient,
}

#[async_trait]
impl KeyStore for SecretKeyStore {
    async fn read(&self) -> Result<KeyRing, KeyStoreError> {
        let found = self.secret.fetch(&self.client).await;
        let found = found.map_err(|error| KeyStoreError::Unavailable(error.reason))?;
        Ok(KeyRing::parse(&found.text)?)
    }

    async fn write(&self, ring: &KeyRing) -> Result<(), KeyStoreError> {
        let stored = self.secret.store(&self.client, ring.to_json()).await;
        stored.map_err(|error| KeyStoreError::Unavailable(error.reason))
    }
}
