//! Answers a request about an entry that has no place in the line.

use vestibule_backup::EntryPartition;
use vestibule_domain::id::EntryId;
use vestibule_engine::{
    entry_context::EntryContext,
    missing_entry::{MissingEntryError, MissingEntryOutcome},
};
use vestibule_line::{ClaimOutcome, EntryLookup, ExtendOutcome, LineError, NotFound, ValidateOutcome};

use crate::{
    ApiState,
    problem::{Grace, Problem},
    queue::QueueSnapshot,
};

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

impl ApiState {
    /// What the engine needs to find out about an entry of this queue.
    pub(crate) fn entry_context<'a>(&'a self, partition: &'a EntryPartition) -> EntryContext<'a> {
        EntryContext {
            line: &self.line,
            backup: &*self.backup,
            partition,
        }
    }

    /// Finds out what became of an entry that the line does not have, and restores the entry if the
    /// line lost it.
    pub(crate) async fn resolve_missing_entry(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        missing: NotFound,
    ) -> Result<MissingEntryOutcome, Problem> {
        let partition = snapshot.partition();
        let outcome = self
            .entry_context(&partition)
            .resolve_missing_entry(id, missing)
            .await;
        // An end that was found may concern polls that this process holds for the entry.
        self.entry_notifier.wake(id);
        match outcome {
            Ok(outcome) => {
                if let MissingEntryOutcome::Restored(_) = outcome {
                    self.record_entry(&snapshot.queue, id);
                }
                Ok(outcome)
            }
            Err(error) => Err(self.missing_entry_error_problem(snapshot, error).await),
        }
    }

    /// The problem of a request that could not find out what became of an entry.
    pub(crate) async fn missing_entry_error_problem(
        &self,
        snapshot: &QueueSnapshot,
        error: MissingEntryError,
    ) -> Problem {
        match error {
            MissingEntryError::Line(error) => self.line_problem(&snapshot.queue, error).await,
            MissingEntryError::Backup(error) => Problem::backup_unavailable(&error),
            MissingEntryError::Timeout => Problem::recovering(&error.to_string()),
        }
    }

    /// Like [`query_line`](Self::query_line), for a request that cannot be answered without the line.
    pub(crate) async fn query_line_or_fail<T: MaybeMissing, F: Future<Output = Result<T, LineError>>>(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        query: impl Fn() -> F,
    ) -> Result<T, Problem> {
        let answer = self.query_line(snapshot, id, query).await;
        answer.map_err(|unanswered| match unanswered {
            QueryError::LineUnavailable(cause) => Problem::line_unavailable(cause),
            QueryError::Problem(problem) => problem,
        })
    }

    /// Asks the line about an entry. If the line lost the entry, this restores it and asks again. If the
    /// entry has ended, this returns a problem that says how.
    pub(crate) async fn query_line<T: MaybeMissing, F: Future<Output = Result<T, LineError>>>(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        query: impl Fn() -> F,
    ) -> Result<T, QueryError> {
        let answer = self.convert_line_error(snapshot, query().await).await?;
        let Some(missing) = answer.missing() else {
            return Ok(answer);
        };
        match self.resolve_missing_entry(snapshot, id, missing).await? {
            MissingEntryOutcome::Restored(_) => self.convert_line_error(snapshot, query().await).await,
            outcome => Err(QueryError::Problem(outcome_problem(outcome, snapshot))),
        }
    }

    pub(crate) async fn convert_line_error<T>(
        &self,
        snapshot: &QueueSnapshot,
        answer: Result<T, LineError>,
    ) -> Result<T, QueryError> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(LineError::Unavailable(cause)) => Err(QueryError::LineUnavailable(cause)),
            Err(error) => Err(self.line_problem(&snapshot.queue, error).await.into()),
        }
    }

    /// Returns the problem for a request about an entry that has no place in the line.
    pub(crate) async fn missing_entry_problem(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        missing: NotFound,
    ) -> Problem {
        match self.resolve_missing_entry(snapshot, id, missing).await {
            Ok(outcome) => outcome_problem(outcome, snapshot),
            Err(problem) => problem,
        }
    }
}

/// An answer of the line that may say that the entry has no place.
pub(crate) trait MaybeMissing {
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

/// Until when the visitor may enter again at the old place, in Unix milliseconds.
pub(crate) fn grace_until_ms(outcome: &MissingEntryOutcome, snapshot: &QueueSnapshot) -> Option<u64> {
    match outcome {
        MissingEntryOutcome::Ended(record) => snapshot.grace_until_ms(record),
        MissingEntryOutcome::Unconfirmed(_)
        | MissingEntryOutcome::Restored(_)
        | MissingEntryOutcome::Unclear
        | MissingEntryOutcome::NeverExisted => None,
    }
}

/// Converts the outcome into the problem that the client gets.
pub(crate) fn outcome_problem(outcome: MissingEntryOutcome, snapshot: &QueueSnapshot) -> Problem {
    let grace = grace_until_ms(&outcome, snapshot).map(|until_ms| Grace {
        until_ms,
        left_ms: until_ms.saturating_sub(snapshot.now_ms()),
    });
    match outcome {
        MissingEntryOutcome::Ended(record) => {
            Problem::ended(&record, grace).with_message(snapshot.settings())
        }
        MissingEntryOutcome::Unconfirmed(error) => Problem::backup_unavailable(&error),
        MissingEntryOutcome::Restored(_) | MissingEntryOutcome::Unclear => {
            Problem::recovering("the line did not have the entry a moment ago")
        }
        MissingEntryOutcome::NeverExisted => Problem::unknown_entry(),
    }
}
