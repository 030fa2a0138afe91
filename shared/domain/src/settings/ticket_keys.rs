//! The public keys that verify the entry tickets of a queue: a JWK set (RFC 7517).
//!
//! The algorithm of a ticket follows from the key, never from the ticket. So each key is of a type that
//! has one algorithm here, and no set may contain a secret.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

/// The most keys of a set.
pub const TICKET_KEYS_MAX: usize = 10;
/// The most bytes of a set as JSON. Every process reads it with the settings.
pub const TICKET_KEYS_BYTES_MAX: usize = 16 * 1024;

/// The most characters of a key id.
const KEY_ID_MAX: usize = 256;
/// The bytes of a coordinate on P-256, and of a key of Ed25519.
const CURVE_BYTES: usize = 32;
/// The bytes of an RSA modulus: 2,048 to 8,192 bits, as RFC 7518 (section 3.3) and the library require.
const RSA_MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;
/// The bytes of an RSA exponent. It is 65,537 in practice.
const RSA_EXPONENT_BYTES: std::ops::RangeInclusive<usize> = 1..=8;

/// The members of a key that are kept.
const KEPT_MEMBERS: [&str; 9] = ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"];
/// The members that only a private key has (RFC 7518, sections 6.2.2 and 6.3.2).
const PRIVATE_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "oth"];

/// The signature algorithm of a ticket key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketAlgorithm {
    /// ECDSA on the curve P-256.
    Es256,
    /// RSA with SHA-256 (PKCS #1 1.5).
    Rs256,
    /// Ed25519.
    EdDsa,
}

impl TicketAlgorithm {
    /// The value of `alg` in the header of a ticket.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// A public key that verifies tickets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketKey {
    id: Option<String>,
    algorithm: TicketAlgorithm,
    members: Map<String, Value>,
}

impl TicketKey {
    /// The algorithm of its tickets.
    pub fn algorithm(&self) -> TicketAlgorithm {
        self.algorithm
    }

    /// The key as a JWK.
    pub fn to_jwk(&self) -> Value {
        Value::Object(self.members.clone())
    }
}

/// The public keys that verify the tickets of a queue. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketKeys(Vec<TicketKey>);

impl TicketKeys {
    /// Parses a JWK set, or a JSON text of one, because the AWS console stores either.
    ///
    /// # Errors
    /// What is wrong with the set, for the operator who wrote it.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if text.len() > TICKET_KEYS_BYTES_MAX {
            return Err(format!("must have at most {TICKET_KEYS_BYTES_MAX} bytes as JSON"));
        }
        let set: Value = serde_json::from_str(&text)
            .map_err(|_| "must be a JWK set, or a JSON text of one, such as {\"keys\": [...]}")?;
        if set.get("kty").is_some() {
            return Err("is a single key: write it as the set {\"keys\": [...]}".to_owned());
        }
        let Some(keys) = set.get("keys").and_then(Value::as_array) else {
            return Err("must be a JWK set: an object with the list `keys`".to_owned());
        };
        if keys.is_empty() {
            return Err("must have at least one key".to_owned());
        }
        if keys.len() > TICKET_KEYS_MAX {
            return Err(format!("must have at most {TICKET_KEYS_MAX} keys"));
        }
        let keys = keys.iter().enumerate();
        let keys = keys.map(|(place, key)| {
            parse_key(key).map_err(|reason| format!("key number {} {reason}", place + 1))
        });
        let keys = Self(keys.collect::<Result<_, _>>()?);
        keys.require_ids()?;
        Ok(keys)
    }

    /// A ticket names its key by the id. Only the key of a set with one key needs none.
    fn require_ids(&self) -> Result<(), String> {
        if self.0.len() == 1 {
            return Ok(());
        }
        for (place, key) in self.0.iter().enumerate() {
            let Some(id) = &key.id else {
                return Err(format!(
                    "key number {} must have a kid, because there are several keys",
                    place + 1
                ));
            };
            if self.0[..place].iter().any(|other| other.id.as_ref() == Some(id)) {
                return Err(format!("has two keys with the kid of key number {}", place + 1));
            }
        }
        Ok(())
    }

    /// Finds the key with this id. A set with one key serves tickets without an id too, and if that key has no
    /// id, all tickets.
    pub fn find(&self, id: Option<&str>) -> Option<&TicketKey> {
        match (self.0.as_slice(), id) {
            ([only], None) => Some(only),
            ([only], Some(_)) if only.id.is_none() => Some(only),
            (_, None) => None,
            (keys, id) => keys.iter().find(|key| key.id.as_deref() == id),
        }
    }
}

