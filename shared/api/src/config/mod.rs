//! The configuration of the routes and their secrets.

mod api_config;
mod authorizer_config;
mod callers;
mod environment;
mod frame_ancestors;
mod origins;
#[cfg(test)]
mod tests;

use vestibule_domain::id::RootKey;

pub use self::{
    api_config::{ApiConfig, ServiceRoutes, VisitorRequests, VisitorRoutes, VisitorsBy},
    authorizer_config::{AuthorizerConfig, InvalidQueues, ProtectedQueues},
    callers::ServiceCallers,
    environment::settings_policy_from_env,
    frame_ancestors::{FrameAncestors, InvalidFrameAncestors},
    origins::{InvalidOrigins, Origins},
};
use crate::who::{origin_key::LiveOriginKey, pass::PassKeys};

/// The secrets of a deployment.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The key from which the entry ids of every queue are derived.
    pub root: RootKey,
    /// The keys that sign the passes.
    pub passes: PassKeys,
    /// The secret of a distribution that stands before the API, if there is one.
    pub origin: LiveOriginKey,
}
