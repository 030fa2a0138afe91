//! Builds the name of every Redis key that the line uses.
//!
//! The part in braces is a [hash
//! tag](https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags). A
//! cluster hashes that part alone. So all keys of a queue are in one slot, and one script may use
//! them together. A queue id cannot contain a brace, so no queue id leads into the slot of another
//! queue.

use vestibule_domain::id::{EntryId, QueueId};

/// The keys of one queue.
pub(super) struct Keys<'a> {
    pub(super) queue: &'a QueueId,
    prefix: String,
}

impl<'a> Keys<'a> {
    pub(super) fn new(queue: &'a QueueId) -> Self {
        Self {
            queue,
            prefix: format!("vestibule:{{{queue}}}:"),
        }
    }

    /// What every key of the queue begins with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The key of one part of the queue.
    ///
    /// | type | names |
    /// | --- | --- |
    /// | sorted set | `waiting`, `ready`, `active`, `held`, `present`, `seen`, `closing`, `settled`, `deferred` |
    /// | hash | `visits`, `ended`, `journaled`, `config`, `state`, `lost`, `tombstone`, `tally` |
    /// | string | `view`, and [`calls`](Self::calls_key) of each entry |
    /// | stream | `journal`, `dead_letters` |
    /// | channel | `changes` |
    ///
    /// | hash or set | holds for an entry |
    /// | --- | --- |
    /// | `waiting` | its place |
    /// | `present` | its place, if it is called and checked in lately |
    /// | `seen` | its last check-in by the presence clock, negative if it is not present any more |
    /// | `closing` | the line time, in Unix milliseconds, at which its visitor closed the page |
    /// | `ready` | its claim deadline by the claim clock, in Unix milliseconds |
    /// | `active` | the end of its session, in Unix milliseconds |
    /// | `held` | when its slot becomes free, in Unix milliseconds, if its visitor left or was evicted |
    /// | `visits` | `visit step` if it is ready, active, held or waiting again, with when its session began if it is active; or its place alone if it has its first turn |
    /// | `ended` | its end: see `end.rs` |
    /// | `settled` | the line time, in Unix milliseconds, since which the backup has the end in `ended` |
    /// | `journaled`, `deferred` | its single changes in the journal, by `entry kind`: see `include/journal.lua` |
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The key that counts the calls of one entry to protected APIs. It expires within the period of the
    /// limit.
    pub(super) fn calls_key(&self, id: EntryId) -> String {
        format!("{}calls:{}", self.prefix, id.to_member())
    }

    /// The key of a sorted set or hash that a restore prepares. `restorer` is unique to the
    /// restore, so two restores never share a key.
    pub(super) fn staged_key(&self, restorer: &str, name: &str) -> String {
        format!("{}restoring:{restorer}:{name}", self.prefix)
    }
}

/// The key of the sorted set of all held polls of a deployment. Its members are entries of any
/// queue, and their scores are the ends of their leases. The set belongs to no queue, so it has a
/// slot of its own.
pub(super) fn holds_key(deployment: &str) -> String {
    format!("vestibule:holds:{deployment}")
}

/// A key that never exists. Removing it tests whether a server accepts writes.
pub(crate) const NEVER_WRITTEN_KEY: &str = "vestibule:never-written";
