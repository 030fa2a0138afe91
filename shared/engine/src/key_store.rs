//! The port to where a deployment keeps the keys that sign passes: AWS Secrets Manager, or a file of a
//! developer's machine.

use std::fmt;

use async_trait::async_trait;
use vestibule_domain::key_ring::{KeyRing, KeyRingError};

/// Keeps the key ring of a deployment. All its processes read the same one.
#[async_trait]
pub trait KeyStore: fmt::Debug + Send + Sync + 'static {
    /// Reads the ring.
    ///
    /// # Errors
    /// [`KeyStoreError`] if the ring cannot be read, or is none.
    async fn read(&self) -> Result<KeyRing, KeyStoreError>;

    /// Replaces the ring. When two processes do this at once, the later one wins.
    ///
    /// # Errors
    /// [`KeyStoreError`] if the ring cannot be written.
    async fn write(&self, ring: &KeyRing) -> Result<(), KeyStoreError>;
}

/// Why the key ring cannot be read or written. No message shows a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyStoreError {
    /// The store does not answer, or refuses the call.
    #[error("the store of the signing keys cannot be used: {0}")]
    Unavailable(String),
    /// What is stored is not a key ring.
    #[error("the stored signing keys cannot be used: {0}")]
    Invalid(#[from] KeyRingError),
    /// The key is given to each process when it starts, so no command can replace it.
    #[error("the signing key is a setting of the processes and not in a store")]
    Fixed,
}

/// A key that every process got when it started. It cannot be rotated.
#[derive(Debug)]
pub struct FixedKey(pub KeyRing);

#[async_trait]
impl KeyStore for FixedKey {
    async fn read(&self) -> Result<KeyRing, KeyStoreError> {
        Ok(self.0.clone())
    }

    async fn write(&self, _ring: &KeyRing) -> Result<(), KeyStoreError> {
        Err(KeyStoreError::Fixed)
    }
}
