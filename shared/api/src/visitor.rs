//! Who is asking: the visitor's credentials, and whether a token is theirs.
//!
//! A visitor is *known* by the authorizer's verified claim, or by `X-Visitor-Id` where the queue trusts its callers; and
//! *anonymous* by a random UUID in `X-Visitor-Id` or, for pages of the same site, in a cookie. Both may be presented at
//! once: a token's kind picks the one that it is compared with.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
};
use cookie::{Cookie, SameSite, time::Duration};
use vestibule_domain::{
    id::{EntryId, IdKey, Visitor, VisitorKind},
    settings::Settings,
};

use super::{Edge, code::Code, gateway::Gateway, problem::Problem, views::Seen};

/// Names the visitor, as the client says.
pub(super) const VISITOR_ID: HeaderName = HeaderName::from_static("x-visitor-id");
/// The name that problems give it.
const VISITOR_ID_SHOWN: &str = "X-Visitor-Id";
/// The prefix makes browsers refuse it from anybody but this very host, over TLS (RFC 6265bis, section 4.1.3.2).
const COOKIE: &str = "__Host-vestibule-visitor";
/// On a laptop without TLS the prefix is not to be had.
const COOKIE_LOCAL: &str = "vestibule-visitor";
const COOKIE_DAYS: i64 = 1;

/// What a request presents, before it is known whether the queue trusts its callers.
pub(super) struct Presented {
    claim: Option<Claim>,
    header: Option<String>,
    cookie: Option<Visitor>,
    caller_is_trusted: bool,
}

/// What the authorizer verified.
struct Claim {
    name: String,
    value: String,
}

impl FromRequestParts<Arc<Edge>> for Presented {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, edge: &Arc<Edge>) -> Result<Self, Problem> {
        let Ok(gateway) = Gateway::from_request_parts(parts, edge).await;
        Ok(Self {
            claim: gateway.claim(&edge.config.visitor_claim).map(|value| Claim {
                name: edge.config.visitor_claim.clone(),
                value,
            }),
            header: named_once(&parts.headers)?,
            cookie: cookie(&parts.headers, cookie_name(edge.config.local)),
            caller_is_trusted: gateway.is_trusted(&edge.config),
        })
    }
}

fn named_once(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(VISITOR_ID).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(Problem::field(VISITOR_ID_SHOWN, "must be given once")),
        (Some(value), None) => match str::from_utf8(value.as_bytes()) {
            Ok(value) => Ok(Some(value.to_owned())),
            Err(_) => Err(Problem::field(VISITOR_ID_SHOWN, "must be UTF-8")),
        },
    }
}

/// The first one that was drawn here; whatever else has its name is somebody else's, and ignored.
fn cookie(headers: &HeaderMap, name: &str) -> Option<Visitor> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(Cookie::split_parse)
        .filter_map(Result::ok)
        .filter(|cookie| cookie.name() == name)
        .find_map(|cookie| Visitor::anonymous(cookie.value()).ok())
}

fn cookie_name(local: bool) -> &'static str {
    if local { COOKIE_LOCAL } else { COOKIE }
}

/// Hands a visitor who was drawn here to pages of the same site.
pub(super) fn set_cookie(visitor: &Visitor, local: bool) -> HeaderValue {
    let cookie = Cookie::build((cookie_name(local), visitor.reveal()))
        .path("/")
        .secure(!local)
        .http_only(true)
        .same_site(SameSite::Lax)
        .max_age(Duration::days(COOKIE_DAYS))
        .build();
    let mut value = HeaderValue::from_str(&cookie.to_string()).expect("a name of ours and a UUID are ASCII");
    value.set_sensitive(true);
    value
}

impl Presented {
    /// The credentials that the queue accepts.
    pub(super) fn credentials(self, seen: &Seen) -> Result<Credentials, Problem> {
        self.credentials_by(seen.settings())
    }

