//! Identifies the visitor who sends a request, and decides whether a token belongs to that visitor.
//!
//! A visitor is *known* by the verified claim of the authorizer, or by `X-Visitor-Id` if the queue
//! trusts its callers. A visitor is *anonymous* by a random UUID in `X-Visitor-Id` or, on pages of
//! the same site, in a cookie. A request may present both. The kind of a token decides which of
//! them the token is compared with.

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

use super::{ApiState, code::Code, gateway::Gateway, problem::Problem, queue_cache::QueueSnapshot};

/// The header in which a client names the visitor.
pub(super) const VISITOR_ID: HeaderName = HeaderName::from_static("x-visitor-id");
/// The name of the header as problems show it.
const VISITOR_ID_SHOWN: &str = "X-Visitor-Id";
/// The prefix makes browsers accept the cookie from this very host only, and only over TLS (RFC 6265bis,
/// section 4.1.3.2).
const COOKIE_NAME: &str = "__Host-vestibule-visitor";
/// Browsers refuse the prefix without TLS, so a laptop uses a plain name.
const COOKIE_NAME_LOCAL: &str = "vestibule-visitor";
const COOKIE_DAYS: i64 = 1;

/// The credentials that a request presents, before it is known whether the queue trusts its callers.
pub(super) struct RawCredentials {
    claim: Option<VerifiedClaim>,
    header: Option<String>,
    cookie: Option<Visitor>,
    caller_is_trusted: bool,
}

/// A claim that the authorizer verified.
struct VerifiedClaim {
    name: String,
    value: String,
}

impl FromRequestParts<Arc<ApiState>> for RawCredentials {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<ApiState>) -> Result<Self, Problem> {
        let Ok(gateway) = Gateway::from_request_parts(parts, state).await;
        Ok(Self {
            claim: gateway
                .claim(&state.config.visitor_claim)
                .map(|value| VerifiedClaim {
                    name: state.config.visitor_claim.clone(),
                    value,
                }),
            header: read_visitor_id_header(&parts.headers)?,
            cookie: read_visitor_cookie(&parts.headers, cookie_name(state.config.local)),
            caller_is_trusted: gateway.is_trusted(&state.config),
        })
    }
}

pub(super) fn read_visitor_id_header(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(VISITOR_ID).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(Problem::invalid_field(
            VISITOR_ID_SHOWN,
            "must be given only once",
        )),
        (Some(value), None) => match str::from_utf8(value.as_bytes()) {
            Ok(value) => Ok(Some(value.to_owned())),
            Err(_) => Err(Problem::invalid_field(VISITOR_ID_SHOWN, "must be UTF-8")),
        },
    }
}

/// Returns the first cookie that holds an anonymous visitor id. Any other cookie of this name came from
/// elsewhere and is ignored.
fn read_visitor_cookie(headers: &HeaderMap, name: &str) -> Option<Visitor> {
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
    if local { COOKIE_NAME_LOCAL } else { COOKIE_NAME }
}

/// Builds the cookie that gives pages of the same site the visitor id that the server generated.
pub(super) fn build_visitor_cookie(visitor: &Visitor, local: bool) -> HeaderValue {
    let cookie = Cookie::build((cookie_name(local), visitor.reveal()))
        .path("/")
        .secure(!local)
        .http_only(true)
        .same_site(SameSite::Lax)
        .max_age(Duration::days(COOKIE_DAYS))
        .build();
    let mut value =
        HeaderValue::from_str(&cookie.to_string()).expect("the name of the cookie and a UUID are ASCII");
    value.set_sensitive(true);
    value
}

impl RawCredentials {
    /// Returns the credentials that the queue accepts.
    pub(super) fn resolve(self, snapshot: &QueueSnapshot) -> Result<Credentials, Problem> {
        self.resolve_with_settings(snapshot.settings())
    }

