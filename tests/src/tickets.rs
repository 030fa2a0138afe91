//! Signs entry tickets as a shop does, with each algorithm that a queue accepts.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

use aws_lc_rs::{encoding::AsDer, rsa, signature::Ed25519KeyPair};
use base64::{Engine, engine::general_purpose::STANDARD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, jwk::Jwk};
use serde_json::{Value, json};
use vestibule_api::pass::new_key_pem;

use crate::in_process::QUEUE;

/// A private key of a shop.
pub struct TicketIssuer {
    /// The private key.
    pub key: EncodingKey,
    /// The algorithm of its tickets.
    pub algorithm: Algorithm,
    key_id: String,
}

impl TicketIssuer {
    /// A key on P-256, the same for the same byte.
    pub fn ec(key_id: &str, byte: u8) -> Self {
        let key = EncodingKey::from_ec_pem(new_key_pem(|| [byte; 32]).as_bytes()).expect("a key");
        Self::new(key_id, key, Algorithm::ES256)
    }

    /// A new key of Ed25519.
    pub fn ed25519(key_id: &str) -> Self {
        let pair = Ed25519KeyPair::generate().expect("a key");
        let der = pair.to_pkcs8v1().expect("a key");
        let key = EncodingKey::from_ed_pem(pem(der.as_ref()).as_bytes()).expect("a key");
        Self::new(key_id, key, Algorithm::EdDSA)
    }

    /// A new key of RSA with 2,048 bits.
    pub fn rsa(key_id: &str) -> Self {
        let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).expect("a key");
        let der = pair.as_der().expect("a key");
        let key = EncodingKey::from_rsa_pem(pem(der.as_ref()).as_bytes()).expect("a key");
        Self::new(key_id, key, Algorithm::RS256)
    }

    fn new(key_id: &str, key: EncodingKey, algorithm: Algorithm) -> Self {
        Self {
            key,
            algorithm,
            key_id: key_id.to_owned(),
        }
    }

    /// The public key.
    pub fn jwk(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, self.algorithm).expect("a public key");
        let mut jwk = serde_json::to_value(jwk).expect("JSON");
        jwk["kid"] = json!(self.key_id);
        jwk
    }

    /// The header of a ticket.
    pub fn header(&self) -> Header {
        Header {
            kid: Some(self.key_id.clone()),
            ..Header::new(self.algorithm)
        }
    }

    /// Signs claims.
    pub fn sign(&self, claims: &Value) -> String {
        encode(&self.header(), claims, &self.key).expect("signs")
    }

    /// A ticket for [`QUEUE`] that ends ten minutes after `now_ms`.
    pub fn ticket(&self, visitor: &str, now_ms: u64) -> String {
        self.sign(&claims(visitor, now_ms))
    }
}

/// The public keys of these issuers, as the setting `ticket_keys` takes them.
pub fn key_set(issuers: &[&TicketIssuer]) -> Value {
    json!({ "keys": issuers.iter().map(|issuer| issuer.jwk()).collect::<Vec<_>>() })
}

/// The claims of a ticket for [`QUEUE`] that ends ten minutes after `now_ms`.
pub fn claims(visitor: &str, now_ms: u64) -> Value {
    let now = now_ms / 1_000;
    json!({ "sub": visitor, "aud": QUEUE, "iat": now, "exp": now + 600 })
}

fn pem(der: &[u8]) -> String {
    let lines: Vec<_> = STANDARD
        .encode(der)
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        lines.join("\n")
    )
}