    /// Those that a queue of these settings accepts.
    pub(super) fn credentials_by(self, settings: &Settings) -> Result<Credentials, Problem> {
        let trusted = self.caller_is_trusted && settings.trust_client_visitor_id;
        // A verified claim is worth more than any header: beside one, the header names an anonymous visitor.
        let header_is_known = trusted && self.claim.is_none();
        let claimed = |claim: &Claim| known(&claim.name, &claim.value);
        let mut credentials = Credentials {
            known: self.claim.as_ref().map(claimed).transpose()?,
            anonymous: None,
            cookie: self.cookie,
        };
        match self.header.as_deref() {
            Some(id) if header_is_known => credentials.known = Some(known(VISITOR_ID_SHOWN, id)?),
            Some(id) => credentials.anonymous = Some(anonymous(id)?),
            None => {}
        }
        Ok(credentials)
    }
}

fn known(shown: &str, id: &str) -> Result<Visitor, Problem> {
    Visitor::known(id).map_err(|error| Problem::field(shown, error.to_string()))
}

fn anonymous(id: &str) -> Result<Visitor, Problem> {
    Visitor::anonymous(id).map_err(|error| Problem::field(VISITOR_ID_SHOWN, error.to_string()))
}

/// Who the visitor is, each way in which they may be known.
#[derive(Debug)]
pub(super) struct Credentials {
    known: Option<Visitor>,
    anonymous: Option<Visitor>,
    cookie: Option<Visitor>,
}

/// Whether a token is the asking visitor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// It is.
    Proven,
    /// It is another visitor's.
    Mismatch,
    /// Nobody says: the token alone was shown.
    Unproven,
}

impl Credentials {
    /// The visitor whom somebody vouches for.
    pub(super) fn known(&self) -> Option<&Visitor> {
        self.known.as_ref()
    }

    /// The visitor of a random UUID: the header's, else the cookie's.
    pub(super) fn anonymous(&self) -> Option<&Visitor> {
        self.anonymous.as_ref().or(self.cookie.as_ref())
    }

    /// Compares a token with the credential of its kind. One of the other kind proves nothing; where it was presented on
    /// purpose it says that somebody else is asking, while a cookie may just lie around.
    pub(super) fn ownership(&self, ids: &IdKey, token: EntryId) -> Ownership {
        let (asked, other) = match token.kind() {
            VisitorKind::Known => (self.known(), self.anonymous.as_ref()),
            VisitorKind::Anon => (self.anonymous(), self.known()),
        };
        match asked {
            Some(visitor) if ids.entry_id(visitor) == token => Ownership::Proven,
            Some(_) => Ownership::Mismatch,
            None if other.is_some() => Ownership::Mismatch,
            None => Ownership::Unproven,
        }
    }

    /// Refuses whoever is not proven to own the token.
    pub(super) fn prove(&self, ids: &IdKey, token: EntryId) -> Result<(), Problem> {
        match self.ownership(ids, token) {
            Ownership::Proven => Ok(()),
            Ownership::Mismatch => Err(mismatch()),
            Ownership::Unproven => Err(Problem::new(
                Code::VisitorRequired,
                "send X-Visitor-Id, or what the authorizer wants: a token alone only looks",
            )),
        }
    }
}

/// The answer to whoever shows another visitor's token.
pub(super) fn mismatch() -> Problem {
    Problem::new(
        Code::TokenOwnerMismatch,
        "a token serves the visitor who entered with it, and nobody else",
    )
}

/// Whether a token is this visitor's, whom the protected service names: the token's kind says how it knows them.
pub(super) fn is_owner(ids: &IdKey, token: EntryId, id: &str) -> Result<bool, Problem> {
    let known = known("visitor", id)?;
    let visitor = match token.kind() {
        VisitorKind::Known => Some(known),
        // A name that is no UUID is nobody's who is anonymous.
        VisitorKind::Anon => Visitor::anonymous(id).ok(),
    };
    Ok(visitor.is_some_and(|visitor| ids.entry_id(&visitor) == token))
}

#[cfg(test)]
mod tests;
