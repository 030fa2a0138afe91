//! Passes: signed proof that the queue admitted an entry. Any service can verify a pass offline with the
//! published keys.
//!
//! A pass is a JWT (RFC 7519) signed with ECDSA on the curve P-256 (`ES256`, RFC 7518, section 3.4),
//! which every JWT library and gateway checks. Its header contains `typ: pass+jwt`, so that no other
//! token signed with the same key is accepted as a pass (explicit typing: RFC 8725, section 3.11).
//! Its `kid` is the thumbprint of the public key (RFC 7638). All times are line time; this module
//! never reads the clock of the process.

use std::fmt;

use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode,
    errors::ErrorKind,
    jwk::{self, AlgorithmParameters, ThumbprintHash},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
};
use vestibule_wire::{Jwk, Pass};

/// The `typ` header of a pass.
pub const PASS_TYPE: &str = "pass+jwt";

/// The algorithm of every pass. A token that names another one is refused.
const ALGORITHM: Algorithm = Algorithm::ES256;

/// The reason why a pass was refused or could not be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// The signing key is neither a P-256 private key in PKCS#8, encoded as PEM, nor a long random text.
    #[error(
        "the signing key is not a P-256 private key in PKCS#8, encoded as PEM, and not a text of 64 or more letters \
         and digits; create a key with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`"
    )]
    InvalidSigningKey,
    /// The signing key could not sign the pass.
    #[error("the signing key could not sign the pass")]
    Signing,
    /// The token is not a JWT, or it lacks the claims of a pass.
    #[error("the token is not a JWT with the claims of a pass")]
    Malformed,
    /// The token is a JWT of another type (`typ`) or algorithm.
    #[error("the token is not a pass: its type or algorithm differs")]
    WrongType,
    /// The key that signed the token is not published by this deployment, or no longer.
    #[error("this deployment does not publish the key that signed the pass")]
    UnknownKey,
    /// The key that signed the token has leaked.
    #[error("the key that signed the pass is void, because it leaked; the visitor's page has a new pass")]
    VoidKey,
    /// The key that signed the token had stopped signing before the token was issued.
    #[error("the key that signed the pass had stopped signing before")]
    SignedTooLate,
    /// The signature does not match the token, or is the second spelling of one that does.
    #[error("the signature of the pass is wrong")]
    WrongSignature,
    /// Another deployment issued the pass.
    #[error("another deployment issued the pass")]
    WrongIssuer,
    /// The pass is for another queue.
    #[error("the pass is for another queue")]
    WrongQueue,
    /// The pass belongs to another entry.
    #[error("the pass belongs to another entry")]
    WrongEntry,
    /// The validity of the pass has not started.
    #[error("the pass is not valid yet")]
    TooEarly,
    /// The validity of the pass has ended.
    #[error("the pass has expired")]
    Expired,
}

/// The claims of a pass. Times are Unix seconds, as in RFC 7519.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassClaims {
    /// The deployment that issued the pass.
    pub iss: String,
    /// The id of the queue.
    pub aud: String,
    /// The id of the entry.
    pub sub: String,
    /// The number of the visit. It distinguishes a pass of an earlier visit from a pass of the
    /// current one.
    pub visit: u64,
    /// A random id that distinguishes two passes of the same visit.
    pub jti: Uuid,
    /// The epoch of the queue when the pass was created.
    pub epoch: u32,
    /// When the pass was created.
    pub iat: u64,
    /// The pass is valid from this time on.
    pub nbf: u64,
    /// The pass is valid before this time.
    pub exp: u64,
}

impl PassClaims {
    /// The claims, if the pass is valid at a line time, in Unix milliseconds.
    fn require_valid_at(self, now_ms: u64) -> Result<Self, PassError> {
        match now_ms / 1_000 {
            now if now < self.nbf => Err(PassError::TooEarly),
            now if now >= self.exp => Err(PassError::Expired),
            _ => Ok(self),
        }
    }
}

/// What a pass is created from: an active entry and the end of its pass.
#[derive(Debug, Clone, Copy)]
pub struct PassGrant<'a> {
    /// The queue that admitted the entry.
    pub queue: &'a QueueId,
    /// The entry that receives the pass.
    pub entry: EntryId,
    /// The current visit of the entry.
    pub visit: Visit,
    /// The current epoch of the queue.
    pub epoch: u32,
    /// When the pass ends, in Unix milliseconds: with the session at the latest.
    pub pass_end_ms: u64,
}

/// Signs passes, verifies them, and publishes the public key for offline verification.
#[derive(Clone)]
pub struct PassSigner {
    issuer: String,
    key_id: String,
    signing: EncodingKey,
    verifying: DecodingKey,
    public: Jwk,
}

impl fmt::Debug for PassSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("issuer", &self.issuer)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

