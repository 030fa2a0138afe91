//! The keys of a key ring, ready to sign and verify.

use jsonwebtoken::{decode_header, jwk::JwkSet};
use vestibule_domain::{
    id::{EntryId, QueueId},
    key_ring::{KeyRing, RingKey},
};

use super::{Pass, PassClaims, PassError, PassGrant, PassSigner, derive_key_pem};

/// The least length of a text from which a signing key is derived, in letters and digits. A random text of
/// this length has more than 256 bits of entropy.
const KEY_TEXT_LENGTH_MIN: usize = 64;

/// The keys of a deployment as this process knows them.
///
/// `clock_ms` is the clock of the process, by which keys begin to sign and retire, and `now_ms` is line time,
/// by which passes are valid. Both are Unix milliseconds.
#[derive(Debug, Clone)]
pub struct PassKeySet(Vec<(PassSigner, RingKey)>);

impl PassKeySet {
    /// Builds the keys of a ring, for passes of this issuer.
    ///
    /// # Errors
    /// [`PassError::InvalidSigningKey`] for the first key that is neither a P-256 key nor a random text.
    pub fn from_ring(issuer: &str, ring: &KeyRing) -> Result<Self, PassError> {
        let keys = ring.keys().iter();
        let keys = keys.map(|key| Ok((build_signer(issuer, &key.key)?, key.clone())));
        keys.collect::<Result<_, _>>().map(Self)
    }

    /// Signs a pass with the newest key that signs at this time.
    ///
    /// # Errors
    /// [`PassError::Signing`] if no key can sign.
    pub fn sign(&self, grant: &PassGrant<'_>, clock_ms: u64, now_ms: u64) -> Result<Pass, PassError> {
        let signing = self.0.iter().rev().find(|(_, key)| key.signs_from_ms <= clock_ms);
        // A clock far in the past is before the time of every key.
        let (signer, _) = signing.or(self.0.first()).ok_or(PassError::Signing)?;
        signer.sign(grant, now_ms)
    }

    /// Verifies a pass as [`PassSigner::verify`] does, with the key that signed it.
    ///
    /// # Errors
    /// The first reason of [`PassError`] for which the pass is refused.
    pub fn verify(
        &self,
        pass: &str,
        queue: &QueueId,
        entry: EntryId,
        clock_ms: u64,
        now_ms: u64,
    ) -> Result<PassClaims, PassError> {
        self.find_signer(pass, clock_ms)?
            .verify(pass, queue, entry, now_ms)
    }

    /// Verifies a pass as [`PassSigner::verify_ignoring_time`] does, with the key that signed it.
    ///
    /// # Errors
    /// The first reason of [`PassError`] for which the pass is refused.
    pub fn verify_ignoring_time(
        &self,
        pass: &str,
        queue: &QueueId,
        entry: EntryId,
        clock_ms: u64,
    ) -> Result<PassClaims, PassError> {
        self.find_signer(pass, clock_ms)?
            .verify_ignoring_time(pass, queue, entry)
    }

    /// The public keys of this time, the newest last. They contain a new key before it signs, and an
    /// old one until its last pass has ended.
    pub fn jwks(&self, clock_ms: u64) -> JwkSet {
        let published = self.0.iter().filter(|(_, key)| key.is_published(clock_ms));
        JwkSet {
            keys: published.map(|(signer, _)| signer.public_key().clone()).collect(),
        }
    }

    /// Whether one of the keys, also a retired one, has this id.
    pub(super) fn has_key(&self, key_id: &str) -> bool {
        self.0.iter().any(|(signer, _)| signer.key_id() == key_id)
    }

    fn find_signer(&self, pass: &str, clock_ms: u64) -> Result<&PassSigner, PassError> {
        let header = decode_header(pass).map_err(|_| PassError::Malformed)?;
        super::require_pass_header(&header)?;
        let key_id = header.kid.ok_or(PassError::UnknownKey)?;
        let named = self
            .0
            .iter()
            .find(|(signer, key)| signer.key_id() == key_id && key.is_published(clock_ms));
        named.map(|(signer, _)| signer).ok_or(PassError::UnknownKey)
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

impl From<PassSigner> for PassKeySet {
    /// A key that signs always.
    fn from(signer: PassSigner) -> Self {
        let key = RingKey {
            key: String::new(),
            signs_from_ms: 0,
            retires_at_ms: None,
        };
        Self(vec![(signer, key)])
    }
}
