//! Answers from the backup while the line is unavailable, and marks these answers as degraded.
//!
//! The backup has every acknowledged change, but not the order of the line. So a request can read
//! an entry, but it can change none: entering, claiming, extending, leaving and completing fail.

mod accept_pass;
pub(crate) mod entry_body;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use vestibule_backup::BackupError;
use vestibule_domain::{
    id::{EntryId, IdKey, QueueId},
    record::EntryRecord,
    settings::Settings,
};

pub(crate) use self::accept_pass::AcceptedPass;
use crate::{
    entries::{Entries, QueryError},
    problem::Problem,
    queue::{DegradedQueue, QueueCache, QueueLookupError, QueueSnapshot, READ_TIMEOUT},
};

/// The longest time until an answer without the line, including the wait for the line.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(1_800);

/// Where the data of a queue comes from.
pub(crate) enum QueueSource {
    /// From its line.
    Line(Arc<QueueSnapshot>),
    /// From the backup, because the line is unavailable.
    Backup(DegradedContext),
}

/// What a request needs in order to answer without the line.
pub(crate) struct DegradedContext {
    queue: Arc<DegradedQueue>,
    /// Why the line gave no answer.
    cause: String,
    /// When the read of the entry from the backup times out.
    read_deadline: Instant,
}

impl DegradedContext {
    /// Builds the context for a line that became unavailable after it had returned a snapshot.
    fn from_snapshot(snapshot: &QueueSnapshot, cause: String) -> Self {
        Self {
            queue: Arc::new(DegradedQueue::from_snapshot(snapshot)),
            cause,
            read_deadline: Instant::now() + READ_TIMEOUT,
        }
    }

    fn problem(&self) -> Problem {
        Problem::line_unavailable(&self.cause)
    }

    async fn read_entry(&self, entries: &Entries, id: EntryId) -> Result<Option<EntryRecord>, BackupError> {
        let partition = self.queue.partition();
        let reason_late = "the backup did not answer in time";
        entries
            .read_record_before(self.read_deadline, &partition, id, reason_late)
            .await
    }
}

impl QueueSource {
    /// Reads the queue from its line, or from the backup if the line is unavailable.
    pub(crate) async fn read(queues: &QueueCache, queue: &QueueId) -> Result<Self, Problem> {
        let read_deadline = Instant::now() + ANSWER_TIMEOUT;
        let cause = match queues.get(queue).await {
            Ok(snapshot) => return Ok(Self::Line(snapshot)),
            Err(QueueLookupError::LineUnavailable(cause)) => cause,
            Err(error) => return Err(error.into()),
        };
        match queues.degraded_queue(queue).await {
            Ok(queue) => Ok(Self::Backup(DegradedContext {
                queue,
                cause,
                read_deadline,
            })),
            Err(QueueLookupError::BackupUnavailable(other)) => {
                Err(Problem::line_unavailable(format!("{cause}; {other}")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Answers a request by the line. If the line is unavailable, or becomes so, answers without it.
    pub(crate) async fn answer<T>(
        self,
        by_line: impl AsyncFnOnce(Arc<QueueSnapshot>) -> Result<T, QueryError>,
        without_line: impl AsyncFnOnce(DegradedContext) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let context = match self {
            Self::Line(snapshot) => match by_line(snapshot.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(QueryError::Problem(problem)) => return Err(problem),
                Err(QueryError::LineUnavailable(cause)) => DegradedContext::from_snapshot(&snapshot, cause),
            },
            Self::Backup(context) => context,
        };
        without_line(context).await
    }

    pub(crate) fn settings(&self) -> &Settings {
        match self {
            Self::Line(snapshot) => snapshot.settings(),
            Self::Backup(context) => &context.queue.settings,
        }
    }

    pub(crate) fn ids(&self) -> &IdKey {
        match self {
            Self::Line(snapshot) => &snapshot.ids,
            Self::Backup(context) => &context.queue.ids,
        }
    }
}