impl PassSigner {
    /// Reads a P-256 private key in PKCS#8, encoded as PEM. `openssl genpkey -algorithm EC -pkeyopt
    /// ec_paramgen_curve:P-256` creates one.
    ///
    /// # Errors
    /// [`PassError::InvalidSigningKey`] if `pem` is anything else.
    pub fn from_pem(issuer: &str, pem: &str) -> Result<Self, PassError> {
        let signing = EncodingKey::from_ec_pem(pem.as_bytes()).map_err(|_| PassError::InvalidSigningKey)?;
        let derived =
            jwk::Jwk::from_encoding_key(&signing, ALGORITHM).map_err(|_| PassError::InvalidSigningKey)?;
        let key_id = derived
            .thumbprint(ThumbprintHash::SHA256)
            .map_err(|_| PassError::InvalidSigningKey)?;
        let verifying = DecodingKey::from_jwk(&derived).map_err(|_| PassError::InvalidSigningKey)?;
        let AlgorithmParameters::EllipticCurve(point) = derived.algorithm else {
            return Err(PassError::InvalidSigningKey);
        };
        Ok(Self {
            issuer: issuer.to_owned(),
            public: Jwk::new(key_id.clone(), point.x, point.y),
            key_id,
            signing,
            verifying,
        })
    }

    /// Signs a pass that is valid from now until the last whole second before its end. `now_ms` is line
    /// time.
    ///
    /// # Errors
    /// [`PassError::Signing`] if the key cannot sign.
    pub fn sign(&self, grant: &PassGrant<'_>, now_ms: u64) -> Result<Pass, PassError> {
        let now = now_ms / 1_000;
        let claims = PassClaims {
            iss: self.issuer.clone(),
            aud: grant.queue.to_string(),
            sub: grant.entry.to_string(),
            visit: grant.visit.number(),
            jti: Uuid::new_v4(),
            epoch: grant.epoch,
            iat: now,
            nbf: now,
            exp: grant.pass_end_ms / 1_000,
        };
        let header = Header {
            typ: Some(PASS_TYPE.to_owned()),
            kid: Some(self.key_id.clone()),
            ..Header::new(ALGORITHM)
        };
        encode(&header, &claims, &self.signing)
            .map(|token| Pass::new(with_low_signature(token)))
            .map_err(|_| PassError::Signing)
    }

    /// Verifies a pass and returns its claims. The pass must come from this deployment, belong to
    /// this queue and entry, and be valid at `now_ms` (line time).
    ///
    /// # Errors
    /// The first reason of [`PassError`] for which the pass is refused.
    pub fn verify(
        &self,
        pass: &str,
        queue: &QueueId,
        entry: EntryId,
        now_ms: u64,
    ) -> Result<PassClaims, PassError> {
        self.verify_ignoring_time(pass, queue, entry)?
            .require_valid_at(now_ms)
    }

    /// Verifies a pass as [`verify`](Self::verify) does, without its times: a pass that has expired
    /// or is not valid yet is accepted.
    ///
    /// # Errors
    /// As [`verify`](Self::verify), except [`PassError::TooEarly`] and [`PassError::Expired`].
    pub fn verify_ignoring_time(
        &self,
        pass: &str,
        queue: &QueueId,
        entry: EntryId,
    ) -> Result<PassClaims, PassError> {
        let header = decode_header(pass).map_err(|_| PassError::Malformed)?;
        if header.alg != ALGORITHM || header.typ.as_deref() != Some(PASS_TYPE) {
            return Err(PassError::WrongType);
        }
        if header.kid.as_deref() != Some(self.key_id.as_str()) {
            return Err(PassError::UnknownKey);
        }
        let decoded = decode::<PassClaims>(pass, &self.verifying, &self.validation_rules(queue, entry));
        let decoded = decoded.map_err(|error| pass_error(error.kind()))?;
        if !is_low(pass) {
            return Err(PassError::WrongSignature);
        }
        Ok(decoded.claims)
    }

    /// The public key, as a JWK (RFC 7517).
    pub fn public_key(&self) -> &Jwk {
        &self.public
    }

    /// The id of the key: the thumbprint of the public key (RFC 7638).
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    fn validation_rules(&self, queue: &QueueId, entry: EntryId) -> Validation {
        let mut expected = Validation::new(ALGORITHM);
        expected.set_required_spec_claims(&["iss", "aud", "sub", "nbf", "exp"]);
        expected.set_issuer(&[&self.issuer]);
        expected.set_audience(&[queue.as_str()]);
        expected.sub = Some(entry.to_string());
        // The library compares these with the clock of the process. `verify` compares them with
        // line time instead.
        expected.validate_exp = false;
        expected.validate_nbf = false;
        expected
    }
}

/// Whether the text is a private key that [`PassSigner::from_pem`] accepts.
fn is_signing_key(pem: &str) -> bool {
    PassSigner::from_pem("", pem).is_ok()
}

fn pass_error(kind: &ErrorKind) -> PassError {
    match kind {
        ErrorKind::InvalidSignature => PassError::WrongSignature,
        ErrorKind::InvalidIssuer => PassError::WrongIssuer,
        ErrorKind::InvalidAudience => PassError::WrongQueue,
        ErrorKind::InvalidSubject => PassError::WrongEntry,
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => PassError::WrongType,
        _ => PassError::Malformed,
    }
}

mod key_pem;
mod key_set;
mod live_keys;
mod signature;
mod subject;

use self::signature::{is_low, with_low_signature};
pub use self::{
    key_pem::{derive_key_pem, new_key_pem},
    live_keys::{PassKeys, PassKeysError},
    subject::{UnverifiedSubject, read_unverified_subject},
};

#[cfg(test)]
mod tests;
