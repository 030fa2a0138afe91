//! The key ring: the keys that sign passes, when each of them begins to sign, and when it retires.
//!
//! A rotation refuses no pass. The new key is published first. Once every cache has it, it signs. The
//! old key verifies passes until the last one that it signed has ended:
//! `docs/adr/0026-rotation-of-the-signing-key.md`. A leaked key is void at once, with all of its passes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::clock::CLOCK_DIFFERENCE_MAX_MS;

/// A private key, and when it is used.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingKey {
    /// The private key as PEM, or a random text from which it is derived.
    pub key: String,
    /// From when on the key signs passes, in Unix milliseconds. Before, it is only published.
    #[serde(default)]
    pub signs_from_ms: u64,
    /// From when on no pass that the key signed is accepted, in Unix milliseconds. `None` for the
    /// newest key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retires_at_ms: Option<u64>,
}

impl RingKey {
    /// Whether a pass of this key is accepted at this time, in Unix milliseconds.
    pub fn is_published(&self, now_ms: u64) -> bool {
        self.retires_at_ms
            .is_none_or(|retires_at_ms| now_ms < retires_at_ms)
    }
}

impl fmt::Debug for RingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingKey")
            .field("signs_from_ms", &self.signs_from_ms)
            .field("retires_at_ms", &self.retires_at_ms)
            .finish_non_exhaustive()
    }
}

/// How many leaked keys a ring remembers. Each public document lists their ids.
const VOID_KEYS_MAX: usize = 8;

/// All keys of a deployment, the oldest first. There is at least one, and each one begins to sign
/// later than the one before it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRing {
    keys: Vec<RingKey>,
    /// Keys that leaked, the oldest first: as PEM or as the text of which they are derived.
    void: Vec<String>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing")
            .field("keys", &self.keys)
            .field("void", &self.void.len())
            .finish()
    }
}

/// Why a text is no key ring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyRingError {
    /// The text begins like a ring and is none. The reason never shows the text.
    #[error(
        "it begins with a brace and is not a JSON object with a list of keys (line {line}, column {column})"
    )]
    Malformed {
        /// The line of the text at which reading stopped, from 1.
        line: usize,
        /// The column of that line, from 1.
        column: usize,
    },
    /// The list is empty, or its keys are not in the order in which they sign.
    #[error("its list of keys is empty or not in the order of signs_from_ms")]
    NotInOrder,
}

/// How long the parties to a rotation may remember what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationTimes {
    /// How old the keys in a process or a cache may be, in seconds.
    pub key_cache_seconds: u32,
    /// The longest time for which a pass is accepted after it was issued, in seconds.
    pub pass_seconds_max: u32,
}

/// A new key is not signing yet, so another rotation would skip it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the new key of the last rotation signs from {signs_from_ms} (Unix milliseconds) on")]
pub struct RotationUnderWay {
    /// When the new key begins to sign, in Unix milliseconds.
    pub signs_from_ms: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRing {
    keys: Vec<RingKey>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    void: Vec<String>,
}

impl KeyRing {
    /// A ring with one key, which has signed from the beginning.
    pub fn single(key: impl Into<String>) -> Self {
        Self {
            keys: vec![RingKey {
                key: key.into(),
                signs_from_ms: 0,
                retires_at_ms: None,
            }],
            void: Vec::new(),
        }
    }

    /// Parses a stored ring: a JSON object with the list `keys`, or the text of a single key.
    ///
    /// # Errors
    /// [`KeyRingError`] if the text begins with a brace and is no ring.
    pub fn parse(text: &str) -> Result<Self, KeyRingError> {
        let text = text.trim();
        if !text.starts_with('{') {
            return Ok(Self::single(text));
        }
        let stored: StoredRing = serde_json::from_str(text).map_err(|error| KeyRingError::Malformed {
            line: error.line(),
            column: error.column(),
        })?;
        let is_in_order = stored
            .keys
            .is_sorted_by(|one, next| one.signs_from_ms < next.signs_from_ms);
        if stored.keys.is_empty() || !is_in_order {
            return Err(KeyRingError::NotInOrder);
        }
        Ok(Self {
            keys: stored.keys,
            void: stored.void,
        })
    }

