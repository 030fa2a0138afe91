//! The public keys that verify passes (RFC 7517).

use serde::{Deserialize, Serialize};

/// The keys that verify passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Jwks {
    /// The key that signs, the one that signs next, and those whose passes still count.
    pub keys: Vec<Jwk>,
}

/// A public key on the curve P-256.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Jwk {
    /// The key verifies signatures.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["sig"])))]
    pub r#use: String,
    /// The algorithm of the signatures.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["ES256"])))]
    pub alg: String,
    /// The id of the key, which the header of a pass names.
    pub kid: String,
    /// The kind of the key.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["EC"])))]
    pub kty: String,
    /// The curve.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["P-256"])))]
    pub crv: String,
    /// The first coordinate of the point, in base64url.
    pub x: String,
    /// The second coordinate of the point, in base64url.
    pub y: String,
}

impl Jwk {
    /// A key that verifies passes.
    pub fn new(kid: String, x: String, y: String) -> Self {
        Self {
            r#use: "sig".to_owned(),
            alg: "ES256".to_owned(),
            kid,
            kty: "EC".to_owned(),
            crv: "P-256".to_owned(),
            x,
            y,
        }
    }
}
