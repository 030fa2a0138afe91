//! The signing keys of a running process. They follow the key ring, so that a rotation needs no restart.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jsonwebtoken::decode_header;
use tokio::{sync::Mutex, time::timeout};
use tracing::{info, warn};
use vestibule_domain::{
    id::{EntryId, QueueId},
    key_ring::KeyRing,
};
use vestibule_engine::key_store::{FixedKey, KeyStore, KeyStoreError};
use vestibule_wire::Jwks;

use super::{Pass, PassClaims, PassError, PassGrant, key_set::PassKeySet};

/// A request waits this long for the store of the keys. Then it goes on with the keys that the process has.
const READ_TIMEOUT: Duration = Duration::from_secs(1);
/// The least time between two readings of the ring, in milliseconds, after a failure or because of
/// unknown keys: anyone can send a pass that names a key which does not exist.
const READ_INTERVAL_MIN_MS: u64 = 5_000;

/// Why a process has no keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PassKeysError {
    /// The ring cannot be read.
    #[error(transparent)]
    Store(#[from] KeyStoreError),
    /// A key of the ring cannot sign.
    #[error(transparent)]
    Key(#[from] PassError),
}

/// The keys that sign and verify passes. Clones share them.
#[derive(Debug, Clone)]
pub struct PassKeys(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    issuer: String,
    store: Arc<dyn KeyStore>,
    cache_seconds: u32,
    current: RwLock<Current>,
    /// Held while the ring is read, so that one request reads it for all.
    reading: Mutex<()>,
}

#[derive(Debug, Clone)]
struct Current {
    keys: Arc<PassKeySet>,
    /// When the ring was last read, in Unix milliseconds.
    read_at_ms: u64,
    /// When this process last tried to read the ring, in Unix milliseconds.
    tried_at_ms: u64,
}

impl PassKeys {
    /// Reads the ring of the store. The keys are read again when they are older than `cache_seconds`.
    ///
    /// # Errors
    /// [`PassKeysError`] if the ring cannot be read or used.
    pub async fn load(
        issuer: &str,
        store: Arc<dyn KeyStore>,
        cache_seconds: u32,
    ) -> Result<Self, PassKeysError> {
        let ring = store.read().await?;
        Ok(Self::new(issuer, store, ring, cache_seconds)?)
    }

    /// One key that never changes: a P-256 key as PEM, or a random text.
    ///
    /// # Errors
    /// [`PassError::InvalidSigningKey`] if the text is neither.
    pub fn fixed(issuer: &str, key: &str, cache_seconds: u32) -> Result<Self, PassError> {
        let ring = KeyRing::single(key);
        Self::new(issuer, Arc::new(FixedKey(ring.clone())), ring, cache_seconds)
    }

    fn new(
        issuer: &str,
        store: Arc<dyn KeyStore>,
        ring: KeyRing,
        cache_seconds: u32,
    ) -> Result<Self, PassError> {
        let keys = Arc::new(PassKeySet::from_ring(issuer, ring)?);
        let now_ms = vestibule_telemetry::clock::now_ms();
        Ok(Self(Arc::new(Shared {
            issuer: issuer.to_owned(),
            store,
            cache_seconds,
            current: RwLock::new(Current {
                keys,
                read_at_ms: now_ms,
                tried_at_ms: now_ms,
            }),
            reading: Mutex::default(),
        })))
    }

    /// How long caches may keep the public keys, and this process its own, in seconds.
    pub fn cache_seconds(&self) -> u32 {
        self.0.cache_seconds
    }

    /// Signs a pass. `now_ms` is line time, in Unix milliseconds.
    ///
    /// # Errors
    /// [`PassError::Signing`] if the key cannot sign.
    pub fn sign(&self, grant: &PassGrant<'_>, now_ms: u64) -> Result<Pass, PassError> {
        let current = self.current();
        current
            .keys
            .signing_key(vestibule_telemetry::clock::now_ms())
            .sign(grant, now_ms)
    }

    /// Verifies a pass at a line time, in Unix milliseconds.
    ///
    /// # Errors
    /// The first reason of [`PassError`] for which the pass is refused.
    pub fn verify(
        &self,
        pass: &str,
        queue: &QueueId,
        entry: EntryId,
        now_ms: u64,
    ) -> Result<PassClaims, PassError> {
        self.verify_ignoring_time(pass, queue, entry)?
            .require_valid_at(now_ms)
    }

    /// Verifies a pass without its times.
    ///
    /// # Errors
    /// The first reason of [`PassError`] for which the pass is refused.
    pub fn verify_ignoring_time(
        &self,
        pass: &str,
        queue: &QueueId,
        entry: EntryId,
    ) -> Result<PassClaims, PassError> {
        let (keys, clock_ms) = (self.current().keys, vestibule_telemetry::clock::now_ms());
        keys.verify_ignoring_time(pass, queue, entry, clock_ms, self.0.cache_seconds)
    }

    /// The ids of the keys that leaked. No pass of theirs is valid, whatever its times.
    pub fn void_key_ids(&self) -> Vec<String> {
        self.current().keys.void_key_ids().to_vec()
    }

    /// The public keys that verify passes now, as a JWK set (RFC 7517).
    pub fn jwks(&self) -> Jwks {
        self.current().keys.jwks(vestibule_telemetry::clock::now_ms())
    }

    /// Reads the ring if it is older than the cache time. If another request reads it, this one goes on
    /// with the old keys, unless they are older than twice that time: then a rotation may already sign
    /// with a key that this process does not know. While the store fails, no request waits for another one.
    pub async fn refresh_if_due(&self) {
        let cache_ms = u64::from(self.0.cache_seconds) * 1_000;
        let is_due = || {
            let current = self.current();
            age_ms(current.read_at_ms) >= cache_ms
                && age_ms(current.tried_at_ms) >= cache_ms.min(READ_INTERVAL_MIN_MS)
        };
        if !is_due() {
            return;
        }
        let current = self.current();
        let has_failed = current.tried_at_ms != current.read_at_ms;
        let reading = if has_failed || age_ms(current.read_at_ms) < 2 * cache_ms {
            self.0.reading.try_lock().ok()
        } else {
            Some(self.0.reading.lock().await)
        };
        if reading.is_some() && is_due() {
            self.read_ring().await;
        }
    }

    /// Reads the ring if a pass names a key that this process does not have, because a rotation may
    /// have published the key a moment ago.
    pub async fn refresh_for(&self, pass: &str) {
        let Some(key_id) = decode_header(pass).ok().and_then(|header| header.kid) else {
            return;
        };
        let is_due = || {
            let current = self.current();
            !current.keys.has_key(&key_id) && age_ms(current.tried_at_ms) >= READ_INTERVAL_MIN_MS
        };
        if is_due() {
            let _reading = self.0.reading.lock().await;
            if is_due() {
                self.read_ring().await;
            }
        }
    }

    async fn read_ring(&self) {
        let read = timeout(READ_TIMEOUT, self.0.store.read()).await;
        let read = read.unwrap_or_else(|_| Err(KeyStoreError::Unavailable("no answer in time".to_owned())));
        // Most readings find the same ring, whose keys need not be built again.
        let known = self.current().keys;
        let read = read.map_err(PassKeysError::from).and_then(|ring| {
            let changed = (ring != *known.ring()).then(|| PassKeySet::from_ring(&self.0.issuer, ring));
            Ok(changed.transpose()?)
        });
        let mut current = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        current.tried_at_ms = vestibule_telemetry::clock::now_ms();
        match read {
            Ok(changed) => {
                current.read_at_ms = current.tried_at_ms;
                if let Some(keys) = changed {
                    current.keys = Arc::new(keys);
                    info!(event = "keys.changed", "took over a changed ring of signing keys");
                }
            }
            Err(error) => warn!(
                event = "keys.read_failed",
                %error,
                "could not read the signing keys again; this process goes on with those that it has"
            ),
        }
    }

    fn current(&self) -> Current {
        // The lock holds whole values only, which are consistent even if a holder panicked.
        self.0
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The time since a moment. A moment of the future is long ago: the clock was set back meanwhile, and the
/// keys must not wait until it catches up.
fn age_ms(moment_ms: u64) -> u64 {
    vestibule_telemetry::clock::now_ms()
        .checked_sub(moment_ms)
        .unwrap_or(u64::MAX)
}