    /// Returns the credentials that a queue with these settings accepts.
    pub(super) fn resolve_with_settings(self, settings: &Settings) -> Result<Credentials, Problem> {
        let trusted = self.caller_is_trusted && settings.trust_client_visitor_id;
        // A verified claim outranks a header. If there is a claim, the header names an anonymous
        // visitor.
        let header_is_known = trusted && self.claim.is_none();
        let claimed = |claim: &VerifiedClaim| parse_known(&claim.name, &claim.value);
        let mut credentials = Credentials {
            known: self.claim.as_ref().map(claimed).transpose()?,
            anonymous: None,
            cookie: self.cookie,
        };
        match self.header.as_deref() {
            Some(id) if header_is_known => credentials.known = Some(parse_known(VISITOR_ID_SHOWN, id)?),
            Some(id) => credentials.anonymous = Some(parse_anonymous(id)?),
            None => {}
        }
        Ok(credentials)
    }
}

fn parse_known(shown: &str, id: &str) -> Result<Visitor, Problem> {
    Visitor::known(id).map_err(|error| Problem::invalid_field(shown, error.to_string()))
}

fn parse_anonymous(id: &str) -> Result<Visitor, Problem> {
    Visitor::anonymous(id).map_err(|error| Problem::invalid_field(VISITOR_ID_SHOWN, error.to_string()))
}

/// The identity of the visitor, by each kind of credential.
#[derive(Debug)]
pub(super) struct Credentials {
    known: Option<Visitor>,
    anonymous: Option<Visitor>,
    cookie: Option<Visitor>,
}

/// Whether a token belongs to the visitor who sent the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// The token belongs to this visitor.
    Proven,
    /// The token belongs to another visitor.
    Mismatch,
    /// The request presents nothing but the token.
    Unproven,
}

impl Credentials {
    /// The visitor that a verified claim or a trusted caller names.
    pub(super) fn known(&self) -> Option<&Visitor> {
        self.known.as_ref()
    }

    /// The visitor with a random UUID: from the header, otherwise from the cookie.
    pub(super) fn anonymous(&self) -> Option<&Visitor> {
        self.anonymous.as_ref().or(self.cookie.as_ref())
    }

    /// Compares a token with the credential of its kind. A credential of the other kind proves
    /// nothing. If the client sent that one on purpose, it shows that another visitor asks. A
    /// cookie shows nothing, because browsers send it with every request.
    pub(super) fn ownership(&self, ids: &IdKey, token: EntryId) -> Ownership {
        let (visitor_of_kind, visitor_of_other_kind) = match token.kind() {
            VisitorKind::Known => (self.known(), self.anonymous.as_ref()),
            VisitorKind::Anon => (self.anonymous(), self.known()),
        };
        match visitor_of_kind {
            Some(visitor) if ids.entry_id(visitor) == token => Ownership::Proven,
            Some(_) => Ownership::Mismatch,
            None if visitor_of_other_kind.is_some() => Ownership::Mismatch,
            None => Ownership::Unproven,
        }
    }

    /// Refuses a visitor who is not proven to own the token.
    pub(super) fn require_ownership(&self, ids: &IdKey, token: EntryId) -> Result<(), Problem> {
        match self.ownership(ids, token) {
            Ownership::Proven => Ok(()),
            Ownership::Mismatch => Err(token_mismatch_problem()),
            Ownership::Unproven => Err(Problem::new(
                Code::VisitorRequired,
                "send X-Visitor-Id or what the authorizer requires; a token alone only allows status requests",
            )),
        }
    }
}

/// The problem of a visitor who presents another visitor's token.
pub(super) fn token_mismatch_problem() -> Problem {
    Problem::new(
        Code::TokenOwnerMismatch,
        "only the visitor who entered with this token may use it",
    )
}

/// Whether a token belongs to the visitor whom the protected service names. The kind of the token
/// decides how the name is read.
pub(super) fn is_owner(ids: &IdKey, token: EntryId, id: &str) -> Result<bool, Problem> {
    let known = parse_known("visitor", id)?;
    let visitor = match token.kind() {
        VisitorKind::Known => Some(known),
        // An anonymous visitor's id is a UUID, so any other name owns no such token.
        VisitorKind::Anon => Visitor::anonymous(id).ok(),
    };
    Ok(visitor.is_some_and(|visitor| ids.entry_id(&visitor) == token))
}

#[cfg(test)]
mod tests;
