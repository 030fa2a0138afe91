//! The secrets of a deployment, and what passes name as their issuer.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};

use super::{ConfigError, Lookup, environment, required, wrong};
use crate::{
    domain::id::RootKey,
    pass::{PassError, Signer},
};

/// The secrets of a deployment.
#[derive(Debug, Clone)]
pub struct Keys {
    /// From which entry ids are derived.
    pub root: RootKey,
    /// With which passes are signed.
    pub signer: Signer,
}

impl Keys {
    /// Reads `VESTIBULE_ROOT_KEY` (base64 or hex, 32 bytes or more) and `VESTIBULE_SIGNING_KEY` (an Ed25519 key in
    /// PKCS#8 as PEM, where `\n` may stand for a line's end). `issuer` is what passes name as theirs.
    ///
    /// # Errors
    /// The first one that is missing or wrong.
    pub fn from_env(issuer: &str) -> Result<Self, ConfigError> {
        Self::read(&environment, issuer)
    }

    pub(super) fn read(vars: Lookup<'_>, issuer: &str) -> Result<Self, ConfigError> {
        Ok(Self {
            root: read_root_key(vars)?,
            signer: signer(
                "VESTIBULE_SIGNING_KEY",
                &required(vars, "VESTIBULE_SIGNING_KEY")?,
                issuer,
            )?,
        })
    }
}

/// Reads `VESTIBULE_ROOT_KEY` alone: for a function that finds entries and signs nothing.
///
/// # Errors
/// Where it is missing or wrong.
pub fn root_key_from_env() -> Result<RootKey, ConfigError> {
    read_root_key(&environment)
}

fn read_root_key(vars: Lookup<'_>) -> Result<RootKey, ConfigError> {
    root_key("VESTIBULE_ROOT_KEY", &required(vars, "VESTIBULE_ROOT_KEY")?)
}

fn root_key(name: &'static str, text: &str) -> Result<RootKey, ConfigError> {
    let text = text.trim();
    let bytes = from_hex(text)
        .or_else(|| STANDARD.decode(text).ok())
        .or_else(|| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok())
        .ok_or_else(|| wrong(name, "is neither base64 nor hex"))?;
    RootKey::new(bytes).map_err(|found| wrong(name, format!("holds {found} bytes, and 32 are the least")))
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

fn signer(name: &'static str, pem: &str, issuer: &str) -> Result<Signer, ConfigError> {
    Signer::from_pem(issuer, &pem.replace("\\n", "\n"))
        .map_err(|error: PassError| wrong(name, format!("does not serve: {error}")))
}

/// The issuer that passes name, from `VESTIBULE_ISSUER`: an address of the deployment.
///
/// # Errors
/// Where it is missing.
pub fn issuer_from_env() -> Result<String, ConfigError> {
    required(&environment, "VESTIBULE_ISSUER")
}
