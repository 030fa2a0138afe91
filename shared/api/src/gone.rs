//! Finds out what became of an entry that has no place in the line: it ended, it never existed, or the line
//! lost it and it is restored now.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_backup::BackupError;
use vestibule_domain::{change::Change, id::EntryId, record::Record, state::State};
use vestibule_engine::{
    outlasted::{OutlastedError, outlasted},
    revive::{Found, ReviveError, revive},
};
use vestibule_line::{Claimed, Extended, LineError, Look, Missing, PromoteOrder, Validated};

use super::{Edge, problem::Problem, views::Seen};

/// How long a request waits while a lost entry is restored. The restore takes several requests to the
/// backup, and each may be slow. Cancelling it halfway has the same effect as a killed process, which is
/// harmless. The next request finds what was done so far.
const RECOVERY: Duration = Duration::from_secs(1);

/// What became of an entry that the line does not have.
pub(super) enum Fate {
    /// The entry ended, as this record shows.
    Ended(Record),
    /// The deadline of the entry passed a moment ago, and no promotion has dropped the entry yet.
    TimedOut(Option<Record>),
    /// The line says that the entry ended, but it may have lost a later change. Only the backup could tell,
    /// and it is unavailable. The client is not told of the end, because a client that is told of an end
    /// does not ask again.
    Unconfirmed(BackupError),
    /// The backup had the entry as live, and the line has it again. The caller should ask the line once
    /// more.
    Back,
    /// The backup has the entry as live, and it is not certain now whether the line should have it.
    Unclear,
    /// The entry never existed, or its record has expired.
    Never,
}

/// Why a query about an entry has no result.
pub(super) enum Unanswered {
    /// The line does not answer.
    LineAway(String),
    /// The request fails with this problem.
    Refused(Problem),
}

impl From<Problem> for Unanswered {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl Edge {
    /// Finds out what became of an entry. If the line knows an end that the backup may lack, this writes
    /// the end first, because the request that ended the entry may have been killed before it wrote.
    pub(super) async fn fate(&self, seen: &Seen, id: EntryId, missing: Missing) -> Result<Fate, Problem> {
        // The box keeps this rare case from enlarging the future of every request.
        timeout(RECOVERY, Box::pin(self.fate_in_time(seen, id, missing)))
            .await
            .unwrap_or_else(|_| {
                Err(Problem::recovering(
                    "the line does not have the entry, and reading it from the backup took too long",
                ))
            })
    }

    async fn fate_in_time(&self, seen: &Seen, id: EntryId, missing: Missing) -> Result<Fate, Problem> {
        if missing == Missing::Ended {
            match self.line.end(&seen.queue, id).await {
                Ok(Some(end)) => return self.fate_of(seen, &end).await,
                Ok(None) => {}
                Err(error) => return Err(self.line_failed(&seen.queue, error).await),
            }
        }
        let record = match self.backup.entry(&seen.shelf(), id).await {
            Ok(record) => record,
            Err(error) => match missing {
                Missing::Ended => return Ok(Fate::Unconfirmed(error)),
                Missing::Unknown => return Err(Problem::backup_away(&error)),
            },
        };
        match (record, missing) {
            (Some(record), _) if !record.state.is_live() => Ok(Fate::Ended(record)),
            (Some(record), Missing::Ended) if !record.is_due(seen.now_ms()) => {
                self.dropped(seen, record.id).await
            }
            // A claim that never reached the backup may have taken the turn that the record shows. The line
            // knows.
            (Some(record), Missing::Ended) if record.state == State::Ready => {
                match self.dropped(seen, record.id).await? {
                    Fate::Unclear => Ok(Fate::TimedOut(Some(record))),
                    fate => Ok(fate),
                }
            }
            (record, Missing::Ended) => Ok(Fate::TimedOut(record)),
            (Some(record), Missing::Unknown) => self.revived(seen, record).await,
            (None, Missing::Unknown) => Ok(Fate::Never),
        }
    }

