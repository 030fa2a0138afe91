//! Every key of the line, in one place.
//!
//! The part in braces is a [hash tag](https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags):
//! a cluster hashes that part alone, so all keys of a queue live in one slot and one script may touch them together. A
//! queue id cannot hold a brace, so nobody can name their way into another queue's slot.

use vestibule_domain::id::QueueId;

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

    /// The key of one of: `waiting`, `ready`, `active` (sorted sets), `ended`, `sought`, `config`, `state`, `load`, `lost`
    /// (hashes), `journal`, `aside` (streams), `changes` (channel).
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// A set that one restore, named by `restorer`, is preparing.
    pub(super) fn staged(&self, restorer: &str, name: &str) -> String {
        format!("{}restoring:{restorer}:{name}", self.prefix)
    }
}

/// The polls that a deployment holds, of whatever queues: a sorted set of entries by the end of their leases. It is of no
/// queue, so it lies in a slot of its own.
pub(super) fn holds(deployment: &str) -> String {
    format!("vestibule:holds:{deployment}")
}
