//! What the routes are told.

use axum::http::HeaderValue;
use vestibule_domain::pacing::HELD_BUDGET;
use vestibule_engine::sync::Policy;

use super::ServiceCallers;

/// What a process calls its deployment that is not told: all that share a line are one.
const DEPLOYMENT: &str = "local";

/// Which pages may call from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Any page, without cookies.
    Any,
    /// The pages of these origins, with cookies; none, where the list is empty.
    Named(Vec<HeaderValue>),
}

/// How the gateway guards the routes that visitors call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorRoutes {
    /// Not at all, or by an authorizer that names the visitor.
    Open,
    /// By AWS signatures.
    Iam,
    /// By API keys.
    ApiKey,
}

/// How the gateway guards the routes that the protected service calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceRoutes {
    /// By AWS signatures.
    Iam,
    /// By API keys.
    ApiKey,
    /// Not at all: for one process on a laptop.
    Unguarded,
}

/// What the routes are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeConfig {
    /// Which pages may call from a browser.
    pub origins: Origins,
    /// The most polls that the deployment holds at once.
    pub held_budget: u32,
    /// The deployment whose held polls are counted together.
    pub deployment: String,
    /// The authorizer's claim that names the visitor.
    pub visitor_claim: String,
    /// How the gateway guards the visitors' routes.
    pub visitor_routes: VisitorRoutes,
    /// How the gateway guards the protected service's routes.
    pub service_routes: ServiceRoutes,
    /// Which of the callers that pass there are the protected service; where none is listed, all of them, but none where
    /// visitors are guarded alike.
    pub service_callers: ServiceCallers,
    /// One process on a laptop, without TLS: cookies are plain, and a queue may believe `X-Visitor-Id` although the
    /// routes are open. The environment cannot say so; the local runner does.
    pub local: bool,
}

impl Default for EdgeConfig {
    /// What a deployment has that sets nothing.
    fn default() -> Self {
        Self {
            origins: Origins::Named(Vec::new()),
            held_budget: HELD_BUDGET,
            deployment: DEPLOYMENT.to_owned(),
            visitor_claim: "sub".to_owned(),
            visitor_routes: VisitorRoutes::Open,
            service_routes: ServiceRoutes::Iam,
            service_callers: ServiceCallers::default(),
            local: false,
        }
    }
}

impl EdgeConfig {
    /// Whether visitors come with credentials of the same sort as the protected service's.
    pub fn is_guarded_alike(&self) -> bool {
        matches!(
            (self.visitor_routes, self.service_routes),
            (VisitorRoutes::Iam, ServiceRoutes::Iam) | (VisitorRoutes::ApiKey, ServiceRoutes::ApiKey)
        )
    }
}

impl From<&EdgeConfig> for Policy {
    fn from(config: &EdgeConfig) -> Self {
        Self {
            trust_client_visitor_id: config.local || config.visitor_routes != VisitorRoutes::Open,
        }
    }
}
