//! Finds out what became of an entry that has no place in the line: it ended, it never existed, or the line
//! lost it and it is restored now.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_backup::BackupError;
use vestibule_domain::{change::Change, id::EntryId, record::EntryRecord, state::EntryState};
use vestibule_engine::{
    restore_entry::{LostEntry, RestoreEntryError, restore_entry},
    stale_end::{StaleEndError, resolve_stale_end},
};
use vestibule_line::{
    ClaimOutcome, EntryLookup, ExtendOutcome, LineError, NotFound, PromoteOrder, ValidateOutcome,
};

use super::{ApiState, problem::Problem, queue_cache::QueueSnapshot};

/// How long a request waits while a lost entry is restored. The restore takes several requests to the
/// backup, and each may be slow. Cancelling it halfway has the same effect as a killed process, which is
/// harmless. The next request finds what was done so far.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(1);

/// What became of an entry that the line does not have.
pub(super) enum MissingEntryOutcome {
    /// The entry ended, as this record shows.
    Ended(EntryRecord),
    /// The deadline of the entry passed a moment ago, and no promotion has dropped the entry yet.
    TimedOut(Option<EntryRecord>),
    /// The line says that the entry ended, but it may have lost a later change. Only the backup could tell,
    /// and it is unavailable. The client is not told of the end, because a client that is told of an end
    /// does not ask again.
    Unconfirmed(BackupError),
    /// The backup had the entry as live, and the line has it again. The caller should ask the line once
    /// more.
    Restored,
    /// The backup has the entry as live, and it is not certain now whether the line should have it.
    Unclear,
    /// The entry never existed, or its record has expired.
    NeverExisted,
}

/// Why a query about an entry has no result.
pub(super) enum QueryError {
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

impl ApiState {
    /// Finds out what became of an entry. If the line knows an end that the backup may lack, this writes
    /// the end first, because the request that ended the entry may have been killed before it wrote.
    pub(super) async fn resolve_missing_entry(
        &self,
        seen: &QueueSnapshot,
        id: EntryId,
        missing: NotFound,
    ) -> Result<MissingEntryOutcome, Problem> {
        // The box keeps this rare case from enlarging the future of every request.
        timeout(
            RECOVERY_TIMEOUT,
            Box::pin(self.resolve_without_timeout(seen, id, missing)),
        )
        .await
        .unwrap_or_else(|_| {
            Err(Problem::recovering(
                "the line does not have the entry, and reading it from the backup took too long",
            ))
        })
    }

    async fn resolve_without_timeout(
        &self,
        seen: &QueueSnapshot,
        id: EntryId,
        missing: NotFound,
    ) -> Result<MissingEntryOutcome, Problem> {
        if missing == NotFound::RecentlyEnded {
            match self.line.unsettled_end(&seen.queue, id).await {
                Ok(Some(end)) => return self.resolve_end(seen, &end).await,
                Ok(None) => {}
                Err(error) => return Err(self.line_problem(&seen.queue, error).await),
            }
        }
        let record = match self.backup.read_entry(&seen.partition(), id).await {
            Ok(record) => record,
            Err(error) => match missing {
                NotFound::RecentlyEnded => return Ok(MissingEntryOutcome::Unconfirmed(error)),
                NotFound::Unknown => return Err(Problem::backup_unavailable(&error)),
            },
        };
        match (record, missing) {
            (Some(record), _) if !record.state.is_live() => Ok(MissingEntryOutcome::Ended(record)),
            (Some(record), NotFound::RecentlyEnded) if !record.is_due(seen.now_ms()) => {
                self.drop_timed_out(seen, record.id).await
            }
            // A claim that never reached the backup may have taken the turn that the record shows. The line
            // knows.
            (Some(record), NotFound::RecentlyEnded) if record.state == EntryState::Ready => {
                match self.drop_timed_out(seen, record.id).await? {
                    MissingEntryOutcome::Unclear => Ok(MissingEntryOutcome::TimedOut(Some(record))),
                    fate => Ok(fate),
                }
            }
            (record, NotFound::RecentlyEnded) => Ok(MissingEntryOutcome::TimedOut(record)),
            (Some(record), NotFound::Unknown) => self.restore_lost_entry(seen, record).await,
            (None, NotFound::Unknown) => Ok(MissingEntryOutcome::NeverExisted),
        }
    }

