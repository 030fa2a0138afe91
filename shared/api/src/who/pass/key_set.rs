//! The keys of a key ring, ready to sign and verify.

use jsonwebtoken::decode_header;
use vestibule_domain::{
    id::{EntryId, QueueId},
    key_ring::{KeyRing, RingKey},
};
use vestibule_wire::Jwks;

use super::{PassClaims, PassError, PassSigner, derive_key_pem};

/// The least length of a text from which a signing key is derived, in letters and digits. A random text of
/// this length has more than 256 bits of entropy.
const KEY_TEXT_LENGTH_MIN: usize = 64;

/// The keys of a deployment as this process knows them. Keys begin to sign and retire by the clock of the
/// process, `clock_ms`, in Unix milliseconds.
#[derive(Debug)]
pub(super) struct PassKeySet {
    ring: KeyRing,
    /// One for each key of the ring, in the same order.
    signers: Vec<PassSigner>,
    /// The ids of the keys that leaked.
    void_key_ids: Vec<String>,
}

impl PassKeySet {
    /// Builds the keys of a ring, for passes of this issuer.
    ///
    /// # Errors
    /// [`PassError::InvalidSigningKey`] for the first key that is neither a P-256 key nor a random text.
    pub(super) fn from_ring(issuer: &str, ring: KeyRing) -> Result<Self, PassError> {
        let signers = ring.keys().iter().map(|key| build_signer(issuer, &key.key));
        let void = ring.void_keys().iter().map(|key| build_signer(issuer, key));
        Ok(Self {
            signers: signers.collect::<Result<_, _>>()?,
            void_key_ids: void
                .map(|signer| signer.map(|signer| signer.key_id().to_owned()))
                .collect::<Result<_, _>>()?,
            ring,
        })
    }

    pub(super) fn ring(&self) -> &KeyRing {
        &self.ring
    }

    /// The newest key that signs at this time. A clock far in the past is before the time of every key; then
    /// it is the oldest one.
    pub(super) fn signing_key(&self, clock_ms: u64) -> &PassSigner {
        let signing = self.keys().rev().find(|(_, key)| key.signs_from_ms <= clock_ms);
        signing.map_or(&self.signers[0], |(signer, _)| signer)
    }

    /// Verifies a pass with the key that it names. Ignores its times, except that a key signs nothing after its successor has
    /// taken over: a retiring key that is stolen is of no use then, unless its thief dates the passes back.
    ///
    /// # Errors
    /// The first reason of [`PassError`] for which the pass is refused: [`PassError::VoidKey`] if the key has leaked, and
    /// [`PassError::UnknownKey`] if there is no such key, or if it has retired.
    pub(super) fn verify_ignoring_time(
        &self,
        pass: &str,
        queue: &QueueId,
        entry: EntryId,
        clock_ms: u64,
        cache_seconds: u32,
    ) -> Result<PassClaims, PassError> {
        let header = decode_header(pass).map_err(|_| PassError::Malformed)?;
        let key_id = header.kid.as_deref().ok_or(PassError::UnknownKey)?;
        if self.void_key_ids.iter().any(|void| void == key_id) {
            return Err(PassError::VoidKey);
        }
        let mut published = self
            .keys()
            .enumerate()
            .filter(|(_, (_, key))| key.is_published(clock_ms));
        let named = published.find(|(_, (signer, _))| signer.key_id() == key_id);
        let (index, (signer, _)) = named.ok_or(PassError::UnknownKey)?;
        let claims = signer.verify_ignoring_time(pass, queue, entry)?;
        let signs_until_ms = self.ring.signs_until_ms(index, cache_seconds);
        if signs_until_ms.is_some_and(|until_ms| claims.iat.saturating_mul(1_000) > until_ms) {
            return Err(PassError::SignedTooLate);
        }
        Ok(claims)
    }

    /// The ids of the keys that leaked. A service that verifies passes offline refuses theirs.
    pub(super) fn void_key_ids(&self) -> &[String] {
        &self.void_key_ids
    }

    /// The public keys of this time, the newest last. They contain a new key before it signs, and an
    /// old one until its last pass has ended.
    pub(super) fn jwks(&self, clock_ms: u64) -> Jwks {
        let published = self.keys().filter(|(_, key)| key.is_published(clock_ms));
        Jwks {
            keys: published.map(|(signer, _)| signer.public_key().clone()).collect(),
        }
    }

    /// Whether one of the keys, also a retired or a leaked one, has this id.
    pub(super) fn has_key(&self, key_id: &str) -> bool {
        let known = self.signers.iter().map(PassSigner::key_id);
        let void = self.void_key_ids.iter().map(String::as_str);
        known.chain(void).any(|known| known == key_id)
    }

    fn keys(&self) -> impl DoubleEndedIterator<Item = (&PassSigner, &RingKey)> + ExactSizeIterator {
        self.signers.iter().zip(self.ring.keys())
    }
}

/// Reads a P-256 private key as PEM, in which `\n` may stand for a line break, or derives one from a random text.
fn build_signer(issuer: &str, text: &str) -> Result<PassSigner, PassError> {
    let text = text.trim();
    let is_random =
        text.len() >= KEY_TEXT_LENGTH_MIN && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_random {
        PassSigner::from_pem(issuer, &derive_key_pem(text))
    } else {
        PassSigner::from_pem(issuer, &text.replace("\\n", "\n"))
    }
}
