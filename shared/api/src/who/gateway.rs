//! What the gateway in front of Vestibule verified about a request. None of it comes from anything
//! that a client can write.

use std::{convert::Infallible, net::IpAddr, time::Instant};

use axum::{extract::FromRequestParts, http::request::Parts};
use serde_json::{Map, Value};

use crate::config::{ApiConfig, ServiceRoutes, VisitorRoutes};

/// The facts that the gateway vouches for. The [adapter](crate::serve) puts them into the request's
/// extensions. Without a gateway, as on a laptop, they are empty.
#[derive(Clone, Default)]
pub(crate) struct Gateway {
    /// Identifies the request in the logs of the gateway and of Vestibule.
    pub(crate) request_id: Option<String>,
    /// When Lambda stops the function.
    pub(crate) deadline: Option<Instant>,
    /// What the authorizer returned. The claims of a JWT are under `claims`.
    pub(crate) authorizer: Map<String, Value>,
    /// The identity that signed the request, as the gateway verified it: an ARN, or another IAM id
    /// if there is no ARN.
    pub(crate) signer: Option<String>,
    /// The id of the caller's API key, as the gateway verified it.
    pub(crate) api_key_id: Option<String>,
    /// The address that sent the request to the gateway: the client's, or that of a proxy before the
    /// gateway.
    pub(crate) client_address: Option<IpAddr>,
}

/// A claim of the authorizer.
pub(crate) enum Claim {
    /// The authorizer returned no such claim.
    Absent,
    /// The claim has a value that is no text. It names no visitor: of a number, the gateway may already have
    /// lost digits.
    NotText,
    /// The claim as the authorizer returned it.
    Text(String),
}

impl Gateway {
    /// Returns the claim that identifies the visitor.
    pub(crate) fn claim(&self, name: &str) -> Claim {
        match self.claim_value(name) {
            None => Claim::Absent,
            Some(Value::String(text)) => Claim::Text(text.clone()),
            Some(_) => Claim::NotText,
        }
    }

    /// Returns a claim that the authorizer verified, or a value of its context; `None` if there is none.
    pub(crate) fn claim_value(&self, name: &str) -> Option<&Value> {
        let in_claims = self.authorizer.get("claims").and_then(|claims| claims.get(name));
        let value = in_claims.or_else(|| self.authorizer.get(name));
        value.filter(|value| !value.is_null())
    }

    /// Whether the caller may use the routes of the protected service.
    pub(crate) fn is_service(&self, config: &ApiConfig) -> bool {
        config.service_routes == ServiceRoutes::Unguarded || self.is_proven_service(config)
    }

    /// Whether the caller is proven to be the protected service: the gateway authenticated it, and the
    /// configured list contains it. Without a list, every authenticated caller counts as the service,
    /// unless visitors authenticate in the same way.
    pub(crate) fn is_proven_service(&self, config: &ApiConfig) -> bool {
        let caller = match config.service_routes {
            ServiceRoutes::Iam => self.signer.as_deref(),
            ServiceRoutes::ApiKey => self.api_key_id.as_deref(),
            ServiceRoutes::Unguarded => None,
        };
        let callers = &config.service_callers;
        caller.is_some_and(|caller| {
            if callers.is_empty() {
                !config.has_shared_credential_kind()
            } else {
                callers.contains(caller)
            }
        })
    }

    /// Whether the caller may name visitors in a queue that trusts its callers.
    pub(crate) fn is_trusted(&self, config: &ApiConfig) -> bool {
        match config.visitor_routes {
            VisitorRoutes::Open => config.local,
            VisitorRoutes::Authorizer => false,
            VisitorRoutes::Iam => self.signer.is_some(),
            VisitorRoutes::ApiKey => self.api_key_id.is_some(),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Gateway {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
