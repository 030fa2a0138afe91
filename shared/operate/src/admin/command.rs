//! The commands of operators with their arguments.

use serde_json::{Map, Value};
use vestibule_domain::{
    id::{EntryId, QueueId, Visitor},
    plan::Demand,
};

/// One command with its arguments. [`OPERATIONS`](super::OPERATIONS) says what each one does.
#[derive(Debug)]
pub(super) enum Command {
    Create(QueueId, Map<String, Value>),
    Update(QueueId, Map<String, Value>),
    /// With `true`, the command also describes every setting and every command.
    Describe(QueueId, bool),
    List,
    Open(QueueId),
    Pause(QueueId),
    Resume(QueueId),
    Drain(QueueId),
    Close(QueueId),
    /// The number is the most entries to promote.
    Promote(QueueId, u64),
    Evict(QueueId, EntrySelector),
    Inspect(QueueId, EntrySelector),
    Stats(QueueId),
    /// The number is the first shard to check.
    Check(QueueId, u8),
    Plan(Demand),
    Restore(QueueId),
    Reset(QueueId),
    Rotate,
}

/// Selects one entry.
#[derive(Debug)]
pub(super) enum EntrySelector {
    /// By the entry's token.
    Token(EntryId),
    /// By the visitor, from whose id the entry's token is derived.
    Visitor(Visitor),
}

/// The values that a destructive command must repeat, so that the console's test button does not
/// run such a command twice by accident. Parsing does not verify the values, because the right ones
/// are known only once the queue was read.
#[derive(Debug)]
pub(super) struct Confirmation {
    /// The queue of the command.
    pub(super) queue: QueueId,
    /// The queue's id, repeated.
    pub(super) confirm: Option<String>,
    /// The queue's current epoch.
    pub(super) epoch: Option<u64>,
}
