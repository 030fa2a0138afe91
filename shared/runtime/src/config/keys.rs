//! The secrets of a deployment, and what passes name as their issuer.

use aws_config::SdkConfig;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use vestibule_api::{
    config::Keys,
    pass::{Signer, new_key_pem},
};
use vestibule_domain::id::RootKey;

use super::{
    ConfigError, Lookup, environment, required,
    secret::{Found, Secret, Vault},
    wrong,
};

/// The least letters and digits of a text that a signing key is derived from: such a text has more than 256 bits.
const SIGNING_TEXT_MIN: usize = 64;
/// Sets the derived key apart from anything else that may ever be derived from the same text.
const SIGNING_LABEL: &[u8] = b"vestibule pass signing key 1";

/// Where the secrets of a deployment are.
#[derive(Debug, Clone)]
pub struct KeysConfig {
    root: RootKeyConfig,
    signing: Secret,
    issuer: String,
}

impl KeysConfig {
    /// Reads `VESTIBULE_SIGNING_KEY` (an Ed25519 key in PKCS#8 as PEM, where `\n` may stand for a line's end, or 64
    /// letters and digits or more, from which one is derived) or `VESTIBULE_SIGNING_KEY_SECRET` (the ARN or name of such
    /// a text in Secrets Manager); `VESTIBULE_ISSUER`, an address of the deployment, which passes name as theirs; and
    /// what [`RootKeyConfig`] reads.
    ///
    /// # Errors
    /// The first one that is missing or wrong.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&environment)
    }

    /// Reads the same from other variables than the process's own.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn read(vars: Lookup<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            root: RootKeyConfig::read(vars)?,
            signing: Secret::read(vars, "VESTIBULE_SIGNING_KEY", "VESTIBULE_SIGNING_KEY_SECRET")?,
            issuer: required(vars, "VESTIBULE_ISSUER")?,
        })
    }

    /// The address of an emulator of Secrets Manager, where there is one.
    pub fn endpoint_url(&self) -> Option<&str> {
        self.root.endpoint_url()
    }

    /// The secrets themselves, fetched side by side where they are in Secrets Manager.
    ///
    /// # Errors
    /// The first one that cannot be had or does not serve. It names the variable, and never shows the value.
    pub async fn fetch(&self, aws: &SdkConfig) -> Result<Keys, ConfigError> {
        let vault = Vault::new(aws, self.endpoint_url());
        let (root, signing) = tokio::try_join!(self.root.secret.find(&vault), self.signing.find(&vault))?;
        Ok(Keys {
            root: root_key(&root)?,
            signer: signer(&signing, &self.issuer)?,
        })
    }
}

/// Where the root key is: for a function that finds entries and signs nothing.
#[derive(Debug, Clone)]
pub struct RootKeyConfig {
    secret: Secret,
    endpoint_url: Option<String>,
}

impl RootKeyConfig {
    /// Reads `VESTIBULE_ROOT_KEY` (base64 or hex, 32 bytes or more) or `VESTIBULE_ROOT_KEY_SECRET` (the ARN or name of
    /// such a text in Secrets Manager), and `VESTIBULE_SECRETS_ENDPOINT`, the address of an emulator.
    ///
    /// # Errors
    /// Where it is missing.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&environment)
    }

    /// Reads the same from other variables than the process's own.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn read(vars: Lookup<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            secret: Secret::read(vars, "VESTIBULE_ROOT_KEY", "VESTIBULE_ROOT_KEY_SECRET")?,
            endpoint_url: vars("VESTIBULE_SECRETS_ENDPOINT"),
        })
    }

    /// The address of an emulator of Secrets Manager, where there is one.
    pub fn endpoint_url(&self) -> Option<&str> {
        self.endpoint_url.as_deref()
    }

    /// The key itself.
    ///
    /// # Errors
    /// Where it cannot be had or does not serve.
    pub async fn fetch(&self, aws: &SdkConfig) -> Result<RootKey, ConfigError> {
        root_key(&self.secret.find(&Vault::new(aws, self.endpoint_url())).await?)
    }
}

fn root_key(found: &Found) -> Result<RootKey, ConfigError> {
    let text = found.text.trim();
    let bytes = from_hex(text)
        .or_else(|| STANDARD.decode(text).ok())
        .or_else(|| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok())
        .ok_or_else(|| wrong(found.name, "is neither base64 nor hex"))?;
    RootKey::new(bytes).map_err(|held| wrong(found.name, format!("holds {held} bytes, and 32 are the least")))
}

/// `None` where it is anything but whole bytes in hex. Hex is tried first: 64 digits of it are base64 as well.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

fn signer(found: &Found, issuer: &str) -> Result<Signer, ConfigError> {
    let text = found.text.trim();
    let is_text = text.len() >= SIGNING_TEXT_MIN && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let pem = if is_text {
        new_key_pem(signing_seed(text))
    } else {
        text.replace("\\n", "\n")
    };
    Signer::from_pem(issuer, &pem).map_err(|error| {
        wrong(
            found.name,
            format!("does not serve: {error}, nor {SIGNING_TEXT_MIN} letters and digits or more"),
        )
    })
}

/// The seed of the Ed25519 key that a random text stands for: see `docs/decisions/generated-secrets.md`.
fn signing_seed(text: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(text.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(SIGNING_LABEL);
    mac.finalize().into_bytes().into()
}
