//! The entries: the service that owns the line and the backup together.
//!
//! | module | what it does |
//! | --- | --- |
//! | `enter` | puts a visitor in line, and writes the place to the backup |
//! | `poll` | checks in a visitor who asks, and repairs what line and backup tell of the entry |
//! | `visit` | claims, extends and ends a visit |
//! | `validate` | tells the protected service whether a visitor may act |
//! | `missing` | finds out what became of an entry that the line does not have |
//! | `token_lookup` | bounds what requests with invented tokens cost |
//! | `view` | shows an entry to its visitor |
//! | `fallback_ticks` | runs the ticks of a promoter that is down |

pub(crate) mod enter;
mod fallback_ticks;
mod missing;
mod poll;
mod token_lookup;
mod token_records;
mod validate;
pub(crate) mod view;
mod visit;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::time::{Instant, timeout_at};
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::{
    change::Change,
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    lane::LaneProgress,
    load::LoadReport,
    record::EntryRecord,
};
use vestibule_engine::{
    entry_context::EntryContext,
    write_through::{WriteOutcome, write_through},
};
use vestibule_line::{Line, LineError};

use self::token_records::TokenRecords;
use crate::{
    long_poll::entry_notifier::EntryNotifier,
    problem::Problem,
    queue::{QueueCache, QueueSnapshot, unknown_ids::UnknownIds},
};

/// The right to tick a queue in this process. It contains the time of the last tick.
type TickLock = Arc<tokio::sync::Mutex<Option<Instant>>>;

/// The entries of all queues, as line and backup have them together.
pub(crate) struct Entries {
    line: Line,
    backup: Arc<dyn Backup>,
    queues: Arc<QueueCache>,
    /// Wakes the polls that this process holds for an entry that changes.
    notifier: Arc<EntryNotifier>,
    /// The tokens of no entry, for requests that present nothing but a token.
    unknown_tokens: UnknownIds<(QueueId, EntryId)>,
    /// What was read lately for requests that present nothing but a token.
    token_records: TokenRecords,
    /// The request that ticks a queue while the promoter is down holds the queue's lock.
    tick_locks: Mutex<HashMap<QueueId, TickLock>>,
}

/// One entry of a queue, as a request reads and changes it.
#[derive(Clone, Copy)]
pub(crate) struct EntryHandle<'a> {
    entries: &'a Entries,
    line: &'a Line,
    snapshot: &'a QueueSnapshot,
    id: EntryId,
}

/// An entry that is live by line and backup together.
pub(crate) struct LiveEntry {
    pub(crate) status: EntryStatus,
    /// How far the lane of a waiting entry has moved, read after its position; `None` if it is not
    /// known. The client then polls the entry.
    pub(crate) lane: Option<LaneProgress>,
    /// The record of the entry, if the backup returned one.
    pub(crate) record: Option<EntryRecord>,
    /// Whether the backup has the change; `None` if the request changed nothing.
    pub(crate) durable: Option<bool>,
}

impl LiveEntry {
    /// An entry of whose lane nothing is known.
    fn new(status: EntryStatus, record: Option<EntryRecord>, durable: Option<bool>) -> Self {
        Self {
            status,
            lane: None,
            record,
            durable,
        }
    }

    /// When the session of an active entry ends, in Unix milliseconds.
    pub(crate) fn session_end_ms(&self) -> Result<u64, Problem> {
        match self.status {
            EntryStatus::Active { session_end_ms, .. } => Ok(session_end_ms),
            _ => Err(Problem::internal(
                "the line returned an entry as active that has another state",
            )),
        }
    }
}

/// Why a query about an entry has no result.
pub(crate) enum QueryError {
    /// The line does not answer.
    LineUnavailable(String),
    /// The request fails with this problem.
    Problem(Problem),
}

impl From<Problem> for QueryError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// For a request that cannot be answered without the line.
impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::LineUnavailable(cause) => Self::line_unavailable(cause),
            QueryError::Problem(problem) => problem,
        }
    }
}

