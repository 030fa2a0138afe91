//! The root key, and its fingerprint. The fingerprint is kept with each queue, so that no process derives tokens with another key than the
//! one by which the places of the queue are known.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The bytes of a fingerprint. They tell two keys apart, and nothing about either.
const FINGERPRINT_BYTES: usize = 8;
/// The input of the keyed hash. No input of a derivation begins like this.
const LABEL: &[u8] = b"vestibule root key fingerprint";

/// The secret of a deployment, from which the id keys of all its queues are derived.
#[derive(Clone)]
pub struct RootKey(Vec<u8>);

impl RootKey {
    /// Takes a key of at least 32 bytes, the output size of the hash function (RFC 2104, section 3).
    ///
    /// # Errors
    /// The number of bytes if there are fewer than 32.
    pub fn new(bytes: Vec<u8>) -> Result<Self, usize> {
        if bytes.len() < 32 {
            Err(bytes.len())
        } else {
            Ok(Self(bytes))
        }
    }
}

impl fmt::Debug for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RootKey(***)")
    }
}

/// Tells whether two root keys are the same: a keyed hash of a fixed label. Whoever reads it learns nothing of the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RootFingerprint([u8; FINGERPRINT_BYTES]);

/// A queue was made with another root key. With this one, each visitor would get a new place and lose the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue was made with another root key (fingerprint {stored}) than the present one ({present})")]
pub struct OtherRootKey {
    /// The fingerprint that is kept with the queue.
    pub stored: RootFingerprint,
    /// That of the key in use.
    pub present: RootFingerprint,
}

impl RootKey {
    /// The hash that is keyed with this key.
    pub(super) fn keyed_hash(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&self.0).expect("HMAC accepts a key of any length (RFC 2104)")
    }

    /// The fingerprint of this key.
    pub fn fingerprint(&self) -> RootFingerprint {
        let mut mac = self.keyed_hash();
        mac.update(LABEL);
        let mut bytes = [0; FINGERPRINT_BYTES];
        bytes.copy_from_slice(&mac.finalize().into_bytes()[..FINGERPRINT_BYTES]);
        RootFingerprint(bytes)
    }
}

/// Encodes the fingerprint as 11 characters of base64url.
impl fmt::Display for RootFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for RootFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootFingerprint({self})")
    }
}

/// The text is not 11 characters of base64url.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the fingerprint of a root key must be 11 characters of base64url")]
pub struct InvalidFingerprint;

impl FromStr for RootFingerprint {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidFingerprint)?;
        bytes.try_into().map(Self).map_err(|_| InvalidFingerprint)
    }
}
