//! Where the signing keys are, for the command `rotate`.

use std::sync::Arc;

use vestibule_engine::key_store::KeyStore;

/// The signing keys of the deployment.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    /// The store of the key ring.
    pub store: Arc<dyn KeyStore>,
    /// How old the keys in a process or a cache may be, in seconds.
    pub cache_seconds: u32,
}
