//! The command `rotate`: replaces the key that signs passes, without refusing a pass, or at once if it has leaked.

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use tracing::{info, warn};
use vestibule_domain::{
    id::QueueId,
    key_ring::{KeyRing, RingKey, RotationTimes},
};
use vestibule_wire::results::{KeyRotation, to_value};

use super::{Admin, Problem, signing_keys::SigningKeys, stats::CONCURRENT_READS_MAX};

/// How long passes of a queue are accepted if its stored settings cannot be read, in seconds: the longest
/// session and outage grace that settings can contain.
const PASS_SECONDS_UNKNOWN: u32 = 7 * 86_400 + 3_600;

impl Admin {
    /// Adds a new signing key to the ring. It signs as soon as no process and no cache is without it. The old
    /// key verifies passes until the last one that it signed has ended.
    pub(super) async fn rotate(&self) -> Result<Value, Problem> {
        let SigningKeys { store, cache_seconds } = &self.signing_keys;
        let times = RotationTimes {
            key_cache_seconds: *cache_seconds,
            pass_seconds_max: self.longest_pass_seconds().await?,
        };
        let before = store.read().await?;
        let now_ms = vestibule_telemetry::clock::now_ms();
        let rotated = before.rotate(new_key_text(), now_ms, times)?;
        self.store_ring(&before, &rotated).await?;
        info!(
            event = "keys.rotated",
            "added a signing key, which signs when every cache has it"
        );
        Ok(describe_ring(&rotated, now_ms, *cache_seconds))
    }

    /// Replaces every key of the ring, because one has leaked, and with it perhaps the whole ring. The new key signs at once,
    /// and no pass of the others is valid any more. This ends no visit: the pages get a new pass.
    pub(super) async fn replace_leaked_keys(&self) -> Result<Value, Problem> {
        let SigningKeys { store, cache_seconds } = &self.signing_keys;
        let before = store.read().await?;
        let now_ms = vestibule_telemetry::clock::now_ms();
        let replaced = before.replace_leaked(new_key_text(), now_ms);
        self.store_ring(&before, &replaced).await?;
        warn!(
            event = "keys.voided",
            keys = before.keys().len(),
            "replaced the signing keys because one leaked; their passes are void"
        );
        Ok(describe_ring(&replaced, now_ms, *cache_seconds))
    }

    /// Stores a ring in place of another one. Of two commands at the same time, the later one wins. A store may still show
    /// the ring of before.
    async fn store_ring(&self, before: &KeyRing, ring: &KeyRing) -> Result<(), Problem> {
        let store = &self.signing_keys.store;
        store.write(ring).await?;
        let stored = store.read().await?;
        if stored != *ring && stored != *before {
            return Err(Problem::rotated_by_another_command());
        }
        Ok(())
    }

    /// The longest time for which a pass of any queue is accepted after it was issued, in seconds. A pass names a
    /// visitor until the visit ends, so a session counts with all its extensions.
    async fn longest_pass_seconds(&self) -> Result<u32, Problem> {
        let queues = self.backup.list_queues().await?;
        stream::iter(queues)
            .map(|queue| async move { self.pass_seconds(&queue).await })
            .buffer_unordered(CONCURRENT_READS_MAX)
            .try_fold(0, async |longest, seconds| Ok(seconds.max(longest)))
            .await
    }

    async fn pass_seconds(&self, queue: &QueueId) -> Result<u32, Problem> {
        let Some(stored) = self.backup.read_queue(queue).await? else {
            return Ok(0);
        };
        let settings = stored.settings.parse();
        Ok(settings.map_or(PASS_SECONDS_UNKNOWN, |settings| {
            settings.session_max_seconds + settings.outage_grace_seconds
        }))
    }
}

/// A random text of 64 hex digits, from which every process derives the same key. `random` uses a
/// cryptographic generator that the operating system seeds.
fn new_key_text() -> String {
    let [first, second] = [rand::random::<u128>(), rand::random::<u128>()];
    format!("{first:032x}{second:032x}")
}

fn describe_ring(ring: &KeyRing, published_at_ms: u64, cache_seconds: u32) -> Value {
    let newest = ring.keys().last();
    let signs_from_ms = newest.map_or(published_at_ms, |key| key.signs_from_ms);
    let retires_at_ms = ring
        .keys()
        .iter()
        .filter_map(|key: &RingKey| key.retires_at_ms)
        .max();
    to_value(KeyRotation {
        published_at_ms,
        signs_from_ms,
        old_key_retires_at_ms: retires_at_ms,
        key_cache_seconds: cache_seconds,
        keys: ring.keys().len(),
        void_keys: ring.void_keys().len(),
    })
}
