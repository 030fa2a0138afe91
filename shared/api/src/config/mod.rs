//! What the routes are configured with.

mod callers;
mod edge;

use vestibule_domain::id::RootKey;

pub use self::{
    callers::ServiceCallers,
    edge::{ApiConfig, Origins, ServiceRoutes, VisitorRoutes},
};
use crate::pass::PassSigner;

/// The secrets of a deployment.
#[derive(Debug, Clone)]
pub struct Keys {
    /// From which entry ids are derived.
    pub root: RootKey,
    /// With which passes are signed.
    pub signer: PassSigner,
}
