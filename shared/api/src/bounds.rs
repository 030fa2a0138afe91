//! What bounds the work and the memory of a process: a bucket of permits, and a map that forgets what is out of date.

use std::{collections::HashMap, hash::Hash};

use tokio::time::Instant;

/// How many permits there are at once, and how many more come each second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) at_once: f64,
    pub(crate) per_second: f64,
}

/// A bucket of permits. It is full at first.
#[derive(Debug)]
pub(crate) struct Bucket {
    left: f64,
    filled_at: Instant,
}

impl Bucket {
    pub(crate) fn full(rate: Rate) -> Self {
        Self {
            left: rate.at_once,
            filled_at: Instant::now(),
        }
    }

    /// Takes a permit. Returns whether there was one.
    pub(crate) fn take(&mut self, rate: Rate) -> bool {
        let now = Instant::now();
        let new = now.duration_since(self.filled_at).as_secs_f64() * rate.per_second;
        (self.left, self.filled_at) = ((self.left + new).min(rate.at_once), now);
        let is_taken = self.left >= 1.0;
        self.left -= f64::from(u8::from(is_taken));
        is_taken
    }

    /// Gives a permit back.
    pub(crate) fn give_back(&mut self, rate: Rate) {
        self.left = (self.left + 1.0).min(rate.at_once);
    }

    /// Whether a new bucket would have as many permits.
    pub(crate) fn is_full(&self, rate: Rate) -> bool {
        self.left + self.filled_at.elapsed().as_secs_f64() * rate.per_second >= rate.at_once
    }
}

/// With this many keys, a [`RecentMap`] drops those that are out of date before it takes another one. If most are still
/// fresh, it does so again when the rest has doubled, so that a rush of visitors does not scan them all for each one.
const KEYS_BEFORE_PRUNING: usize = 1_000;

/// A map of values that are soon out of date.
#[derive(Debug)]
pub(crate) struct RecentMap<K, V> {
    values: HashMap<K, V>,
    /// The number of keys from which on the next insertion drops those that are out of date.
    prune_at: usize,
}

impl<K, V> Default for RecentMap<K, V> {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            prune_at: KEYS_BEFORE_PRUNING,
        }
    }
}

impl<K: Eq + Hash, V> RecentMap<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }

    /// Returns the value of a key, which is this one if there is none yet.
    pub(crate) fn get_or_insert(
        &mut self,
        key: K,
        new: impl FnOnce() -> V,
        is_fresh: impl Fn(&V) -> bool,
    ) -> &mut V {
        self.prune(is_fresh);
        self.values.entry(key).or_insert_with(new)
    }

    pub(crate) fn insert(&mut self, key: K, value: V, is_fresh: impl Fn(&V) -> bool) {
        self.prune(is_fresh);
        self.values.insert(key, value);
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.values.remove(key);
    }

    fn prune(&mut self, is_fresh: impl Fn(&V) -> bool) {
        if self.values.len() >= self.prune_at {
            self.values.retain(|_, value| is_fresh(value));
            self.prune_at = KEYS_BEFORE_PRUNING.max(self.values.len() * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{advance, pause};

    use super::*;

    const RATE: Rate = Rate {
        at_once: 3.0,
        per_second: 2.0,
    };

    #[tokio::test]
    async fn a_bucket_fills_up_to_its_size() {
        pause();
        let mut bucket = Bucket::full(RATE);
        let takes = |bucket: &mut Bucket| (0..10).filter(|_| bucket.take(RATE)).count();
        assert_eq!(takes(&mut bucket), 3);
        bucket.give_back(RATE);
        assert_eq!(takes(&mut bucket), 1);
        advance(Duration::from_secs(1)).await;
        assert!(!bucket.is_full(RATE));
        assert_eq!(takes(&mut bucket), 2);
        advance(Duration::from_hours(1)).await;
        assert!(bucket.is_full(RATE));
        assert_eq!(takes(&mut bucket), 3);
    }

    #[test]
    fn the_map_keeps_fresh_keys_only() {
        let mut map = RecentMap::default();
        for key in 0..50_000 {
            map.insert(key, key, |kept| key - kept < 500);
        }
        assert!(map.values.len() <= KEYS_BEFORE_PRUNING, "{}", map.values.len());
    }

    #[test]
    fn a_rush_does_not_scan_all_keys_for_each() {
        let mut map = RecentMap::default();
        let (mut scans, mut last) = (0, KEYS_BEFORE_PRUNING);
        for key in 0..50_000 {
            map.insert(key, (), |()| true);
            scans += u32::from(map.prune_at != last);
            last = map.prune_at;
        }
        assert!(scans < 10, "{scans}");
    }
}
