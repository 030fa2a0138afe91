//! The configuration of the HTTP API: origins, held polls, and how API Gateway guards the routes.

use vestibule_domain::poll_pacing::HELD_BUDGET;
use vestibule_engine::sync::SettingsPolicy;

use super::{FrameAncestors, Origins, ServiceCallers};

/// The default name of a deployment. All processes that share a line are one deployment and use the
/// same name.
const DEFAULT_DEPLOYMENT: &str = "local";

/// How API Gateway guards the routes that visitors call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorRoutes {
    /// It does not guard them.
    Open,
    /// By an authorizer, whose claim names the visitor of every request.
    Authorizer,
    /// By AWS signatures (Signature Version 4).
    Iam,
    /// By API keys.
    ApiKey,
}

/// How API Gateway guards the routes that the protected service calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceRoutes {
    /// By AWS signatures (Signature Version 4).
    Iam,
    /// By API keys.
    ApiKey,
    /// It does not guard them. Only a process on a developer's machine may run like this.
    Unguarded,
}

/// The way by which visitors may enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorsBy {
    /// Any, also the address of the API itself.
    Any,
    /// The distribution, whose firewall they pass. It proves itself by the origin key.
    Distribution,
}

/// How many requests of one visitor a process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitorRequests {
    /// So many at once.
    pub at_once: u32,
    /// So many more each second.
    pub per_second: u32,
}

impl Default for VisitorRequests {
    /// A client in line sends one request every few seconds, from each tab.
    fn default() -> Self {
        Self {
            at_once: 30,
            per_second: 2,
        }
    }
}

/// The configuration of the HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiConfig {
    /// The origins whose pages may call the API from a browser (CORS).
    pub origins: Origins,
    /// The most polls that the whole deployment holds at the same time.
    pub held_polls_max: u32,
    /// The name of the deployment. The held polls of all its processes are counted together.
    pub deployment: String,
    /// The claim of the authorizer that names the visitor.
    pub visitor_claim: String,
    /// The claim, or the value of the authorizer's context, that names the lane of a new place; `None` for none.
    pub lane_claim: Option<String>,
    /// How API Gateway guards the visitors' routes.
    pub visitor_routes: VisitorRoutes,
    /// The way by which visitors may enter.
    pub visitors_by: VisitorsBy,
    /// How API Gateway guards the protected service's routes.
    pub service_routes: ServiceRoutes,
    /// Which callers that API Gateway accepts on the service routes are the protected service. If
    /// the list is empty, all of them are, unless visitors use the same kind of credential; then
    /// none is.
    pub service_callers: ServiceCallers,
    /// How many requests of one visitor a process answers.
    pub visitor_requests: VisitorRequests,
    /// Which sites may embed the pages in a frame: the value of `frame-ancestors` in their policies.
    pub frame_ancestors: FrameAncestors,
    /// Whether this is one process on a developer's machine, without TLS. If so, cookies are plain,
    /// and a queue may trust `X-Visitor-Id` although the visitor routes are open. Only the local
    /// runner sets it; no environment variable does.
    pub local: bool,
}

impl Default for ApiConfig {
    /// The configuration of a deployment that sets no variable.
    fn default() -> Self {
        Self {
            origins: Origins::Listed(Vec::new()),
            held_polls_max: HELD_BUDGET,
            deployment: DEFAULT_DEPLOYMENT.to_owned(),
            visitor_claim: "sub".to_owned(),
            lane_claim: None,
            visitor_routes: VisitorRoutes::Open,
            visitors_by: VisitorsBy::Any,
            service_routes: ServiceRoutes::Iam,
            service_callers: ServiceCallers::default(),
            visitor_requests: VisitorRequests::default(),
            frame_ancestors: FrameAncestors::default(),
            local: false,
        }
    }
}

impl ApiConfig {
    /// Whether visitors and the protected service use the same kind of credential.
    pub fn has_shared_credential_kind(&self) -> bool {
        matches!(
            (self.visitor_routes, self.service_routes),
            (VisitorRoutes::Iam, ServiceRoutes::Iam) | (VisitorRoutes::ApiKey, ServiceRoutes::ApiKey)
        )
    }
}

impl From<&ApiConfig> for SettingsPolicy {
    fn from(config: &ApiConfig) -> Self {
        Self {
            trust_client_visitor_id: config.local
                || matches!(config.visitor_routes, VisitorRoutes::Iam | VisitorRoutes::ApiKey),
            authorizer_names_visitors: config.visitor_routes == VisitorRoutes::Authorizer,
        }
    }
}
