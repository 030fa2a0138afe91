//! Entry tickets: JWTs (RFC 7519) by which the shop's own backend says who may enter a queue.
//!
//! The check is offline and stateless: it needs the public keys in the queue's settings, and nothing else. A
//! replay is harmless, because the same `sub` is the same entry. The algorithm follows from the key and never
//! from the ticket, so a public key is never used as a secret (RFC 8725, sections 2.1 and 3.1). Times are compared
//! with line time, as those of passes.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, crypto::verify, jwk::Jwk};
use serde_json::{Map, Value};
use vestibule_domain::{
    id::{QueueId, Visitor},
    lane::Lane,
    settings::{TicketAlgorithm, TicketKey, TicketKeys},
};
use vestibule_wire::problem::Reason;

/// The most bytes of a ticket.
pub(crate) const TICKET_BYTES_MAX: usize = 4 * 1024;
/// How far the shop's clock may differ from line time.
const SKEW_SECONDS: u64 = 5;
/// The first time that is no time in seconds: as such it is in the year 5138, and as milliseconds it was in 1973.
const MILLISECONDS_MIN: u64 = 100_000_000_000;

/// Why a ticket was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TicketError {
    #[error(
        "the ticket is not a signed JWT of at most {TICKET_BYTES_MAX} bytes with a JSON object as claims"
    )]
    Malformed,
    #[error("the queue's ticket_keys have no key with the kid of the ticket")]
    UnknownKey,
    #[error("the ticket names another algorithm than its key has")]
    WrongAlgorithm,
    #[error("the signature of the ticket does not match")]
    BadSignature,
    #[error("the claim {0} is missing")]
    MissingClaim(&'static str),
    #[error("the claim {0} is not valid")]
    InvalidClaim(&'static str),
    #[error("the claim {0} is in milliseconds; a JWT has its times in seconds, so divide it by 1,000")]
    Milliseconds(&'static str),
    #[error("the claim aud does not name this queue")]
    WrongQueue,
    #[error("the ticket has expired; get a new one")]
    Expired,
    #[error("the ticket is not valid yet, or was issued in the future")]
    NotYetValid,
    #[error("the ticket names another visitor than the request's verified identity does")]
    OtherVisitor,
}

impl TicketError {
    /// The word that a problem shows. Clients may rely on it.
    pub(crate) const fn reason(self) -> Reason {
        match self {
            Self::Malformed => Reason::Malformed,
            Self::UnknownKey => Reason::UnknownKey,
            Self::WrongAlgorithm => Reason::WrongAlgorithm,
            Self::BadSignature => Reason::BadSignature,
            Self::MissingClaim(_) => Reason::MissingClaim,
            Self::InvalidClaim(_) | Self::Milliseconds(_) => Reason::InvalidClaim,
            Self::WrongQueue => Reason::WrongQueue,
            Self::Expired => Reason::Expired,
            Self::NotYetValid => Reason::NotYetValid,
            Self::OtherVisitor => Reason::OtherVisitor,
        }
    }
}

/// A ticket whose signature, queue and times are right.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// The visitor whom `sub` names.
    pub(crate) visitor: Visitor,
    /// Whether the shop lets this visitor in beyond the line.
    pub(crate) bypass: bool,
    /// The lane of a new place; `None` if the ticket names none.
    pub(crate) lane: Option<Lane>,
}

/// The header of a ticket, as far as it selects the key.
struct TicketHeader {
    algorithm: String,
    key_id: Option<String>,
}

impl TicketHeader {
    fn parse(ticket: &str) -> Option<Self> {
        let encoded = ticket.split('.').next()?;
        let header: Map<String, Value> =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()?;
        // An extension that a signer marks as critical must be understood (RFC 7515, section 4.1.11), and this code
        // knows none.
        if header.contains_key("crit") {
            return None;
        }
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return None,
        };
        Some(Self {
            algorithm: header.get("alg")?.as_str()?.to_owned(),
            key_id,
        })
    }
}

impl Ticket {
    /// Verifies a ticket for a queue at `now_ms` (line time, Unix milliseconds).
    ///
    /// # Errors
    /// The first reason of [`TicketError`] for which the ticket is refused. [`TicketError::Expired`] comes last: such
    /// a ticket is valid but for its end.
    pub(crate) fn verify(
        ticket: &str,
        keys: &TicketKeys,
        queue: &QueueId,
        now_ms: u64,
    ) -> Result<Self, TicketError> {
        if ticket.len() > TICKET_BYTES_MAX || ticket.split('.').count() != 3 {
            return Err(TicketError::Malformed);
        }
        let header = TicketHeader::parse(ticket).ok_or(TicketError::Malformed)?;
        let key = keys
            .find(header.key_id.as_deref())
            .ok_or(TicketError::UnknownKey)?;
        if header.algorithm != key.algorithm().name() {
            return Err(TicketError::WrongAlgorithm);
        }
        let claims = verify_signature(ticket, key)?;
        Self::from_claims(&claims, queue, now_ms)
    }

