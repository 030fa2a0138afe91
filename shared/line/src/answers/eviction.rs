//! Whether the line's server deletes keys when its memory is full.

use serde::Serialize;

/// The eviction policy of the line's server. Any policy but [`NoEviction`](Self::NoEviction) may
/// delete a whole set of entries, so the line would lose acknowledged places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvictionPolicy {
    /// The server deletes nothing. It refuses writes that need more memory.
    NoEviction,
    /// The server deletes keys by this policy.
    Evicts(String),
    /// The server does not say, or the line's user may not ask.
    Unknown,
}

impl EvictionPolicy {
    /// The policy as Redis names it, or `unknown`.
    pub fn name(&self) -> &str {
        match self {
            Self::NoEviction => "noeviction",
            Self::Evicts(policy) => policy,
            Self::Unknown => "unknown",
        }
    }
}

impl Serialize for EvictionPolicy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
