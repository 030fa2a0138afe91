//! The ids of queues and visitors, and the entry tokens that are derived from them.
//!
//! An entry id is derived instead of random (see `docs/adr/0001-derived-entry-ids.md`): the same
//! visitor always has the same id in a queue. So a visitor can have only one place, and checking
//! the owner of a token is a comparison.

mod error;
mod json;
mod root_key;
mod secret;
mod source;
mod visitor;

use std::{fmt, str::FromStr, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::{Builder, Uuid};

pub use self::{
    error::{IdError, QUEUE_ID_MAX, VISITOR_ID_MAX},
    root_key::{InvalidFingerprint, OtherRootKey, RootFingerprint, RootKey},
    secret::VisitorSecret,
    source::Source,
    visitor::{Visitor, VisitorKind},
};

/// The number of partitions of the `entries` table over which one queue is spread.
pub const SHARD_COUNT: u8 = 64;

/// The bit of byte 8, just below the two variant bits, that distinguishes the token of an anonymous
/// visitor from that of a known one. The first digit of the fourth group is `8` or `9` for a known
/// visitor, and `a` or `b` for an anonymous one.
const ANON_BIT: u8 = 0b0010_0000;

/// The id of a queue: one line in front of one protected resource, for example `TIMEDEAL:123`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(Arc<str>);

impl QueueId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for QueueId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let mut bytes = text.bytes();
        let starts_well = bytes.next().is_some_and(|b| b.is_ascii_alphanumeric());
        let goes_on_well = bytes.all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b));
        if starts_well && goes_on_well && text.len() <= QUEUE_ID_MAX {
            Ok(Self(text.into()))
        } else {
            Err(IdError::Queue)
        }
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// 32 random bytes that belong to one generation of a queue, and the root key with which they are used. A reset draws new
/// ones, which changes every entry id.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt {
    bytes: [u8; 32],
    /// `None` until a process that has the root key has recorded it.
    root: Option<RootFingerprint>,
}

impl Salt {
    /// Takes 32 bytes from a secure source of randomness.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self { bytes, root: None }
    }

    /// The same bytes for use with this root key alone; with `None`, the key of the first process that records its own.
    #[must_use]
    pub fn with_root(self, root: Option<RootFingerprint>) -> Self {
        Self { root, ..self }
    }

    /// Whether both belong to the same generation of a queue, whether the root key is recorded or not.
    pub fn is_of_same_generation(self, other: Self) -> bool {
        self.bytes == other.bytes
    }

    /// The fingerprint of the root key with which the salt is used.
    pub fn root(self) -> Option<RootFingerprint> {
        self.root
    }

    /// Encodes the bytes as base64url, for storage. The fingerprint is stored beside them.
    pub fn to_text(self) -> String {
        URL_SAFE_NO_PAD.encode(self.bytes)
    }

    /// The bytes, from which secrets are derived.
    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Decodes the output of [`Salt::to_text`]; `None` for any other text.
    pub fn from_text(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self::new)
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(***)")
    }
}

/// The key that derives entry ids from visitors, for one generation of one queue.
#[derive(Clone)]
pub struct IdKey(Hmac<Sha256>);

impl IdKey {
    /// Derives the key of one queue from the deployment's root key and the queue's salt.
    ///
    /// # Errors
    /// [`OtherRootKey`] if the salt is used with another root key: no id of a visitor would be the known one.
    pub fn derive_for_queue(root: &RootKey, queue: &QueueId, salt: &Salt) -> Result<Self, OtherRootKey> {
        let present = root.fingerprint();
        if let Some(stored) = salt.root.filter(|stored| *stored != present) {
            return Err(OtherRootKey { stored, present });
        }
        let mut mac = root.keyed_hash();
        // A queue id contains no NUL, so the parts of the input cannot be confused.
        mac.update(b"vestibule entry id\0");
        mac.update(queue.as_str().as_bytes());
        mac.update(b"\0");
        mac.update(&salt.bytes);
        Ok(Self(new_hmac(&mac.finalize().into_bytes())))
    }

    /// The id of this visitor in this queue. It is always the same.
    pub fn entry_id(&self, visitor: &Visitor) -> EntryId {
        let mut mac = self.0.clone();
        mac.update(match visitor.kind() {
            VisitorKind::Known => b"known:",
            VisitorKind::Anon => b"anon:",
        });
        mac.update(visitor.reveal().as_bytes());
        let digest = mac.finalize().into_bytes();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        match visitor.kind() {
            VisitorKind::Known => bytes[8] &= !ANON_BIT,
            VisitorKind::Anon => bytes[8] |= ANON_BIT,
        }
        EntryId(Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// The secret that proves the ownership of this entry. It is always the same, and contains the id.
    pub fn visitor_secret(&self, entry: EntryId) -> VisitorSecret {
        VisitorSecret::new(entry.as_bytes(), self.secret_mac(entry))
    }

    /// Returns the entry whose secret this is; `None` if it is a secret of another queue or of an earlier
    /// generation, or no secret.
    pub fn verify_secret(&self, text: &str) -> Option<EntryId> {
        let (id, mac) = VisitorSecret::parse(text)?;
        let entry = EntryId(Some(id).filter(is_version_8)?);
        self.secret_mac(entry)
            .verify_truncated_left(&mac)
            .is_ok()
            .then_some(entry)
    }

    /// No visitor begins like this, so a secret is never an entry id.
    fn secret_mac(&self, entry: EntryId) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(b"secret:");
        mac.update(entry.as_bytes());
        mac
    }
}

impl fmt::Debug for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdKey(***)")
    }
}

pub(crate) fn new_hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC accepts a key of any length (RFC 2104)")
}

/// The id of one visitor's entry in one queue, a UUID of version 8. The client holds it as its
/// entry token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(Uuid);

impl EntryId {
    /// The kind of visitor that owns the entry.
    pub fn kind(self) -> VisitorKind {
        if self.0.as_bytes()[8] & ANON_BIT == 0 {
            VisitorKind::Known
        } else {
            VisitorKind::Anon
        }
    }

    /// Encodes the id as 22 characters of base64url: its form in the sorted sets of the line.
    pub fn to_member(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.as_bytes())
    }

    /// Decodes the output of [`EntryId::to_member`].
    ///
    /// # Errors
    /// [`IdError::Member`] for any other text.
    pub fn from_member(member: &str) -> Result<Self, IdError> {
        let bytes = URL_SAFE_NO_PAD.decode(member).map_err(|_| IdError::Member)?;
        Uuid::from_slice(&bytes)
            .ok()
            .filter(is_version_8)
            .map(Self)
            .ok_or(IdError::Member)
    }

    /// The partition of the table that holds the entry, below [`SHARD_COUNT`]. The low bits of the
    /// id select it.
    pub fn shard(self) -> u8 {
        self.0.as_bytes()[15] % SHARD_COUNT
    }

    /// The 16 bytes of the UUID.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

fn is_version_8(uuid: &Uuid) -> bool {
    uuid.get_version_num() == 8
}

impl FromStr for EntryId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match Uuid::try_parse(text) {
            Ok(uuid) if is_version_8(&uuid) && text.len() == 36 => Ok(Self(uuid)),
            _ => Err(IdError::Token),
        }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

#[cfg(test)]
mod tests;