    /// The ring as JSON, for [`parse`](Self::parse). It contains the private keys.
    ///
    /// # Panics
    /// Never: numbers and texts always become JSON.
    pub fn to_json(&self) -> String {
        let stored = StoredRing {
            keys: self.keys.clone(),
            void: self.void.clone(),
        };
        serde_json::to_string(&stored).expect("numbers and texts become JSON")
    }

    /// The keys, the oldest first.
    pub fn keys(&self) -> &[RingKey] {
        &self.keys
    }

    /// The keys that leaked, as far as the ring remembers them. No pass of theirs is valid.
    pub fn void_keys(&self) -> &[String] {
        &self.void
    }

    /// Until when a key may sign, in Unix milliseconds: a process that reads the ring late signs with it for the cache time
    /// after the next key begins to. `None` for the newest key.
    pub fn signs_until_ms(&self, index: usize, key_cache_seconds: u32) -> Option<u64> {
        let next = self.keys.get(index + 1)?;
        Some(next.signs_from_ms + u64::from(key_cache_seconds) * 1_000 + CLOCK_DIFFERENCE_MAX_MS)
    }

    /// Replaces all keys by a new one, because a reader of the ring may have any of them. The new key signs at once, and the
    /// others are void.
    #[must_use]
    pub fn replace_leaked(&self, key: String, now_ms: u64) -> Self {
        let leaked = self.keys.iter().map(|leaked| leaked.key.clone());
        let mut void: Vec<_> = self.void.iter().cloned().chain(leaked).collect();
        void.drain(..void.len().saturating_sub(VOID_KEYS_MAX));
        Self {
            keys: vec![RingKey {
                key,
                signs_from_ms: now_ms,
                retires_at_ms: None,
            }],
            void,
        }
    }

