//! What became of an entry that has no place in the line: it ended, it never was, or the line lost it and has it back now.

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

/// How long somebody waits while what the line lost is put back: that takes several calls of the backup, each of which may
/// be slow. Whoever comes again finds what was done; to stop in the middle is to be killed there, which harms nothing.
const RECOVERY: Duration = Duration::from_secs(1);

/// What the backup knows of an entry that the line does not have.
pub(super) enum Fate {
    /// It ended like this.
    Ended(Record),
    /// Its deadline came a moment ago, and no promotion has dropped it yet.
    TimedOut(Option<Record>),
    /// It ended as far as the line knows. Whether anything came after that, which the line lost, only the backup could say,
    /// and it is away: whoever hears of an end does not ask again.
    Unconfirmed(BackupError),
    /// The backup had it in line, and so has the line again: ask once more.
    Back,
    /// The backup has it in line, and nobody can say now whether the line should.
    Unclear,
    /// There never was one, or it was too long ago.
    Never,
}

/// Why a question about an entry has no answer.
pub(super) enum Unanswered {
    /// The line does not answer.
    LineAway(String),
    /// There is no such answer to be had.
    Refused(Problem),
}

impl From<Problem> for Unanswered {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl Edge {
    /// Says what became of an entry. An end that the backup may not have is written first: whoever ended it may have
    /// been killed before that.
    pub(super) async fn fate(&self, seen: &Seen, id: EntryId, missing: Missing) -> Result<Fate, Problem> {
        // Kept out of what every call carries along.
        timeout(RECOVERY, Box::pin(self.fate_in_time(seen, id, missing)))
            .await
            .unwrap_or_else(|_| {
                Err(Problem::recovering(
                    "the backup is slow, and the line lacks the entry",
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
            // The turn that it shows may have been taken, by a claim that nobody wrote: the line knows.
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

    /// Has the line drop what timed out, so that it says of which visit that was: it may be one of before, where the line lost
    /// the one that the record shows, or the backup may be behind.
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
            // More timed out than one call drops, or the clock is in doubt: whoever asks next hears how.
            Ok(None) => Ok(Fate::Unclear),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    /// Puts back what the line lost.
    async fn revived(&self, seen: &Seen, record: Record) -> Result<Fate, Problem> {
        match revive(&*self.line, &*self.backup, &seen.shelf(), record).await {
            Ok(Found::Here) => Ok(Fate::Back),
            Ok(Found::Over(Some(record))) => Ok(Fate::Ended(record)),
            Ok(Found::Over(None)) => Ok(Fate::Never),
            // It ended a moment ago: whoever asks next hears how.
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
            // What ended was an earlier visit: the line lost the one that came after it.
            Some(record) if record.version > end.version || record.visit != end.event.visit() => {
                return self.revived(seen, record).await;
            }
            Some(record) if record.outlasts(end) => return self.outlasted(seen, &record, end).await,
            // The backup is behind: it will stand like this.
            standing => match Record::after(standing.as_ref(), end, seen.shelf().retain_hours) {
                Some(record) if !record.state.is_live() => Fate::Ended(record),
                _ => Fate::TimedOut(standing),
            },
        })
    }

    /// The record shows that the visit goes on after this end, as far as the backup knows by now.
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

    /// Asks the line about an entry, for whoever cannot do without it: as [`ask_line`](Self::ask_line).
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

    /// Asks the line about an entry. What the line lost goes back first, and it is asked again; of what is gone the answer
    /// is what became of it.
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

    /// The answer to whoever asks for an entry that has no place.
    pub(super) async fn gone(&self, seen: &Seen, id: EntryId, missing: Missing) -> Problem {
        match self.fate(seen, id, missing).await {
            Ok(fate) => fate.told(seen),
            Err(problem) => problem,
        }
    }
}

/// An answer of the line that may be that the entry has no place.
pub(super) trait MayMiss {
    /// What is known of one that has none.
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
    /// Until when the entry may be entered again at its old place.
    pub(super) fn grace_until_ms(&self, seen: &Seen) -> Option<u64> {
        match self {
            Self::Ended(record) | Self::TimedOut(Some(record)) => seen.grace_until_ms(record),
            Self::TimedOut(None) | Self::Unconfirmed(_) | Self::Back | Self::Unclear | Self::Never => None,
        }
    }

    /// As whoever asked hears of it.
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
