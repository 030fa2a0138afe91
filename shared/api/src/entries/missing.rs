//! Answers a request about an entry that has no place in the line, or about which the line and the backup disagree.
//!
//! The line can lose changes, for example in a failover. A request that reads the record then
//! believes the greater fact. See `docs/adr/0016-one-order-of-truth.md`.

use vestibule_domain::{change::Change, entry_status::EntryStatus, record::EntryRecord};
use vestibule_engine::{
    missing_entry::{MissingEntryError, MissingEntryOutcome},
    reconcile_entry::ReconciledEntry,
    write_through::WriteOutcome,
};
use vestibule_line::{ClaimOutcome, EntryLookup, ExtendOutcome, LineError, NotFound, ValidateOutcome};

use super::{EntryHandle, QueryError};
use crate::{
    problem::{Grace, Problem},
    queue::QueueSnapshot,
};

impl EntryHandle<'_> {
    /// Finds out what became of an entry that the line does not have, and restores the entry if the
    /// line lost it.
    pub(super) async fn resolve_missing_entry(
        &self,
        missing: NotFound,
    ) -> Result<MissingEntryOutcome, Problem> {
        let partition = self.snapshot.partition();
        let outcome = self
            .engine(&partition)
            .resolve_missing_entry(self.id, missing)
            .await;
        // An end that was found may concern polls that this process holds for the entry.
        self.entries.notifier.wake(self.id);
        match outcome {
            Ok(outcome) => {
                if let MissingEntryOutcome::Restored(_) = outcome {
                    self.record_presence();
                }
                Ok(outcome)
            }
            Err(error) => Err(self.missing_entry_error_problem(error).await),
        }
    }

    /// The problem of a request that could not find out what became of an entry.
    pub(super) async fn missing_entry_error_problem(&self, error: MissingEntryError) -> Problem {
        match error {
            MissingEntryError::Line(error) => self.line_problem(error).await,
            MissingEntryError::Backup(error) => Problem::backup_unavailable(&error),
            MissingEntryError::Timeout => Problem::recovering(&error.to_string()),
        }
    }

    /// Asks the line about an entry. If the line lost the entry, this restores it and asks again. If the
    /// entry has ended, this returns a problem that says how.
    pub(super) async fn query_line<T: MaybeMissing, F: Future<Output = Result<T, LineError>>>(
        &self,
        query: impl Fn() -> F,
    ) -> Result<T, QueryError> {
        let answer = self.or_query_error(query().await).await?;
        let Some(missing) = answer.missing() else {
            return Ok(answer);
        };
        match self.resolve_missing_entry(missing).await? {
            MissingEntryOutcome::Restored(_) => self.or_query_error(query().await).await,
            outcome => Err(outcome_problem(outcome, self.snapshot).into()),
        }
    }

    /// Returns the problem for a request about an entry that has no place in the line.
    pub(super) async fn missing_entry_problem(&self, missing: NotFound) -> Problem {
        match self.resolve_missing_entry(missing).await {
            Ok(outcome) => outcome_problem(outcome, self.snapshot),
            Err(problem) => problem,
        }
    }

    /// Returns the status and the record of the entry after line and backup agree about it. If the
    /// entry has no place any more, returns the problem that says why.
    pub(super) async fn reconcile_status(
        &self,
        status: EntryStatus,
        record: Option<EntryRecord>,
    ) -> Result<(EntryStatus, Option<EntryRecord>), Problem> {
        let partition = self.snapshot.partition();
        let reconciled = self
            .engine(&partition)
            .reconcile_status(self.id, status, record)
            .await;
        self.entries.notifier.wake(self.id);
        match reconciled {
            Ok(ReconciledEntry::Live { status, record, .. }) => Ok((status, record)),
            Ok(ReconciledEntry::Missing(outcome)) => Err(outcome_problem(outcome, self.snapshot)),
            Err(error) => Err(self.missing_entry_error_problem(error).await),
        }
    }
}

/// Refuses a request that let a visitor in, or consumed the session, although the visit had already
/// ended. The backup shows that by a greater fact.
pub(super) fn reject_superseded(change: &Change, write: &WriteOutcome) -> Result<(), Problem> {
    if !write.is_superseded {
        return Ok(());
    }
    match &write.record {
        None => Err(Problem::recovering(
            "the line lost a change of the entry a moment ago",
        )),
        // The visitor has entered again since the visit was consumed, and the record keeps the use.
        Some(record) if record.uses().any(|known| Some(known) == change.consumed_visit()) => Ok(()),
        Some(record) if !record.fact.is_live() => Err(Problem::ended(record, None)),
        Some(record) if record.visit() == change.event.visit() && change.visit_end().is_none() => Ok(()),
        Some(_) => Err(Problem::other_visit()),
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

/// Until when the visitor may enter again at the old place, in Unix milliseconds.
pub(super) fn grace_until_ms(outcome: &MissingEntryOutcome, snapshot: &QueueSnapshot) -> Option<u64> {
    match outcome {
        MissingEntryOutcome::Ended(record) => snapshot.grace_until_ms(record),
        MissingEntryOutcome::Unconfirmed(_)
        | MissingEntryOutcome::Restored(_)
        | MissingEntryOutcome::Unclear
        | MissingEntryOutcome::NeverExisted => None,
    }
}

/// Converts the outcome into the problem that the client gets.
pub(super) fn outcome_problem(outcome: MissingEntryOutcome, snapshot: &QueueSnapshot) -> Problem {
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
