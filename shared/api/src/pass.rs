//! Passes: signed proof that an entry was let in, which anybody can check offline with the published keys.
//!
//! A pass is a JWT (RFC 7519) signed with Ed25519 (`EdDSA`, RFC 8037). Its header says `typ: pass+jwt` (RFC 8725, section
//! 3.11: explicit typing), so that no other token of the same key can stand in for one, and its `kid` is the thumbprint
//! of the public key (RFC 7638). Times are line time: the process's own clock is never asked.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode,
    errors::ErrorKind,
    jwk::{Jwk, JwkSet, PublicKeyUse, ThumbprintHash},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
};

/// The `typ` of a pass.
pub const PASS_TYPE: &str = "pass+jwt";

/// What stands before the 32 bytes of an Ed25519 seed in PKCS#8 (RFC 8410, section 7).
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// Why a pass was refused, or none could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// The signing key is no Ed25519 key in PKCS#8 as PEM.
    #[error("the signing key is not an Ed25519 private key in PKCS#8 as PEM")]
    Key,
    /// It could not be signed.
    #[error("the pass could not be signed")]
    Signing,
    /// Not a JWT, or one without the claims of a pass.
    #[error("it is not a pass")]
    Malformed,
    /// A JWT of another kind or algorithm.
    #[error("it is a token of another kind")]
    Kind,
    /// Signed with a key that is not, or no longer, published here.
    #[error("it names a key that is not known here")]
    UnknownKey,
    /// The signature is wrong.
    #[error("its signature is wrong")]
    Signature,
    /// Made by another deployment.
    #[error("another deployment issued it")]
    Issuer,
    /// For another queue.
    #[error("it is for another queue")]
    Queue,
    /// Of another entry.
    #[error("it belongs to another entry")]
    Entry,
    /// Its time has not come.
    #[error("it is not valid yet")]
    TooEarly,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
}

/// A signed pass: whoever holds it is let in, so it is never logged. `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Pass(String);

impl Pass {
    /// The token itself: for the visitor's own answer, and for nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pass(***)")
    }
}

/// What a pass says. Times are Unix seconds, as JWT has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassClaims {
    /// The deployment.
    pub iss: String,
    /// The queue.
    pub aud: String,
    /// The entry.
    pub sub: String,
    /// The visit, so that a pass of the last one is told from the next one's.
    pub visit: u16,
    /// Tells two passes of one visit apart.
    pub jti: Uuid,
    /// Of the queue, at that time.
    pub epoch: u32,
    /// When it was made.
    pub iat: u64,
    /// From when it is good.
    pub nbf: u64,
    /// Until when it is good.
    pub exp: u64,
}

/// An active entry that is to be given a pass.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    /// Where it was let in.
    pub queue: &'a QueueId,
    /// Whose.
    pub entry: EntryId,
    /// The visit.
    pub visit: Visit,
    /// Of the queue.
    pub epoch: u32,
    /// When the session ends, in Unix milliseconds: no pass outlives it.
    pub session_end_ms: u64,
    /// How long a pass is good for.
    pub pass_seconds: u32,
}