    /// Makes the line drop what timed out, so that it names the visit that ended. That may be an earlier
    /// visit than the record shows, if the line lost the later one. It may also be a later state, if the
    /// backup is behind.
    async fn drop_timed_out(
        &self,
        seen: &QueueSnapshot,
        id: EntryId,
    ) -> Result<MissingEntryOutcome, Problem> {
        let nobody = PromoteOrder {
            max_entries: 0,
            is_promoter: false,
            min_watermark: None,
        };
        let end = match self.line.promote(&seen.queue, nobody).await {
            Ok(_) => self.line.unsettled_end(&seen.queue, id).await,
            Err(error) => Err(error),
        };
        match end {
            Ok(Some(end)) => self.resolve_end(seen, &end).await,
            // More entries timed out than one call drops, or the clock is not trusted. The next request
            // finds out.
            Ok(None) => Ok(MissingEntryOutcome::Unclear),
            Err(error) => Err(self.line_problem(&seen.queue, error).await),
        }
    }

    /// Restores an entry that the line lost.
    async fn restore_lost_entry(
        &self,
        seen: &QueueSnapshot,
        record: EntryRecord,
    ) -> Result<MissingEntryOutcome, Problem> {
        match restore_entry(&*self.line, &*self.backup, &seen.partition(), record).await {
            Ok(LostEntry::InLine) => Ok(MissingEntryOutcome::Restored),
            Ok(LostEntry::EndRecorded(Some(record))) => Ok(MissingEntryOutcome::Ended(record)),
            Ok(LostEntry::EndRecorded(None)) => Ok(MissingEntryOutcome::NeverExisted),
            // The entry ended a moment ago, or its state is unclear. The next request finds out how it
            // ended.
            Ok(LostEntry::EndPending | LostEntry::Undecided) => Ok(MissingEntryOutcome::Unclear),
            Err(RestoreEntryError::Backup(error)) => Err(Problem::backup_unavailable(&error)),
            Err(RestoreEntryError::Line(error)) => Err(self.line_problem(&seen.queue, error).await),
        }
    }

    async fn resolve_end(&self, seen: &QueueSnapshot, end: &Change) -> Result<MissingEntryOutcome, Problem> {
        let written = self.write_idempotent(seen, end).await?.record;
        let standing = match written {
            Some(record) => Some(record),
            None => match self.backup.read_entry(&seen.partition(), end.id).await {
                Ok(record) => record,
                Err(error) => return Ok(MissingEntryOutcome::Unconfirmed(error)),
            },
        };
        Ok(match standing {
            Some(record) if !record.state.is_live() => MissingEntryOutcome::Ended(record),
            // An earlier visit ended, and the line lost the visit that came after it.
            Some(record) if record.version > end.version || record.visit != end.event.visit() => {
                return self.restore_lost_entry(seen, record).await;
            }
            Some(record) if record.supersedes(end) => {
                return self.resolve_stale_end(seen, &record, end).await;
            }
            // The backup is behind. Its record will show this end.
            standing => {
                match EntryRecord::apply_change(standing.as_ref(), end, seen.partition().retain_hours) {
                    Some(record) if !record.state.is_live() => MissingEntryOutcome::Ended(record),
                    _ => MissingEntryOutcome::TimedOut(standing),
                }
            }
        })
    }

    /// The record shows that the visit goes on after this end, as far as the backup knows.
    async fn resolve_stale_end(
        &self,
        seen: &QueueSnapshot,
        record: &EntryRecord,
        end: &Change,
    ) -> Result<MissingEntryOutcome, Problem> {
        let shelf = seen.partition();
        match resolve_stale_end(&*self.line, &*self.backup, &shelf, record, end).await {
            Ok(()) => {}
            Err(StaleEndError::Backup(error)) => return Ok(MissingEntryOutcome::Unconfirmed(error)),
            Err(StaleEndError::Line(error)) => return Err(self.line_problem(&seen.queue, error).await),
        }
        match self.backup.read_entry(&shelf, end.id).await {
            Ok(Some(record)) if record.state.is_live() => self.restore_lost_entry(seen, record).await,
            Ok(Some(record)) => Ok(MissingEntryOutcome::Ended(record)),
            Ok(None) => Ok(MissingEntryOutcome::NeverExisted),
            Err(error) => Ok(MissingEntryOutcome::Unconfirmed(error)),
        }
    }