impl Entries {
    pub(crate) fn new(
        line: Line,
        backup: Arc<dyn Backup>,
        queues: Arc<QueueCache>,
        notifier: Arc<EntryNotifier>,
    ) -> Self {
        Self {
            line,
            backup,
            queues,
            notifier,
            unknown_tokens: UnknownIds::default(),
            token_records: TokenRecords::default(),
            tick_locks: Mutex::default(),
        }
    }

    /// An entry of a queue.
    pub(crate) fn entry<'a>(&'a self, snapshot: &'a QueueSnapshot, id: EntryId) -> EntryHandle<'a> {
        EntryHandle {
            entries: self,
            line: &self.line,
            snapshot,
            id,
        }
    }

    /// Stores the load that the protected service reports.
    pub(crate) async fn record_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), Problem> {
        match self.line.record_load(queue, report).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.line_problem(queue, error).await),
        }
    }

    /// Reads the record of an entry. If it does not come by the deadline, the backup counts as unavailable for this reason.
    pub(crate) async fn read_record_before(
        &self,
        deadline: Instant,
        partition: &EntryPartition,
        id: EntryId,
        reason_late: &str,
    ) -> Result<Option<EntryRecord>, BackupError> {
        let read = timeout_at(deadline, self.backup.read_entry(partition, id)).await;
        read.unwrap_or_else(|_| Err(BackupError::Unavailable(reason_late.to_owned())))
    }

    /// Converts an error of the line into the problem that the client gets. If the line does not
    /// know the queue, this drops the cached snapshot and reads the queue again to find out why.
    async fn line_problem(&self, queue: &QueueId, error: LineError) -> Problem {
        match error {
            LineError::QueueNotFound => {
                self.queues.invalidate(queue);
                match self.queues.get(queue).await {
                    Err(error) => error.into(),
                    Ok(_) => Problem::recovering("the line lost the queue a moment ago and has it again"),
                }
            }
            LineError::Unavailable(cause) => Problem::line_unavailable(cause),
            LineError::Full(cause) => Problem::line_full(cause),
            LineError::Protocol(cause) => Problem::internal(cause),
            LineError::JournalFull => Problem::backup_behind(),
        }
    }
}

impl EntryHandle<'_> {
    fn queue(&self) -> &QueueId {
        &self.snapshot.queue
    }

    /// Reads the record, for a request that can do without it. If the backup is unavailable, this returns `None`.
    async fn read_record(&self) -> Option<EntryRecord> {
        let partition = self.snapshot.partition();
        self.engine(&partition).read_record(self.id).await
    }

    /// What the engine needs to find out about the entry.
    fn engine<'b>(&'b self, partition: &'b EntryPartition) -> EntryContext<'b> {
        EntryContext {
            line: self.line,
            backup: &*self.entries.backup,
            partition,
        }
    }

    /// Writes a change through to the backup before the client is told of it. Then wakes the polls that
    /// this process holds for the entry.
    async fn write_change(&self, change: &Change) -> Result<WriteOutcome, Problem> {
        let Entries {
            line,
            backup,
            notifier,
            ..
        } = self.entries;
        let outcome = write_through(line, &**backup, &self.snapshot.partition(), change).await;
        notifier.wake(change.id);
        self.or_problem(outcome).await
    }

    /// The answer of the line, for a request that cannot do without it.
    async fn or_problem<T>(&self, answer: Result<T, LineError>) -> Result<T, Problem> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.line_problem(error).await),
        }
    }

    /// The answer of the line, for a request that the backup may answer instead.
    pub(crate) async fn or_query_error<T>(&self, answer: Result<T, LineError>) -> Result<T, QueryError> {
        match answer {
            Err(LineError::Unavailable(cause)) => Err(QueryError::LineUnavailable(cause)),
            answer => Ok(self.or_problem(answer).await?),
        }
    }

    async fn line_problem(&self, error: LineError) -> Problem {
        self.entries.line_problem(self.queue(), error).await
    }
}
