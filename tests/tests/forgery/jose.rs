//! Builds tokens from their parts, whether a JWT library would or not.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, crypto::sign};
use serde_json::Value;
use vestibule_api::pass::new_key_pem;

/// The order of the curve P-256 (SEC 2, section 2.4.2), as 32 bytes.
pub(crate) const CURVE_ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// The private key of 32 equal bytes.
pub(crate) fn key_of(byte: u8) -> EncodingKey {
    EncodingKey::from_ec_pem(new_key_pem(|| [byte; 32]).as_bytes()).expect("a key")
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(segment: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(segment).expect("a segment of a pass")
}

/// Signs a header and claims, given as texts.
pub(crate) fn sign_texts(header: &str, claims: &str, key: &EncodingKey, algorithm: Algorithm) -> String {
    let message = format!("{}.{}", encode(header), encode(claims));
    let signature = sign(message.as_bytes(), key, algorithm).expect("signs");
    let signed = format!("{message}.{signature}");
    if algorithm != Algorithm::ES256 || has_low_signature(&signed) {
        return signed;
    }
    // A mutant is refused for its fault, and never for the spelling of its signature.
    Segments::of(&signed).with_other_signature().join()
}

/// Whether a pass has the one of its two signatures by which deployments sign.
pub(crate) fn has_low_signature(pass: &str) -> bool {
    let signature = decode(&Segments::of(pass).signature);
    let opposite = decode(&Segments::of(pass).with_other_signature().signature);
    signature < opposite
}

/// Signs with ECDSA, whatever algorithm the header names.
pub(crate) fn sign_json(header: &Value, claims: &Value, key: &EncodingKey) -> String {
    sign_texts(&header.to_string(), &claims.to_string(), key, Algorithm::ES256)
}

/// The three segments of a pass.
#[derive(Debug, Clone)]
pub(crate) struct Segments {
    pub header: String,
    pub claims: String,
    pub signature: String,
}

impl Segments {
    pub(crate) fn of(pass: &str) -> Self {
        let parts: Vec<_> = pass.split('.').map(str::to_owned).collect();
        let [header, claims, signature] = parts.try_into().expect("a pass has three segments");
        Self {
            header,
            claims,
            signature,
        }
    }

    pub(crate) fn join(&self) -> String {
        format!("{}.{}.{}", self.header, self.claims, self.signature)
    }

    pub(crate) fn header_json(&self) -> Value {
        serde_json::from_slice(&decode(&self.header)).expect("a header")
    }

    pub(crate) fn claims_json(&self) -> Value {
        serde_json::from_slice(&decode(&self.claims)).expect("claims")
    }

    /// The other signature of the same message by the same key: `(r, n - s)` is valid if `(r, s)` is.
    pub(crate) fn with_other_signature(&self) -> Self {
        let mut signature = decode(&self.signature);
        let mut borrow = false;
        for (byte, order) in signature[32..].iter_mut().zip(CURVE_ORDER).rev() {
            let (difference, first) = order.overflowing_sub(*byte);
            let (difference, second) = difference.overflowing_sub(u8::from(borrow));
            (*byte, borrow) = (difference, first || second);
        }
        Self {
            signature: encode(signature),
            ..self.clone()
        }
    }
}