    /// Like [`query_line`](Self::query_line), for a request that cannot be answered without the line.
    pub(super) async fn query_line_or_fail<T: MaybeMissing, F: Future<Output = Result<T, LineError>>>(
        &self,
        seen: &QueueSnapshot,
        id: EntryId,
        question: impl Fn() -> F,
    ) -> Result<T, Problem> {
        let answer = self.query_line(seen, id, question).await;
        answer.map_err(|unanswered| match unanswered {
            QueryError::LineUnavailable(cause) => Problem::line_unavailable(cause),
            QueryError::Problem(problem) => problem,
        })
    }

    /// Asks the line about an entry. If the line lost the entry, this restores it and asks again. If the
    /// entry has ended, this returns a problem that says how.
    pub(super) async fn query_line<T: MaybeMissing, F: Future<Output = Result<T, LineError>>>(
        &self,
        seen: &QueueSnapshot,
        id: EntryId,
        question: impl Fn() -> F,
    ) -> Result<T, QueryError> {
        let answer = self.convert_line_error(seen, question().await).await?;
        let Some(missing) = answer.missing() else {
            return Ok(answer);
        };
        match self.resolve_missing_entry(seen, id, missing).await? {
            MissingEntryOutcome::Restored => self.convert_line_error(seen, question().await).await,
            gone => Err(QueryError::Problem(gone.into_problem(seen))),
        }
    }

    async fn convert_line_error<T>(
        &self,
        seen: &QueueSnapshot,
        answer: Result<T, LineError>,
    ) -> Result<T, QueryError> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(LineError::Unavailable(cause)) => Err(QueryError::LineUnavailable(cause)),
            Err(error) => Err(self.line_problem(&seen.queue, error).await.into()),
        }
    }

    /// Returns the problem for a request about an entry that has no place in the line.
    pub(super) async fn missing_entry_problem(
        &self,
        seen: &QueueSnapshot,
        id: EntryId,
        missing: NotFound,
    ) -> Problem {
        match self.resolve_missing_entry(seen, id, missing).await {
            Ok(fate) => fate.into_problem(seen),
            Err(problem) => problem,
        }
    }
}

/// An answer of the line that may say that the entry has no place.
pub(super) trait MaybeMissing {
    /// Returns what the line knows of an entry that has no place.
    fn missing(&self) -> Option<NotFound>;
}

macro_rules! maybe_missing {
    ($($answer:ident)*) => {
        $(impl MaybeMissing for $answer {
            fn missing(&self) -> Option<NotFound> {
                match self {
                    Self::NotFound(missing) => Some(*missing),
                    _ => None,
                }
            }
        })*
    };
}

maybe_missing! { EntryLookup ClaimOutcome ValidateOutcome ExtendOutcome }

impl MissingEntryOutcome {
    /// Until when the visitor may enter again at the old place, in Unix milliseconds.
    pub(super) fn grace_until_ms(&self, seen: &QueueSnapshot) -> Option<u64> {
        match self {
            Self::Ended(record) | Self::TimedOut(Some(record)) => seen.grace_until_ms(record),
            Self::TimedOut(None)
            | Self::Unconfirmed(_)
            | Self::Restored
            | Self::Unclear
            | Self::NeverExisted => None,
        }
    }

    /// Converts the outcome into the problem that the client gets.
    pub(super) fn into_problem(self, seen: &QueueSnapshot) -> Problem {
        let grace_until_ms = self.grace_until_ms(seen);
        match self {
            Self::Ended(record) => Problem::ended(&record, grace_until_ms),
            Self::TimedOut(record) => Problem::timed_out(record.map(|record| record.visit), grace_until_ms),
            Self::Unconfirmed(error) => Problem::backup_unavailable(&error),
            Self::Restored | Self::Unclear => {
                Problem::recovering("the line did not have the entry a moment ago")
            }
            Self::NeverExisted => Problem::unknown_entry(),
        }
    }
}
