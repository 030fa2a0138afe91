//! A store of signing keys that fails as a test asks.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use vestibule_domain::key_ring::KeyRing;
use vestibule_engine::key_store::{KeyStore, KeyStoreError};

/// Keeps a key ring in memory. Several processes of a test may share it.
#[derive(Debug)]
pub struct MemoryKeyStore {
    ring: Mutex<KeyRing>,
    is_down: AtomicBool,
    reads: AtomicUsize,
}

impl MemoryKeyStore {
    /// Creates a store of this ring.
    pub fn new(ring: KeyRing) -> Self {
        Self {
            ring: Mutex::new(ring),
            is_down: AtomicBool::default(),
            reads: AtomicUsize::default(),
        }
    }

    /// Lets each call fail from now on, or none.
    pub fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    /// How often the ring was read.
    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    fn require_up(&self) -> Result<(), KeyStoreError> {
        if self.is_down.load(Ordering::SeqCst) {
            return Err(KeyStoreError::Unavailable("the test says so".to_owned()));
        }
        Ok(())
    }
}

#[async_trait]
impl KeyStore for MemoryKeyStore {
    async fn read(&self) -> Result<KeyRing, KeyStoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.require_up()?;
        Ok(self.ring.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn write(&self, ring: &KeyRing) -> Result<(), KeyStoreError> {
        self.require_up()?;
        *self.ring.lock().unwrap_or_else(PoisonError::into_inner) = ring.clone();
        Ok(())
    }
}