    /// Adds a key, sets when the older ones retire, and drops those that have retired.
    ///
    /// The new key signs when no process and no cache is without it any more: a process reads it
    /// within the cache time, and a cache that got the keys from that process just before keeps them
    /// for the same time again. A process that reads the ring late signs with the old key for as
    /// long as it takes to read the ring.
    ///
    /// # Errors
    /// [`RotationUnderWay`] while the newest key does not sign yet.
    pub fn rotate(&self, key: String, now_ms: u64, times: RotationTimes) -> Result<Self, RotationUnderWay> {
        let cache_ms = u64::from(times.key_cache_seconds) * 1_000;
        let signs_from_ms = now_ms + 2 * cache_ms + CLOCK_DIFFERENCE_MAX_MS;
        let last_use_ms = signs_from_ms + cache_ms + CLOCK_DIFFERENCE_MAX_MS;
        let retires_at_ms = last_use_ms + u64::from(times.pass_seconds_max) * 1_000;
        let newest_signs_ms = self.keys.last().map_or(0, |newest| newest.signs_from_ms);
        if newest_signs_ms > now_ms {
            return Err(RotationUnderWay {
                signs_from_ms: newest_signs_ms,
            });
        }
        let kept = self.keys.iter().filter(|old| old.is_published(now_ms));
        let mut keys: Vec<_> = kept
            .map(|old| RingKey {
                retires_at_ms: old.retires_at_ms.or(Some(retires_at_ms)),
                ..old.clone()
            })
            .collect();
        keys.push(RingKey {
            key,
            signs_from_ms,
            retires_at_ms: None,
        });
        Ok(Self {
            keys,
            void: self.void.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: RotationTimes = RotationTimes {
        key_cache_seconds: 300,
        pass_seconds_max: 3_600,
    };
    const NOW_MS: u64 = 1_000_000_000_000;

    #[test]
    fn the_new_key_signs_when_every_cache_has_it() {
        let ring = KeyRing::single("one")
            .rotate("two".to_owned(), NOW_MS, TIMES)
            .expect("rotated");
        let [one, two] = ring.keys() else {
            panic!("{ring:?}");
        };
        assert_eq!((one.signs_from_ms, two.signs_from_ms), (0, NOW_MS + 605_000));
        // The last pass of the old key may be issued 305 s after the new key begins to sign.
        assert_eq!(one.retires_at_ms, Some(NOW_MS + 605_000 + 305_000 + 3_600_000));
        assert_eq!(two.retires_at_ms, None);
    }

    #[test]
    fn one_rotation_follows_another_only_once_the_new_key_signs() {
        let ring = KeyRing::single("one")
            .rotate("two".to_owned(), NOW_MS, TIMES)
            .expect("rotated");
        let signs_from_ms = NOW_MS + 605_000;
        let early = ring.rotate("three".to_owned(), signs_from_ms - 1, TIMES);
        assert_eq!(early, Err(RotationUnderWay { signs_from_ms }));
        let next = ring
            .rotate("three".to_owned(), signs_from_ms, TIMES)
            .expect("rotated");
        assert_eq!(next.keys().len(), 3, "the oldest key still verifies");
        assert_eq!(next.keys()[0], ring.keys()[0], "its end stays");
        let late = ring
            .rotate("three".to_owned(), NOW_MS + 10_000_000, TIMES)
            .expect("rotated");
        let kept: Vec<_> = late.keys().iter().map(|key| key.key.as_str()).collect();
        assert_eq!(kept, ["two", "three"], "a retired key is dropped");
    }

    #[test]
    fn a_leak_voids_every_key_of_the_ring() {
        let ring = KeyRing::single("one")
            .rotate("two".to_owned(), NOW_MS, TIMES)
            .expect("rotated");
        let replaced = ring.replace_leaked("three".to_owned(), NOW_MS + 1);
        let [three] = replaced.keys() else {
            panic!("{replaced:?}");
        };
        assert_eq!((three.signs_from_ms, three.retires_at_ms), (NOW_MS + 1, None));
        assert_eq!(
            replaced.void_keys(),
            ["one", "two"],
            "also the one that did not sign yet"
        );
        assert_eq!(KeyRing::parse(&replaced.to_json()), Ok(replaced.clone()));
        assert!(!format!("{replaced:?}").contains("two"));
        let rotated = replaced.rotate("four".to_owned(), NOW_MS + 2, TIMES);
        assert_eq!(rotated.expect("rotated").void_keys(), replaced.void_keys());
        let many = (0..20).fold(ring, |ring, nth| {
            ring.replace_leaked(nth.to_string(), NOW_MS + nth)
        });
        assert_eq!(many.void_keys().len(), VOID_KEYS_MAX);
        assert_eq!(
            many.void_keys()[VOID_KEYS_MAX - 1],
            "18",
            "the latest are remembered"
        );
    }

    #[test]
    fn a_key_signs_for_the_cache_time_after_the_next_one_begins() {
        let ring = KeyRing::single("one")
            .rotate("two".to_owned(), NOW_MS, TIMES)
            .expect("rotated");
        assert_eq!(ring.signs_until_ms(0, 300), Some(NOW_MS + 605_000 + 305_000));
        assert_eq!(ring.signs_until_ms(1, 300), None);
    }

    #[test]
    fn a_ring_reads_what_it_writes() {
        let ring = KeyRing::single("one")
            .rotate("two".to_owned(), NOW_MS, TIMES)
            .expect("rotated");
        assert_eq!(KeyRing::parse(&ring.to_json()), Ok(ring));
        assert_eq!(KeyRing::parse(" one\n"), Ok(KeyRing::single("one")));
    }

    #[test]
    fn a_wrong_ring_is_refused_without_its_text() {
        for text in ["{", "{\"keys\": [{\"secret\": \"abc\"}]}", "{\"key\": []}"] {
            let error = KeyRing::parse(text).expect_err(text);
            assert!(matches!(error, KeyRingError::Malformed { .. }), "{error}");
            assert!(!error.to_string().contains("abc"), "{error}");
        }
        for text in [
            "{\"keys\": []}",
            "{\"keys\": [{\"key\": \"a\", \"signs_from_ms\": 5}, {\"key\": \"b\", \"signs_from_ms\": 5}]}",
        ] {
            assert_eq!(KeyRing::parse(text), Err(KeyRingError::NotInOrder), "{text}");
        }
        assert!(!format!("{:?}", KeyRing::single("abc")).contains("abc"));
    }
}
