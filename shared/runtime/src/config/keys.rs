//! The secrets of a deployment, and the issuer that its passes name.

use aws_config::SdkConfig;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use vestibule_api::{
    config::Keys,
    pass::{PassKeys, PassKeysError},
};
use vestibule_domain::id::RootKey;
use vestibule_engine::key_store::KeyStoreError;

use vestibule_telemetry::{
    read_all,
    variables::{
        ConfigError, ConfigErrors, VariableLookup, invalid_variable, read_process_variable, read_required,
    },
};

use super::{
    OriginKeyConfig, SigningKeysConfig,
    secret::{Secret, SecretText, SecretsClient},
};

/// Where the keys of the visitor and service routes come from.
#[derive(Debug, Clone)]
pub struct KeysConfig {
    root: RootKeyConfig,
    signing: SigningKeysConfig,
    origin: OriginKeyConfig,
    issuer: String,
}

impl KeysConfig {
    /// Reads this variable, and those of [`RootKeyConfig::from_env`], [`SigningKeysConfig::from_env`] and
    /// [`OriginKeyConfig::read`]:
    ///
    /// - `VESTIBULE_ISSUER`: the URL of the deployment, which its passes name as their issuer.
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
            root = RootKeyConfig::read(vars);
            signing = SigningKeysConfig::read(vars);
            issuer = read_required(vars, "VESTIBULE_ISSUER");
        }
        Ok(Self {
            root,
            signing,
            origin: OriginKeyConfig::read(vars),
            issuer,
        })
    }

    /// The address of an emulator of Secrets Manager, or `None` for Secrets Manager itself.
    pub fn endpoint_url(&self) -> Option<&str> {
        self.root.endpoint_url()
    }

    /// Returns the secrets. It fetches those in Secrets Manager at the same time.
    ///
    /// # Errors
    /// [`ConfigErrors`] for the secrets that cannot be fetched or are not valid keys. They name
    /// the variables and never show a value. The origin key is no error: no request needs it.
    pub async fn fetch(&self, aws: &SdkConfig) -> Result<Keys, ConfigErrors> {
        let signing = self.signing.connect(aws);
        let load = PassKeys::load(&self.issuer, signing.store, signing.cache_seconds);
        let load = async { load.await.map_err(|error| self.signing_error(&error)) };
        let (root, passes, origin) = tokio::join!(self.root.fetch(aws), load, self.origin.connect(aws));
        read_all! {
            root = root;
            passes = passes;
        }
        Ok(Keys { root, passes, origin })
    }

    fn signing_error(&self, error: &PassKeysError) -> ConfigError {
        let reason = match error {
            PassKeysError::Store(KeyStoreError::Unavailable(reason)) => reason.clone(),
            PassKeysError::Store(error) => error.to_string(),
            PassKeysError::Key(error) => format!("does not serve as a signing key: {error}"),
        };
        invalid_variable(self.signing.secret.variable(), reason)
    }
}

/// Where to find the root key. A function that finds entries and signs no passes reads only this.
#[derive(Debug, Clone)]
pub struct RootKeyConfig {
    secret: Secret,
    endpoint_url: Option<String>,
}

impl RootKeyConfig {
    /// Reads these variables:
    ///
    /// - `VESTIBULE_ROOT_KEY`: at least 32 bytes in base64 or hex.
    /// - `VESTIBULE_ROOT_KEY_SECRET`: instead of the variable above, the ARN or name of a secret in
    ///   Secrets Manager with such a text.
    /// - `VESTIBULE_SECRETS_ENDPOINT`: optional, the address of an emulator of Secrets Manager.
    ///
    /// # Errors
    /// [`ConfigError`] if no root key is given, or if it is given twice.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&read_process_variable)
    }

    /// Reads the same variables with the given lookup.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn read(vars: VariableLookup<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            secret: Secret::read(vars, "VESTIBULE_ROOT_KEY", "VESTIBULE_ROOT_KEY_SECRET")?,
            endpoint_url: vars("VESTIBULE_SECRETS_ENDPOINT"),
        })
    }

    /// The address of an emulator of Secrets Manager, or `None` for Secrets Manager itself.
    pub fn endpoint_url(&self) -> Option<&str> {
        self.endpoint_url.as_deref()
    }

    /// Returns the root key. It fetches the key if it is in Secrets Manager.
    ///
    /// # Errors
    /// [`ConfigError`] if the key cannot be fetched or is not valid.
    pub async fn fetch(&self, aws: &SdkConfig) -> Result<RootKey, ConfigError> {
        parse_root_key(
            &self
                .secret
                .fetch(&SecretsClient::new(aws, self.endpoint_url()))
                .await?,
        )
    }
}

fn parse_root_key(found: &SecretText) -> Result<RootKey, ConfigError> {
    let text = found.text.trim();
    let bytes = decode_hex(text)
        .or_else(|| STANDARD.decode(text).ok())
        .or_else(|| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok())
        .ok_or_else(|| invalid_variable(found.name, "is neither base64 nor hex"))?;
    RootKey::new(bytes).map_err(|held| {
        invalid_variable(
            found.name,
            format!("holds {held} bytes, but a root key needs at least 32"),
        )
    })
}

/// Decodes hex. Returns `None` if the text is not an even number of hex digits. The caller tries
/// hex before base64, because a text of 64 hex digits is valid base64 too.
fn decode_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}
