//! Reads the credentials by which a request identifies its visitor.
//!
//! A visitor is *known* by the verified claim of the authorizer, or by `X-Visitor-Id` if the queue
//! trusts its callers. A visitor is *anonymous* by a random UUID in `X-Visitor-Id` or, on pages of
//! the same site, in a cookie. A visitor who entered with a ticket has the secret of the entry in
//! `X-Visitor-Id`. A request may present several of them.

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
};
use cookie::{Cookie, SameSite, time::Duration};
use serde_json::Value;
use vestibule_domain::{
    id::{EntryId, IdKey, Visitor, VisitorSecret},
    lane::Lane,
    settings::Settings,
};

use super::{
    Identity,
    credentials::{Credentials, Secret, VISITOR_ID_SHOWN, parse_known},
    gateway::{Claim, Gateway},
    identity_monitor::IdentityMonitor,
};
use crate::{
    config::{ApiConfig, VisitorRoutes},
    problem::{Code, Problem},
    queue::QueueSnapshot,
};

/// The header in which a client names the visitor.
pub(crate) const VISITOR_ID: HeaderName = HeaderName::from_static("x-visitor-id");
/// The prefix makes browsers accept the cookie from this very host only, and only over TLS (RFC 6265bis,
/// section 4.1.3.2).
const COOKIE_NAME: &str = "__Host-vestibule-visitor";
/// Browsers refuse the prefix without TLS, so a laptop uses a plain name.
const COOKIE_NAME_LOCAL: &str = "vestibule-visitor";
const COOKIE_DAYS: i64 = 1;

/// The credentials that a request presents, before it is known whether the queue trusts its callers.
pub(crate) struct RawCredentials {
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

impl<S: Sync> FromRequestParts<S> for RawCredentials
where
    Arc<Identity>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Identity { config, monitor, .. } = &*Arc::<Identity>::from_ref(state);
        let Ok(gateway) = Gateway::from_request_parts(parts, state).await;
        Ok(Self {
            claim: read_claim(&gateway, config, monitor)?,
            header: read_visitor_id_header(&parts.headers)?,
            cookie: read_visitor_cookie(&parts.headers, cookie_name(config.local)),
            caller_is_trusted: gateway.is_trusted(config),
        })
    }
}

/// Reads the claim that names the visitor. Behind an authorizer a request without it is refused, because its
/// visitor would get another place as an anonymous one.
fn read_claim(
    gateway: &Gateway,
    config: &ApiConfig,
    monitor: &IdentityMonitor,
) -> Result<Option<VerifiedClaim>, Problem> {
    let name = &config.visitor_claim;
    let is_required = config.visitor_routes == VisitorRoutes::Authorizer;
    let value = match gateway.claim(name) {
        Claim::Absent if !is_required => return Ok(None),
        Claim::Text(text) if !(is_required && text.is_empty()) => text,
        Claim::Absent | Claim::NotText | Claim::Text(_) => {
            monitor.count_missing(name);
            return Err(Problem::usual(Code::IdentityMissing));
        }
    };
    if is_required {
        monitor.count_found();
    }
    Ok(Some(VerifiedClaim {
        name: name.clone(),
        value,
    }))
}

/// Reads the lane that the authorizer names: a whole number, or a text of one. `None` if no claim is configured, or the
/// authorizer does not name a lane.
pub(crate) fn read_lane_claim(gateway: &Gateway, name: Option<&str>) -> Result<Option<Lane>, Problem> {
    let Some((name, value)) = name.and_then(|name| Some((name, gateway.claim_value(name)?))) else {
        return Ok(None);
    };
    let number = match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    };
    match number.and_then(Lane::new) {
        Some(lane) => Ok(Some(lane)),
        None => Err(Problem::invalid_field(
            name,
            "the authorizer must return the lane in this claim as a whole number from 0 to 7",
        )),
    }
}

pub(crate) fn read_visitor_id_header(headers: &HeaderMap) -> Result<Option<String>, Problem> {
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

/// Whether a request has a cookie with an anonymous visitor id.
pub(crate) fn has_visitor_cookie(headers: &HeaderMap, local: bool) -> bool {
    read_visitor_cookie(headers, cookie_name(local)).is_some()
}

fn cookie_name(local: bool) -> &'static str {
    if local { COOKIE_NAME_LOCAL } else { COOKIE_NAME }
}

/// Builds the cookie that gives pages of the same site the visitor id that the server generated.
pub(crate) fn build_visitor_cookie(visitor: &Visitor, local: bool) -> HeaderValue {
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
    pub(crate) fn resolve(self, snapshot: &QueueSnapshot) -> Result<Credentials, Problem> {
        self.resolve_with_settings(snapshot.settings(), &snapshot.ids)
    }

    /// Returns the credentials that a queue with these settings and this key accepts.
    pub(crate) fn resolve_with_settings(
        self,
        settings: &Settings,
        ids: &IdKey,
    ) -> Result<Credentials, Problem> {
        let trusted = self.caller_is_trusted && settings.trust_client_visitor_id;
        // A verified claim outranks a header. If there is a claim, the header names an anonymous
        // visitor or has a secret.
        let header_is_known = trusted && self.claim.is_none();
        let claimed = |claim: &VerifiedClaim| parse_known(&claim.name, &claim.value);
        let mut credentials = Credentials {
            known: self.claim.as_ref().map(claimed).transpose()?,
            anonymous: None,
            cookie: self.cookie,
            secret: None,
        };
        let Some(text) = self.header.as_deref() else {
            return Ok(credentials);
        };
        if let Some(entry) = ids.verify_secret(text) {
            credentials.secret = Some(Secret::Of(entry));
        } else if header_is_known {
            // The name of a known visitor may look like anything, also like a secret.
            credentials.known = Some(parse_known(VISITOR_ID_SHOWN, text)?);
        } else if VisitorSecret::is_formed_like_one(text) {
            credentials.secret = Some(Secret::Void);
        } else {
            credentials.anonymous = Some(parse_anonymous(text)?);
        }
        Ok(credentials)
    }
}

fn parse_anonymous(id: &str) -> Result<Visitor, Problem> {
    Visitor::anonymous(id).map_err(|error| Problem::invalid_field(VISITOR_ID_SHOWN, error.to_string()))
}

impl Identity {
    /// Refuses a request about an entry that is not of its visitor, and one of a visitor who has sent too many.
    pub(crate) fn require_visitor(
        &self,
        snapshot: &QueueSnapshot,
        credentials: RawCredentials,
        id: EntryId,
    ) -> Result<(), Problem> {
        credentials
            .resolve(snapshot)?
            .require_ownership(&snapshot.ids, id)?;
        self.count_request(&snapshot.queue, id)
    }
}

#[cfg(test)]
mod tests;