    /// Makes the line drop what timed out, so that it names the visit that ended. That may be an earlier
    /// visit than the record shows, if the line lost the later one. It may also be a later state, if the
    /// backup is behind.
    async fn dropped(&self, seen: &Seen, id: EntryId) -> Result<Fate, Problem> {
        let nobody = PromoteOrder {
            asked: 0,
            heartbeat: false,
            fence: None,
        };
        let end = match self.line.promote(&seen.queue, nobody).await {
            Ok(_) => self.line.end(&seen.queue, id).await,
            Err(error) => Err(error),
        };
        match end {
            Ok(Some(end)) => self.fate_of(seen, &end).await,
            // More entries timed out than one call drops, or the clock is not trusted. The next request
            // finds out.
            Ok(None) => Ok(Fate::Unclear),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    /// Restores an entry that the line lost.
    async fn revived(&self, seen: &Seen, record: Record) -> Result<Fate, Problem> {
        match revive(&*self.line, &*self.backup, &seen.shelf(), record).await {
            Ok(Found::Here) => Ok(Fate::Back),
            Ok(Found::Over(Some(record))) => Ok(Fate::Ended(record)),
            Ok(Found::Over(None)) => Ok(Fate::Never),
            // The entry ended a moment ago, or its state is unclear. The next request finds out how it
            // ended.
            Ok(Found::Ended | Found::Unclear) => Ok(Fate::Unclear),
            Err(ReviveError::Backup(error)) => Err(Problem::backup_away(&error)),
            Err(ReviveError::Line(error)) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    async fn fate_of(&self, seen: &Seen, end: &Change) -> Result<Fate, Problem> {
        let written = self.write_again(seen, end).await?.record;
        let standing = match written {
            Some(record) => Some(record),
            None => match self.backup.entry(&seen.shelf(), end.id).await {
                Ok(record) => record,
                Err(error) => return Ok(Fate::Unconfirmed(error)),
            },
        };
        Ok(match standing {
            Some(record) if !record.state.is_live() => Fate::Ended(record),
            // An earlier visit ended, and the line lost the visit that came after it.
            Some(record) if record.version > end.version || record.visit != end.event.visit() => {
                return self.revived(seen, record).await;
            }
            Some(record) if record.outlasts(end) => return self.outlasted(seen, &record, end).await,
            // The backup is behind. Its record will show this end.
            standing => match Record::after(standing.as_ref(), end, seen.shelf().retain_hours) {
                Some(record) if !record.state.is_live() => Fate::Ended(record),
                _ => Fate::TimedOut(standing),
            },
        })
    }

    /// The record shows that the visit goes on after this end, as far as the backup knows.
    async fn outlasted(&self, seen: &Seen, record: &Record, end: &Change) -> Result<Fate, Problem> {
        let shelf = seen.shelf();
        match outlasted(&*self.line, &*self.backup, &shelf, record, end).await {
            Ok(()) => {}
            Err(OutlastedError::Backup(error)) => return Ok(Fate::Unconfirmed(error)),
            Err(OutlastedError::Line(error)) => return Err(self.line_failed(&seen.queue, error).await),
        }
        match self.backup.entry(&shelf, end.id).await {
            Ok(Some(record)) if record.state.is_live() => self.revived(seen, record).await,
            Ok(Some(record)) => Ok(Fate::Ended(record)),
            Ok(None) => Ok(Fate::Never),
            Err(error) => Ok(Fate::Unconfirmed(error)),
        }
    }

    /// Like [`ask_line`](Self::ask_line), for a request that cannot be answered without the line.
    pub(super) async fn ask<T: MayMiss, F: Future<Output = Result<T, LineError>>>(
        &self,
        seen: &Seen,
        id: EntryId,
        question: impl Fn() -> F,
    ) -> Result<T, Problem> {
        let answer = self.ask_line(seen, id, question).await;
        answer.map_err(|unanswered| match unanswered {
            Unanswered::LineAway(cause) => Problem::line_away(cause),
            Unanswered::Refused(problem) => problem,
        })
    }

    /// Asks the line about an entry. If the line lost the entry, this restores it and asks again. If the
    /// entry has ended, this returns a problem that says how.
    pub(super) async fn ask_line<T: MayMiss, F: Future<Output = Result<T, LineError>>>(
        &self,
        seen: &Seen,
        id: EntryId,
        question: impl Fn() -> F,
    ) -> Result<T, Unanswered> {
        let answer = self.answered(seen, question().await).await?;
        let Some(missing) = answer.missing() else {
            return Ok(answer);
        };
        match self.fate(seen, id, missing).await? {
            Fate::Back => self.answered(seen, question().await).await,
            gone => Err(Unanswered::Refused(gone.told(seen))),
        }
    }

    async fn answered<T>(&self, seen: &Seen, answer: Result<T, LineError>) -> Result<T, Unanswered> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(LineError::Unavailable(cause)) => Err(Unanswered::LineAway(cause)),
            Err(error) => Err(self.line_failed(&seen.queue, error).await.into()),
        }
    }

    /// Returns the problem for a request about an entry that has no place in the line.
    pub(super) async fn gone(&self, seen: &Seen, id: EntryId, missing: Missing) -> Problem {
        match self.fate(seen, id, missing).await {
            Ok(fate) => fate.told(seen),
            Err(problem) => problem,
        }
    }
}

/// An answer of the line that may say that the entry has no place.
pub(super) trait MayMiss {
    /// Returns what the line knows of an entry that has no place.
    fn missing(&self) -> Option<Missing>;
}

macro_rules! may_miss {
    ($($answer:ident)*) => {
        $(impl MayMiss for $answer {
            fn missing(&self) -> Option<Missing> {
                match self {
                    Self::Gone(missing) => Some(*missing),
                    _ => None,
                }
            }
        })*
    };
}

may_miss! { Look Claimed Validated Extended }

impl Fate {
    /// Until when the visitor may enter again at the old place, in Unix milliseconds.
    pub(super) fn grace_until_ms(&self, seen: &Seen) -> Option<u64> {
        match self {
            Self::Ended(record) | Self::TimedOut(Some(record)) => seen.grace_until_ms(record),
            Self::TimedOut(None) | Self::Unconfirmed(_) | Self::Back | Self::Unclear | Self::Never => None,
        }
    }

    /// Converts the outcome into the problem that the client gets.
    pub(super) fn told(self, seen: &Seen) -> Problem {
        let grace_until_ms = self.grace_until_ms(seen);
        match self {
            Self::Ended(record) => Problem::gone(&record, grace_until_ms),
            Self::TimedOut(record) => Problem::timed_out(record.map(|record| record.visit), grace_until_ms),
            Self::Unconfirmed(error) => Problem::backup_away(&error),
            Self::Back | Self::Unclear => Problem::recovering("the line did not have the entry a moment ago"),
            Self::Never => Problem::unknown_entry(),
        }
    }
}
