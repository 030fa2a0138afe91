//! What the gateway in front says about a request: never read from anything that a client can write.

use std::{convert::Infallible, time::Instant};

use axum::{extract::FromRequestParts, http::request::Parts};
use serde_json::{Map, Value};

use super::Edge;
use crate::config::{EdgeConfig, ServiceRoutes, VisitorRoutes};

/// The gateway's word, put into the request's extensions by the [adapter](super::serve). Without a gateway, as on a
/// laptop, it is empty.
#[derive(Clone, Default)]
pub(crate) struct Gateway {
    /// Names the request in the logs on both sides.
    pub(crate) request_id: Option<String>,
    /// When the function is stopped.
    pub(crate) deadline: Option<Instant>,
    /// What stands before `/queues` in the address that the client used: the stage, or a mapping's base path.
    pub(crate) base_path: String,
    /// What the authorizer said; claims of a JWT are under `claims`.
    pub(crate) authorizer: Map<String, Value>,
    /// Who signed the request, as the gateway checked: an ARN, or another id of IAM's where it gives none.
    pub(crate) signer: Option<String>,
    /// The id of the API key that the caller has, as the gateway checked.
    pub(crate) api_key_id: Option<String>,
}

impl Gateway {
    /// The claim that names the visitor.
    pub(super) fn claim(&self, name: &str) -> Option<String> {
        let in_claims = self.authorizer.get("claims").and_then(|claims| claims.get(name));
        match in_claims.or_else(|| self.authorizer.get(name))? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Whether the caller may do what the protected service alone may do.
    pub(super) fn is_service(&self, config: &EdgeConfig) -> bool {
        config.service_routes == ServiceRoutes::Unguarded || self.vouches_for_service(config)
    }

    /// Whether the caller is proven to be the protected service: the gateway let it pass, and it is listed. Without a
    /// list whoever passes is, unless visitors pass in the same way.
    pub(super) fn vouches_for_service(&self, config: &EdgeConfig) -> bool {
        let caller = match config.service_routes {
            ServiceRoutes::Iam => self.signer.as_deref(),
            ServiceRoutes::ApiKey => self.api_key_id.as_deref(),
            ServiceRoutes::Unguarded => None,
        };
        let callers = &config.service_callers;
        caller.is_some_and(|caller| {
            if callers.is_empty() {
                !config.is_guarded_alike()
            } else {
                callers.include(caller)
            }
        })
    }

    /// Whether the caller may name visitors where the queue trusts its callers.
    pub(super) fn is_trusted(&self, config: &EdgeConfig) -> bool {
        match config.visitor_routes {
            VisitorRoutes::Open => config.local,
            VisitorRoutes::Iam => self.signer.is_some(),
            VisitorRoutes::ApiKey => self.api_key_id.is_some(),
        }
    }
}

impl FromRequestParts<std::sync::Arc<Edge>> for Gateway {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &std::sync::Arc<Edge>) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
