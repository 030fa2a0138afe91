//! Remembers for a second what does not exist, and bounds how often a process asks the backup for what may not exist.
//!
//! A client can invent names. The same name is looked up once a second. For names that differ the cache is no help, so
//! there is a [limit](UnknownIds::begin_lookup) for lookups that find nothing. A lookup that finds something takes
//! nothing from it. What the line has is found without a lookup, so a flood of invented names keeps no visitor out.

use std::{
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::bounds::{Bucket, Rate, RecentMap};

/// How long the answer stays that something does not exist. If another process creates it, this process knows it
/// after this time.
const ABSENCE_AGE_MAX: Duration = Duration::from_secs(1);
/// How long a lookup may take: the mark of a present key outlasts lookups that began before it.
const LOOKUP_TIME_MAX: Duration = Duration::from_secs(10);
/// How many lookups that find nothing a process may do. A function of Lambda has hundreds of processes, which serve ten
/// requests per second each.
const LOOKUPS: Rate = Rate {
    at_once: 100.0,
    per_second: 1.0,
};

/// What a process knows to be absent.
pub(crate) struct UnknownIds<K>(Mutex<Lookups<K>>);

struct Lookups<K> {
    keys: RecentMap<K, Knowledge>,
    lookups: Bucket,
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

impl<K> Default for UnknownIds<K> {
    fn default() -> Self {
        Self(Mutex::new(Lookups {
            keys: RecentMap::default(),
            lookups: Bucket::full(LOOKUPS),
        }))
    }
}

impl<K: Eq + Hash> UnknownIds<K> {
    /// Whether a lookup within the last second found nothing, and the key has not come into being in this process
    /// since then.
    pub(crate) fn is_absent(&self, key: &K) -> bool {
        matches!(self.state().keys.get(key), Some(known @ Knowledge::Absent(_)) if known.is_fresh())
    }

    /// Begins a lookup. `None` if too many have found nothing lately.
    pub(crate) fn begin_lookup(&self) -> Option<Lookup> {
        let began_at = Instant::now();
        self.state().lookups.take(LOOKUPS).then_some(Lookup { began_at })
    }

    /// Ends a lookup that found something, or that failed: it does not count.
    pub(crate) fn release(&self, _: Lookup) {
        self.state().lookups.give_back(LOOKUPS);
    }

    /// Ends a lookup that found nothing.
    pub(crate) fn record_absence(&self, key: K, lookup: &Lookup) {
        let mut state = self.state();
        if matches!(state.keys.get(&key), Some(Knowledge::Present(since)) if lookup.began_at <= *since) {
            return;
        }
        let absent = Knowledge::Absent(lookup.began_at);
        state.keys.insert(key, absent, |known| known.is_fresh());
    }

    /// Notes that the key exists from now on.
    pub(crate) fn record_presence(&self, key: K) {
        let present = Knowledge::Present(Instant::now());
        self.state().keys.insert(key, present, |known| known.is_fresh());
    }

    fn state(&self) -> MutexGuard<'_, Lookups<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, pause};

    use super::*;

    #[tokio::test]
    async fn absence_is_known_for_a_second() {
        pause();
        let cache = UnknownIds::default();
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
        let cache = UnknownIds::default();
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
        let cache = UnknownIds::default();
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
}