    fn from_claims(claims: &Map<String, Value>, queue: &QueueId, now_ms: u64) -> Result<Self, TicketError> {
        let subject = claims.get("sub").ok_or(TicketError::MissingClaim("sub"))?;
        let audience = claims.get("aud").ok_or(TicketError::MissingClaim("aud"))?;
        let expiry = read_time(claims, "exp")?.ok_or(TicketError::MissingClaim("exp"))?;
        let names_queue = |name: &Value| name.as_str() == Some(queue.as_str());
        let is_for_queue = match audience {
            Value::String(_) => names_queue(audience),
            Value::Array(names) => names.iter().any(names_queue),
            _ => return Err(TicketError::InvalidClaim("aud")),
        };
        if !is_for_queue {
            return Err(TicketError::WrongQueue);
        }
        let visitor = subject.as_str().and_then(|id| Visitor::known(id).ok());
        let visitor = visitor.ok_or(TicketError::InvalidClaim("sub"))?;
        let read_lane = |lane: &Value| {
            let lane = lane.as_u64().and_then(Lane::new);
            lane.ok_or(TicketError::InvalidClaim("lane"))
        };
        let lane = claims.get("lane").map(read_lane).transpose()?;
        if !claims.get("jti").is_none_or(Value::is_string) {
            return Err(TicketError::InvalidClaim("jti"));
        }
        let bypass = match claims.get("bypass") {
            None => false,
            Some(flag) => flag.as_bool().ok_or(TicketError::InvalidClaim("bypass"))?,
        };
        let now = now_ms / 1_000;
        for name in ["nbf", "iat"] {
            if read_time(claims, name)?.is_some_and(|time| time > now + SKEW_SECONDS) {
                return Err(TicketError::NotYetValid);
            }
        }
        if now >= expiry.saturating_add(SKEW_SECONDS) {
            return Err(TicketError::Expired);
        }
        Ok(Self {
            visitor,
            bypass,
            lane,
        })
    }
}

/// Verifies the signature of a ticket with three segments, and returns its claims. The library's `decode` is not used,
/// because it has one error for claims of different faults.
fn verify_signature(ticket: &str, key: &TicketKey) -> Result<Map<String, Value>, TicketError> {
    let algorithm = match key.algorithm() {
        TicketAlgorithm::Es256 => Algorithm::ES256,
        TicketAlgorithm::Rs256 => Algorithm::RS256,
        TicketAlgorithm::EdDsa => Algorithm::EdDSA,
    };
    let mut jwk = key.to_jwk();
    if let Some(members) = jwk.as_object_mut() {
        // The algorithm is checked already, and the library does not know every name of it.
        members.remove("alg");
    }
    let jwk: Jwk = serde_json::from_value(jwk).map_err(|_| TicketError::UnknownKey)?;
    let verifying = DecodingKey::from_jwk(&jwk).map_err(|_| TicketError::UnknownKey)?;
    let (message, signature) = ticket.rsplit_once('.').ok_or(TicketError::Malformed)?;
    let is_genuine = verify(signature, message.as_bytes(), &verifying, algorithm);
    if !is_genuine.map_err(|_| TicketError::Malformed)? {
        return Err(TicketError::BadSignature);
    }
    let (_, claims) = message.split_once('.').ok_or(TicketError::Malformed)?;
    let claims = URL_SAFE_NO_PAD
        .decode(claims)
        .map_err(|_| TicketError::Malformed)?;
    serde_json::from_slice(&claims).map_err(|_| TicketError::Malformed)
}

/// Reads a time in Unix seconds. It may have a fraction (RFC 7519, section 2), which is dropped.
fn read_time(claims: &Map<String, Value>, name: &'static str) -> Result<Option<u64>, TicketError> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    // The cast is exact below 2^53 and saturates above, where the time is beyond any use.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = |seconds: f64| (seconds >= 0.0).then_some(seconds as u64);
    let seconds = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    match seconds.ok_or(TicketError::InvalidClaim(name))? {
        MILLISECONDS_MIN.. => Err(TicketError::Milliseconds(name)),
        seconds => Ok(Some(seconds)),
    }
}