/// Signs passes, checks them, and publishes the key that does so.
#[derive(Clone)]
pub struct Signer {
    issuer: String,
    key_id: String,
    signing: EncodingKey,
    checking: DecodingKey,
    public: Jwk,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("issuer", &self.issuer)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Takes an Ed25519 key in PKCS#8 as PEM, such as `openssl genpkey -algorithm ed25519` writes.
    ///
    /// # Errors
    /// [`PassError::Key`] for anything else.
    pub fn from_pem(issuer: &str, pem: &str) -> Result<Self, PassError> {
        let signing = EncodingKey::from_ed_pem(pem.as_bytes()).map_err(|_| PassError::Key)?;
        let mut public = Jwk::from_encoding_key(&signing, Algorithm::EdDSA).map_err(|_| PassError::Key)?;
        let key_id = public
            .thumbprint(ThumbprintHash::SHA256)
            .map_err(|_| PassError::Key)?;
        public.common.key_id = Some(key_id.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        let checking = DecodingKey::from_jwk(&public).map_err(|_| PassError::Key)?;
        Ok(Self {
            issuer: issuer.to_owned(),
            key_id,
            signing,
            checking,
            public,
        })
    }

    /// A pass from now until `pass_seconds` have passed or the session ends, whichever is first. `now_ms` is line time.
    ///
    /// # Errors
    /// [`PassError::Signing`] where the key does not sign.
    pub fn sign(&self, grant: &Grant<'_>, now_ms: u64) -> Result<Pass, PassError> {
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
            exp: (now + u64::from(grant.pass_seconds)).min(grant.session_end_ms / 1_000),
        };
        let header = Header {
            typ: Some(PASS_TYPE.to_owned()),
            kid: Some(self.key_id.clone()),
            ..Header::new(Algorithm::EdDSA)
        };
        encode(&header, &claims, &self.signing)
            .map(Pass)
            .map_err(|_| PassError::Signing)
    }

    /// What a pass says, where it is one of this deployment for this queue and entry, and good at `now_ms` (line time).
    ///
    /// # Errors
    /// Everything of [`PassError`] that can be wrong with a pass.
    pub fn verify(
        &self,
        pass: &str,
        queue: &QueueId,
        entry: EntryId,
        now_ms: u64,
    ) -> Result<PassClaims, PassError> {
        let claims = self.read(pass, queue, entry)?;
        let now = now_ms / 1_000;
        if now < claims.nbf {
            return Err(PassError::TooEarly);
        }
        if now >= claims.exp {
            return Err(PassError::Expired);
        }
        Ok(claims)
    }

    /// What a pass says, where it is one of this deployment for this queue and entry, whenever that is or was.
    ///
    /// # Errors
    /// As [`verify`](Self::verify), but for the two of its time.
    pub fn read(&self, pass: &str, queue: &QueueId, entry: EntryId) -> Result<PassClaims, PassError> {
        let header = decode_header(pass).map_err(|_| PassError::Malformed)?;
        if header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(PASS_TYPE) {
            return Err(PassError::Kind);
        }
        if header.kid.as_deref() != Some(self.key_id.as_str()) {
            return Err(PassError::UnknownKey);
        }
        decode::<PassClaims>(pass, &self.checking, &self.expected(queue, entry))
            .map(|decoded| decoded.claims)
            .map_err(|error| refusal(error.kind()))
    }

    /// The public keys that check passes.
    pub fn jwks(&self) -> JwkSet {
        JwkSet {
            keys: vec![self.public.clone()],
        }
    }

    fn expected(&self, queue: &QueueId, entry: EntryId) -> Validation {
        let mut expected = Validation::new(Algorithm::EdDSA);
        expected.set_required_spec_claims(&["iss", "aud", "sub", "nbf", "exp"]);
        expected.set_issuer(&[&self.issuer]);
        expected.set_audience(&[queue.as_str()]);
        expected.sub = Some(entry.to_string());
        // The library would ask the process's clock.
        expected.validate_exp = false;
        expected.validate_nbf = false;
        expected
    }
}

/// A new signing key as PEM, from 32 bytes of a good source of randomness: for one process on a laptop, and for tests.
pub fn new_key_pem(seed: [u8; 32]) -> String {
    let der = [&PKCS8_PREFIX[..], &seed[..]].concat();
    // 48 bytes are 64 characters: one line, exactly as long as PEM allows.
    format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(der)
    )
}

fn refusal(kind: &ErrorKind) -> PassError {
    match kind {
        ErrorKind::InvalidSignature => PassError::Signature,
        ErrorKind::InvalidIssuer => PassError::Issuer,
        ErrorKind::InvalidAudience => PassError::Queue,
        ErrorKind::InvalidSubject => PassError::Entry,
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => PassError::Kind,
        _ => PassError::Malformed,
    }
}

#[cfg(test)]
mod tests;
