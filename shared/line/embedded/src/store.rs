//! The keys and what they hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{sorted_set::SortedSet, stream::Stream};

pub(crate) type Key = Vec<u8>;
/// Fields and values. The order of Redis depends on the size of the hash, so nothing may depend on it.
pub(crate) type Hash = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a key holds.
#[derive(Debug)]
pub(crate) enum Stored {
    Text(Vec<u8>),
    Hash(Hash),
    SortedSet(SortedSet),
    Stream(Stream),
}

/// A type of values that a command works on.
pub(crate) trait Kind: Default {
    fn wrap(self) -> Stored;
    fn read(stored: &Stored) -> Option<&Self>;
    fn change(stored: &mut Stored) -> Option<&mut Self>;
}

macro_rules! kind {
    ($kind:ty, $variant:ident) => {
        impl Kind for $kind {
            fn wrap(self) -> Stored {
                Stored::$variant(self)
            }
            fn read(stored: &Stored) -> Option<&Self> {
                match stored {
                    Stored::$variant(value) => Some(value),
                    _ => None,
                }
            }
            fn change(stored: &mut Stored) -> Option<&mut Self> {
                match stored {
                    Stored::$variant(value) => Some(value),
                    _ => None,
                }
            }
        }
    };
}

kind!(Vec<u8>, Text);
kind!(Hash, Hash);
kind!(SortedSet, SortedSet);
kind!(Stream, Stream);

/// All keys, the times at which some of them end, and the messages that were published and not yet delivered.
#[derive(Debug, Default)]
pub(crate) struct Store {
    keys: HashMap<Key, Stored>,
    ends: HashMap<Key, u64>,
    by_end: BTreeSet<(u64, Key)>,
    /// The time of the running command or script, in Unix microseconds. It stands still within a script.
    pub(crate) now_us: u64,
    pub(crate) published: Vec<(Key, Vec<u8>)>,
}

impl Store {
    /// Sets the time, and removes the keys that have ended by then.
    pub(crate) fn set_time(&mut self, now_us: u64) {
        self.now_us = now_us;
        while let Some((end_ms, key)) = self.by_end.pop_first() {
            if end_ms > self.now_ms() {
                self.by_end.insert((end_ms, key));
                return;
            }
            self.ends.remove(&key);
            self.keys.remove(&key);
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_us / 1_000
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// The text of a refusal if the key holds another type.
    pub(crate) fn read<T: Kind>(&self, key: &[u8]) -> Result<Option<&T>, String> {
        let stored = self.keys.get(key);
        stored
            .map(|stored| T::read(stored).ok_or_else(wrong_type))
            .transpose()
    }

    /// Changes the value of a key, which is made if there is none. A hash or sorted set that is empty then is removed.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn change<T: Kind, R>(
        &mut self,
        key: &[u8],
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<R, String> {
        if !self.keys.contains_key(key) {
            self.keys.insert(key.to_vec(), T::default().wrap());
        }
        let stored = self.keys.get_mut(key).ok_or_else(wrong_type)?;
        let result = T::change(stored).map(change).ok_or_else(wrong_type);
        let is_empty = match stored {
            Stored::Hash(hash) => hash.is_empty(),
            Stored::SortedSet(set) => set.is_empty(),
            Stored::Text(_) | Stored::Stream(_) => false,
        };
        if is_empty {
            self.remove(key);
        }
        result
    }

    /// Writes a text. It has no end.
    pub(crate) fn set(&mut self, key: &[u8], text: &[u8]) {
        self.persist(key);
        self.keys.insert(key.to_vec(), Stored::Text(text.to_vec()));
    }

    /// Removes a key. Returns whether it was there.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        self.persist(key);
        self.keys.remove(key).is_some()
    }

    /// Moves a key, with its end, onto another one.
    ///
    /// # Errors
    /// The text of a refusal if there is no such key.
    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), String> {
        let end_ms = self.ends.get(from).copied();
        let stored = self.keys.remove(from).ok_or("ERR no such key")?;
        self.persist(from);
        self.persist(to);
        self.keys.insert(to.to_vec(), stored);
        if let Some(end_ms) = end_ms {
            self.end_at(to, end_ms);
        }
        Ok(())
    }

    /// Sets the end of a key, in Unix milliseconds. Returns whether the key is there.
    pub(crate) fn end_at(&mut self, key: &[u8], end_ms: u64) -> bool {
        if !self.contains(key) {
            return false;
        }
        self.persist(key);
        self.ends.insert(key.to_vec(), end_ms);
        self.by_end.insert((end_ms, key.to_vec()));
        true
    }

    /// Removes the end of a key. Returns whether it had one.
    pub(crate) fn persist(&mut self, key: &[u8]) -> bool {
        let Some((key, end_ms)) = self.ends.remove_entry(key) else {
            return false;
        };
        self.by_end.remove(&(end_ms, key))
    }
}

impl Store {
    /// All keys in their order, what they hold, and when they end.
    pub(crate) fn sorted_keys(&self) -> Vec<(&Key, &Stored, Option<u64>)> {
        let keys = self.keys.iter();
        let mut keys: Vec<_> = keys
            .map(|(key, stored)| (key, stored, self.ends.get(key).copied()))
            .collect();
        keys.sort_unstable_by_key(|(key, ..)| *key);
        keys
    }
}

fn wrong_type() -> String {
    "WRONGTYPE Operation against a key holding the wrong kind of value".to_owned()
}