impl Serialize for TicketKeys {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members: Vec<_> = self.0.iter().map(|key| &key.members).collect();
        let mut set = serializer.serialize_map(Some(1))?;
        set.serialize_entry("keys", &members)?;
        set.end()
    }
}

fn parse_key(key: &Value) -> Result<TicketKey, String> {
    let members = key.as_object().ok_or("must be an object")?;
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let kind = text("kty").ok_or("must have a `kty`")?;
    if kind == "oct" {
        return Err("is symmetric: every holder of it could sign tickets. Use a public key".to_owned());
    }
    if PRIVATE_MEMBERS.iter().any(|name| members.contains_key(*name)) {
        return Err(
            "is a private key, which must stay in the shop: write its public part only, and replace the key, \
             because it was stored here"
                .to_owned(),
        );
    }
    let algorithm = match (kind, text("crv")) {
        ("EC", Some("P-256")) => TicketAlgorithm::Es256,
        ("OKP", Some("Ed25519")) => TicketAlgorithm::EdDsa,
        ("RSA", _) => TicketAlgorithm::Rs256,
        _ => return Err("must be of the type EC with P-256, OKP with Ed25519, or RSA".to_owned()),
    };
    let named = members.get("alg");
    let is_same =
        |alg: &Value| alg == algorithm.name() || (alg == "Ed25519" && algorithm == TicketAlgorithm::EdDsa);
    if !named.is_none_or(is_same) {
        return Err(format!("must have the `alg` {}, or none", algorithm.name()));
    }
    if members.get("use").is_some_and(|usage| usage != "sig") {
        return Err("must have the `use` sig, or none".to_owned());
    }
    check_material(algorithm, &text)?;
    let id = match members.get("kid") {
        None => None,
        Some(Value::String(id)) if !id.is_empty() && id.chars().count() <= KEY_ID_MAX => Some(id.clone()),
        Some(_) => return Err(format!("must have a kid of 1 to {KEY_ID_MAX} characters")),
    };
    let kept = members
        .iter()
        .filter(|(name, _)| KEPT_MEMBERS.contains(&name.as_str()));
    Ok(TicketKey {
        id,
        algorithm,
        members: kept.map(|(name, value)| (name.clone(), value.clone())).collect(),
    })
}

/// Checks the sizes of the numbers of a key. Whether a point lies on its curve shows when a ticket is verified.
fn check_material<'a>(
    algorithm: TicketAlgorithm,
    text: &impl Fn(&str) -> Option<&'a str>,
) -> Result<(), String> {
    let sizes: &[(&str, std::ops::RangeInclusive<usize>)] = match algorithm {
        TicketAlgorithm::Es256 => &[("x", CURVE_BYTES..=CURVE_BYTES), ("y", CURVE_BYTES..=CURVE_BYTES)],
        TicketAlgorithm::EdDsa => &[("x", CURVE_BYTES..=CURVE_BYTES)],
        TicketAlgorithm::Rs256 => &[("n", RSA_MODULUS_BYTES), ("e", RSA_EXPONENT_BYTES)],
    };
    for (name, size) in sizes {
        let bytes = text(name).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        if !bytes.is_some_and(|bytes| size.contains(&bytes.len()) && bytes.iter().any(|byte| *byte != 0)) {
            let (min, max) = (size.start(), size.end());
            let wanted = if min == max {
                format!("{min}")
            } else {
                format!("{min} to {max}")
            };
            return Err(format!(
                "must have `{name}`: {wanted} bytes as base64url without padding"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
