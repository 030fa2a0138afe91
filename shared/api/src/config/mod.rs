//! The configuration of the routes and their secrets.

mod api_config;
mod callers;

use vestibule_domain::id::RootKey;

pub use self::{
    api_config::{ApiConfig, Origins, ServiceRoutes, VisitorRoutes},
    callers::ServiceCallers,
};
use crate::pass::PassSigner;

/// The secrets of a deployment.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The key from which the entry ids of every queue are derived.
    pub root: RootKey,
    /// The key that signs the passes.
    pub signer: PassSigner,
}
