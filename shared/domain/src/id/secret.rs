//! The secret by which a visitor proves the ownership of an entry without naming anything else.
//!
//! It is derived and not stored: an entry id and a keyed hash of it. So the server finds the entry from the secret
//! alone, and a reset of the queue, which replaces the key, voids all secrets.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use uuid::Uuid;

/// What every secret begins with, so that people and scanners recognize one. No UUID begins like this; a known
/// visitor's id might, so only the hash tells a secret for certain.
const PREFIX: &str = "vst_";
/// The bytes of the keyed hash. No caller can guess 128 bits online.
const MAC_BYTES: usize = 16;

/// The secret of an entry. It must not be logged: `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct VisitorSecret(String);

impl VisitorSecret {
    pub(super) fn new(entry: &[u8; 16], mac: Hmac<Sha256>) -> Self {
        let mut bytes = entry.to_vec();
        bytes.extend_from_slice(&mac.finalize().into_bytes()[..MAC_BYTES]);
        Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Splits a text of this form into the UUID of the entry and the hash, which is not verified yet.
    pub(super) fn parse(text: &str) -> Option<(Uuid, [u8; MAC_BYTES])> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        let (id, mac) = bytes.split_at_checked(16)?;
        let id = Uuid::from_slice(id).ok()?;
        Some((id, mac.try_into().ok()?))
    }

    /// Whether a text has the form of a secret.
    pub fn is_formed_like_one(text: &str) -> bool {
        Self::parse(text).is_some()
    }

    /// The secret itself. Use it only in the answer to its visitor.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for VisitorSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VisitorSecret(***)")
    }
}
