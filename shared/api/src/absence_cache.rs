//! Remembers for a second what does not exist, and bounds how often a process asks the backup for what may not exist.
//!
//! A client can invent names. The same name is looked up once a second. For names that differ the cache is no help, so
//! there is a [limit](AbsenceCache::begin_lookup) for lookups that find nothing. A lookup that finds something takes
//! nothing from it. What the line has is found without a lookup, so a flood of invented names keeps no visitor out.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long the answer stays that something does not exist. If another process creates it, this process knows it
/// after this time.
const ABSENCE_AGE_MAX: Duration = Duration::from_secs(1);
/// How long a lookup may take: the mark of a present key outlasts lookups that began before it.
const LOOKUP_TIME_MAX: Duration = Duration::from_secs(10);
/// How many lookups that find nothing a process may do at once, and then per second. A function of Lambda has hundreds
/// of processes, which serve ten requests per second each.
const LOOKUPS_AT_ONCE: f64 = 100.0;
const LOOKUPS_PER_SECOND: f64 = 1.0;
/// With this many keys, the cache drops those that are out of date before it takes another one. If most are still fresh, it
/// does so again when the rest has doubled, so that a rush of visitors does not scan them all for each one.
const KEYS_BEFORE_PRUNING: usize = 1_000;

/// What a process knows to be absent.
pub(crate) struct AbsenceCache<K>(Mutex<State<K>>);

struct State<K> {
    keys: HashMap<K, Knowledge>,
    /// The number of keys from which on the next insertion drops those that are out of date.
    prune_at: usize,
    lookups_left: f64,
    refilled_at: Instant,
}

#[derive(Clone, Copy)]
enum Knowledge {
    /// A lookup that began at this time found nothing.
    Absent(Instant),
    /// The key exists since this time at the latest. So a lookup that began before it proves no absence.
    Present(Instant),
}

impl Knowledge {
    fn is_fresh(self) -> bool {
        match self {
            Self::Absent(at) => at.elapsed() < ABSENCE_AGE_MAX,
            Self::Present(at) => at.elapsed() < LOOKUP_TIME_MAX,
        }
    }
}

/// A lookup that may find nothing. It ends once.
#[must_use]
pub(crate) struct Lookup {
    began_at: Instant,
}

impl<K> Default for AbsenceCache<K> {
    fn default() -> Self {
        Self(Mutex::new(State {
            keys: HashMap::new(),
            prune_at: KEYS_BEFORE_PRUNING,
            lookups_left: LOOKUPS_AT_ONCE,
            refilled_at: Instant::now(),
        }))
    }
}

impl<K: Eq + Hash> AbsenceCache<K> {
    /// Whether a lookup within the last second found nothing, and the key has not come into being in this process
    /// since then.
    pub(crate) fn is_absent(&self, key: &K) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(state.keys.get(key), Some(known @ Knowledge::Absent(_)) if known.is_fresh())
    }

    /// Begins a lookup. `None` if too many have found nothing lately.
    pub(crate) fn begin_lookup(&self) -> Option<Lookup> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let refill = now.duration_since(state.refilled_at).as_secs_f64() * LOOKUPS_PER_SECOND;
        state.lookups_left = (state.lookups_left + refill).min(LOOKUPS_AT_ONCE);
        state.refilled_at = now;
        if state.lookups_left < 1.0 {
            return None;
        }
        state.lookups_left -= 1.0;
        Some(Lookup { began_at: now })
    }

    /// Ends a lookup that found something, or that failed: it does not count.
    pub(crate) fn release(&self, _: Lookup) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.lookups_left = (state.lookups_left + 1.0).min(LOOKUPS_AT_ONCE);
    }

    /// Ends a lookup that found nothing.
    pub(crate) fn record_absence(&self, key: K, lookup: &Lookup) {
        self.insert(key, Knowledge::Absent(lookup.began_at));
    }

    /// Notes that the key exists from now on.
    pub(crate) fn record_presence(&self, key: K) {
        self.insert(key, Knowledge::Present(Instant::now()));
    }

    fn insert(&self, key: K, known: Knowledge) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.keys.len() >= state.prune_at {
            state.keys.retain(|_, known| known.is_fresh());
            state.prune_at = KEYS_BEFORE_PRUNING.max(state.keys.len() * 2);
        }
        if let (Knowledge::Absent(began_at), Some(Knowledge::Present(since))) = (known, state.keys.get(&key))
            && began_at <= *since
        {
            return;
        }
        state.keys.insert(key, known);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, pause};

    use super::*;

    #[tokio::test]
    async fn absence_is_known_for_a_second() {
        pause();
        let cache = AbsenceCache::default();
        assert!(!cache.is_absent(&1));
        let lookup = cache.begin_lookup().expect("a lookup");
        cache.record_absence(1, &lookup);
        assert!(cache.is_absent(&1) && !cache.is_absent(&2));
        advance(ABSENCE_AGE_MAX).await;
        assert!(!cache.is_absent(&1));
    }

    #[tokio::test]
    async fn a_lookup_that_began_earlier_proves_no_absence() {
        pause();
        let cache = AbsenceCache::default();
        let early = cache.begin_lookup().expect("a lookup");
        advance(Duration::from_millis(1)).await;
        cache.record_presence(1);
        cache.record_absence(1, &early);
        assert!(!cache.is_absent(&1));

        advance(Duration::from_millis(1)).await;
        let late = cache.begin_lookup().expect("a lookup");
        cache.record_absence(1, &late);
        assert!(cache.is_absent(&1));
        cache.record_presence(1);
        assert!(!cache.is_absent(&1));
    }

    #[tokio::test]
    async fn lookups_that_find_nothing_are_limited() {
        pause();
        let cache = AbsenceCache::default();
        let mut lookups = 0;
        while let Some(lookup) = cache.begin_lookup() {
            cache.record_absence(lookups, &lookup);
            lookups += 1;
        }
        assert_eq!(lookups, 100);
        advance(Duration::from_secs(3)).await;
        for _ in 0..1_000 {
            let lookup = cache
                .begin_lookup()
                .expect("one that finds something does not count");
            cache.release(lookup);
        }
        let after_pause = std::iter::from_fn(|| cache.begin_lookup()).count();
        assert_eq!(after_pause, 3);
    }

    #[tokio::test]
    async fn the_cache_keeps_fresh_keys_only() {
        pause();
        let cache = AbsenceCache::default();
        for key in 0..50_000 {
            cache.record_presence(key);
            advance(LOOKUP_TIME_MAX / 500).await;
        }
        let kept = cache.0.lock().expect("not poisoned").keys.len();
        assert!(kept <= KEYS_BEFORE_PRUNING, "{kept}");
    }

    #[tokio::test]
    async fn a_rush_does_not_scan_all_keys_for_each() {
        let cache = AbsenceCache::default();
        let (mut scans, mut last) = (0, KEYS_BEFORE_PRUNING);
        for key in 0..50_000 {
            cache.record_presence(key);
            let prune_at = cache.0.lock().expect("not poisoned").prune_at;
            scans += u32::from(prune_at != last);
            last = prune_at;
        }
        assert!(scans < 10, "{scans}");
    }
}
