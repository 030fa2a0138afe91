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

use crate::domain::{
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
        let header = decode_header(pass).map_err(|_| PassError::Malformed)?;
        if header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(PASS_TYPE) {
            return Err(PassError::Kind);
        }
        if header.kid.as_deref() != Some(self.key_id.as_str()) {
            return Err(PassError::UnknownKey);
        }
        let claims = decode::<PassClaims>(pass, &self.checking, &self.expected(queue, entry))
            .map_err(|error| refusal(error.kind()))?
            .claims;
        let now = now_ms / 1_000;
        if now < claims.nbf {
            return Err(PassError::TooEarly);
        }
        if now >= claims.exp {
            return Err(PassError::Expired);
        }
        Ok(claims)
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
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::id::{IdKey, RootKey, Salt, Visitor};

    const NOW_MS: u64 = 1_800_000_000_400;
    /// The key of RFC 8037, appendix A.1, and its thumbprint by appendix A.3.
    const RFC_SEED: [u8; 32] = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44,
        0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    ];
    const RFC_THUMBPRINT: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

    fn signer() -> Signer {
        Signer::from_pem("https://wait.example", &new_key_pem(RFC_SEED)).expect("a key")
    }

    fn queue(name: &str) -> QueueId {
        name.parse().expect("a queue id")
    }

    fn entry(visitor: &str) -> EntryId {
        let root = RootKey::new(vec![7; 32]).expect("long enough");
        IdKey::derive(&root, &queue("a"), &Salt::new([1; 32]))
            .entry_id(&Visitor::known(visitor).expect("valid"))
    }

    fn pass(signer: &Signer, pass_seconds: u32, session_end_ms: u64) -> Pass {
        let grant = Grant {
            queue: &queue("a"),
            entry: entry("ada"),
            visit: Visit::new(7).expect("in range"),
            epoch: 3,
            session_end_ms,
            pass_seconds,
        };
        signer.sign(&grant, NOW_MS).expect("signs")
    }

    #[test]
    fn the_key_id_is_the_thumbprint_of_the_rfc() {
        let jwks = serde_json::to_value(signer().jwks()).expect("JSON");
        let expected = json!({ "keys": [{
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "alg": "EdDSA", "use": "sig", "kid": RFC_THUMBPRINT,
        }] });
        assert_eq!(jwks, expected);
    }

    #[test]
    fn a_pass_says_who_may_act_where_and_until_when() {
        let signer = signer();
        let signed = pass(&signer, 60, NOW_MS + 300_000);
        let claims = signer
            .verify(signed.reveal(), &queue("a"), entry("ada"), NOW_MS)
            .expect("good");
        assert_eq!((claims.visit, claims.epoch), (7, 3));
        assert_eq!((claims.iat, claims.nbf), (1_800_000_000, 1_800_000_000));
        assert_eq!(claims.exp, 1_800_000_060);
        let header = decode_header(signed.reveal()).expect("a header");
        assert_eq!(
            (header.typ.as_deref(), header.kid.as_deref(), header.alg),
            (Some(PASS_TYPE), Some(RFC_THUMBPRINT), Algorithm::EdDSA)
        );
    }

    #[test]
    fn no_pass_outlives_the_session() {
        let signer = signer();
        let signed = pass(&signer, 60, NOW_MS + 10_000);
        let check = |now_ms| signer.verify(signed.reveal(), &queue("a"), entry("ada"), now_ms);
        assert_eq!(check(NOW_MS + 9_000).expect("good").exp, 1_800_000_010);
        assert_eq!(check(NOW_MS + 10_000), Err(PassError::Expired));
        assert_eq!(check(NOW_MS - 1_000), Err(PassError::TooEarly));
    }

    #[test]
    fn a_pass_is_good_for_its_own_queue_and_entry_alone() {
        let signer = signer();
        let signed = pass(&signer, 60, NOW_MS + 300_000);
        let check = |queue: &QueueId, entry| signer.verify(signed.reveal(), queue, entry, NOW_MS);
        assert_eq!(check(&queue("b"), entry("ada")), Err(PassError::Queue));
        assert_eq!(check(&queue("a"), entry("bob")), Err(PassError::Entry));
        let elsewhere = Signer::from_pem("https://other.example", &new_key_pem(RFC_SEED)).expect("a key");
        let refused = elsewhere.verify(signed.reveal(), &queue("a"), entry("ada"), NOW_MS);
        assert_eq!(refused, Err(PassError::Issuer));
        let rotated = Signer::from_pem("https://wait.example", &new_key_pem([9; 32])).expect("a key");
        let refused = rotated.verify(signed.reveal(), &queue("a"), entry("ada"), NOW_MS);
        assert_eq!(refused, Err(PassError::UnknownKey));
    }

    /// A token made by hand: these claims under that header, signed by this key.
    fn forged(header: &Header, key: &EncodingKey) -> String {
        let claims = json!({
            "iss": "https://wait.example", "aud": "a", "sub": entry("ada").to_string(), "visit": 7,
            "jti": Uuid::new_v4(), "epoch": 3, "iat": 1_800_000_000, "nbf": 1_800_000_000, "exp": 1_800_000_060,
        });
        encode::<Value>(header, &claims, key).expect("signs")
    }

    #[test]
    fn a_forged_pass_is_refused() {
        let signer = signer();
        let check = |token: &str| signer.verify(token, &queue("a"), entry("ada"), NOW_MS);
        let good = Header {
            typ: Some(PASS_TYPE.to_owned()),
            kid: Some(RFC_THUMBPRINT.to_owned()),
            ..Header::new(Algorithm::EdDSA)
        };
        let ours = EncodingKey::from_ed_pem(new_key_pem(RFC_SEED).as_bytes()).expect("a key");
        let theirs = EncodingKey::from_ed_pem(new_key_pem([9; 32]).as_bytes()).expect("a key");
        assert!(
            check(&forged(&good, &ours)).is_ok(),
            "the hand-made one is right otherwise"
        );
        assert_eq!(check(&forged(&good, &theirs)), Err(PassError::Signature));

        let plain = Header {
            typ: Some("JWT".to_owned()),
            ..good.clone()
        };
        assert_eq!(check(&forged(&plain, &ours)), Err(PassError::Kind));
        // The public key as an HMAC secret: the classic confusion of algorithms.
        let confused = Header {
            alg: Algorithm::HS256,
            ..good
        };
        let secret = EncodingKey::from_secret(b"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(check(&forged(&confused, &secret)), Err(PassError::Kind));
        for nonsense in ["", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "\u{0}"] {
            assert_eq!(check(nonsense), Err(PassError::Malformed), "{nonsense:?}");
        }
    }

    #[test]
    fn keys_and_passes_do_not_show_in_debug_output() {
        let signer = signer();
        let signed = pass(&signer, 60, NOW_MS + 300_000);
        let shown = format!("{signer:?} {signed:?}");
        assert!(
            !shown.contains(signed.reveal()) && !shown.contains("nWGxne"),
            "{shown}"
        );
    }

    #[test]
    fn a_key_of_another_kind_is_refused() {
        for bad in [
            "",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ] {
            assert_eq!(Signer::from_pem("x", bad).err(), Some(PassError::Key));
        }
    }
}
