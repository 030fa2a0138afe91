//! The commands of operators with their arguments.

use serde_json::{Map, Value};
use vestibule_backup::SettingsRevision;
use vestibule_domain::{
    id::{EntryId, QueueId, Source, Visitor},
    lane::Lane,
    record::EntryRecord,
    settings::FinishReason,
};

use super::{
    Problem, defaults_order::DefaultsOrder, entries_order::EntriesOrder, plan_order::PlanOrder,
    report_order::ReportOrder,
};

/// One command with its arguments. [`OPERATIONS`](super::OPERATIONS) says what each one does.
#[derive(Debug)]
pub(super) enum Command {
    Create(QueueId, Map<String, Value>),
    Update(UpdateOrder),
    /// The names are as given: one that is not a queue id fails alone.
    CreateMany(Vec<Value>, Map<String, Value>),
    Defaults(DefaultsOrder),
    /// With `true`, the command also describes every setting and every command.
    Describe(QueueId, bool),
    List(ListOrder),
    Open(QueueId),
    Pause(QueueId),
    Resume(QueueId),
    Drain(QueueId),
    Close(QueueId),
    /// The last message is as given.
    Finish(QueueId, FinishReason, Option<Value>),
    /// The confirmation counts only if the queue has not been deleted yet.
    Delete(QueueId, Confirmation),
    Promote(QueueId, PromoteSelector),
    Lane(QueueId, EntrySelector, Lane),
    Evict(QueueId, EvictSelector),
    /// The number is how many sources to show.
    Sources(QueueId, u32),
    /// The number is for how many seconds.
    Block(QueueId, BlockSelector, Option<u32>),
    Unblock(QueueId, BlockSelector),
    Inspect(QueueId, EntrySelector),
    Stats(QueueId),
    Report(QueueId, ReportOrder),
    Entries(QueueId, EntriesOrder),
    /// The number is the first shard to check.
    Check(QueueId, u8),
    Plan(PlanOrder),
    Preflight,
    Restore(QueueId),
    Reset(QueueId),
    Rotate {
        /// Whether the present keys have leaked, so that they are void at once.
        leaked: bool,
    },
}

/// What to change of the settings of a queue.
#[derive(Debug)]
pub(super) struct UpdateOrder {
    pub(super) queue: QueueId,
    /// The settings to change, as given.
    pub(super) settings: Map<String, Value>,
    /// The settings that the operator has seen. None of those to change may have changed since.
    pub(super) revision: Option<SettingsRevision>,
    /// It counts only if the change needs it.
    pub(super) confirmation: Confirmation,
}

/// Which queues to list.
#[derive(Debug)]
pub(super) struct ListOrder {
    /// What their ids begin with.
    pub(super) prefix: String,
    /// The queue after which the list goes on.
    pub(super) after: Option<QueueId>,
}

/// Selects one entry.
#[derive(Debug)]
pub(super) enum EntrySelector {
    /// By the entry's token.
    Token(EntryId),
    /// By the visitor, from whose id the entry's token is derived. Without a kind, the visitor is a known one, and may also be
    /// the anonymous one of the same id.
    Visitor(Visitor, Option<Visitor>),
}

/// Selects the entries to promote.
#[derive(Debug)]
pub(super) enum PromoteSelector {
    /// At most this many from the heads of the lanes.
    Count(u64),
    /// One entry, wherever in line it is, and whether to go beyond the pace.
    One(EntrySelector, bool),
}

/// Selects the entries to evict.
#[derive(Debug)]
pub(super) enum EvictSelector {
    /// One entry.
    One(EntrySelector),
    /// All entries that match.
    Many(EntryFilter),
}

/// Selects many entries.
#[derive(Debug)]
pub(super) enum EntryFilter {
    /// These entries.
    Listed(Vec<EntryId>),
    /// The entries of a source that joined within a time, in Unix milliseconds, both ends included.
    Joined {
        /// `None` for any source.
        source: Option<Source>,
        from_ms: u64,
        to_ms: u64,
        /// Whether to select also the visitors who have been present, and those who were let in.
        all: bool,
    },
}

impl EntryFilter {
    /// Whether the entries of visitors who have checked in are not selected.
    pub(super) fn spares_checked_in(&self) -> bool {
        matches!(self, Self::Joined { all: false, .. })
    }

    /// Whether the record is of the source and the time.
    pub(super) fn matches(&self, record: &EntryRecord) -> bool {
        match self {
            Self::Listed(tokens) => tokens.contains(&record.id),
            Self::Joined {
                source,
                from_ms,
                to_ms,
                ..
            } => {
                let joined_at_ms = record.joined_at_ms();
                source.is_none_or(|source| record.source == Some(source))
                    && joined_at_ms.is_some_and(|at_ms| (*from_ms..=*to_ms).contains(&at_ms))
            }
        }
    }
}

/// Selects whom to block.
#[derive(Debug)]
pub(super) enum BlockSelector {
    /// One entry.
    Entry(EntrySelector),
    /// All visitors of a source.
    Source(Source),
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

impl Confirmation {
    /// Succeeds if the values are right for a queue of this epoch.
    ///
    /// # Errors
    /// [`Problem`] that says what to add to the command `op`.
    pub(super) fn verify(&self, op: &str, epoch: u32) -> Result<(), Problem> {
        let wrong = if self.confirm.as_deref() != Some(self.queue.as_str()) {
            "confirm"
        } else if self.epoch != Some(epoch.into()) {
            "epoch"
        } else {
            return Ok(());
        };
        Err(Problem::confirmation_needed(
            op,
            wrong,
            self.queue.as_str(),
            epoch,
        ))
    }
}
