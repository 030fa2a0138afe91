//! Claims, extends and ends a visit.

use vestibule_backup::BackupError;
use vestibule_domain::{entry_status::EntryStatus, score::Visit};
use vestibule_engine::{missing_entry::MissingEntryOutcome, reconcile_entry::ReconciledEntry};
use vestibule_line::{ClaimOutcome, EntryLookup, ExtendOutcome, LeaveOutcome, LeaveReason, SessionExtension};

use super::{
    EntryHandle, LiveEntry,
    missing::{outcome_problem, reject_superseded},
};
use crate::problem::Problem;

impl EntryHandle<'_> {
    /// Lets a ready entry become active: its visitor is present.
    pub(crate) async fn claim(&self) -> Result<LiveEntry, Problem> {
        let query = || self.line.claim(self.queue(), self.id);
        let (status, change) = match self.query_line(query).await? {
            ClaimOutcome::Active { status, change } => (status, change),
            ClaimOutcome::StillWaiting(status) => {
                // A visitor who claims too early is present, and the gateway may refuse the polls that say so otherwise.
                let checked_in = self.check_in_by_request().await;
                self.or_problem(checked_in).await?;
                let live = LiveEntry::new(status, None, None);
                let live = self.reject_finished_wait(live).await?;
                return Err(Problem::not_your_turn(&live.status));
            }
            ClaimOutcome::NotFound(missing) => {
                return Err(self.missing_entry_problem(missing).await);
            }
        };
        let write = self.write_change(&change).await?;
        reject_superseded(&change, &write)?;
        Ok(LiveEntry::new(status, write.record, Some(write.durable)))
    }

    /// Ends a visit, because the visitor leaves. If the visit has already ended, or the entry is in another visit than the
    /// named one, this changes nothing and succeeds.
    pub(crate) async fn leave(&self, visit: Option<Visit>) -> Result<(), Problem> {
        self.end_visit(visit, LeaveReason::Leave).await
    }

    /// Ends a visit like [`leave`](Self::leave), because the protected service has finished with the visitor.
    pub(crate) async fn complete(&self, visit: Option<Visit>) -> Result<(), Problem> {
        self.end_visit(visit, LeaveReason::Complete).await
    }

    async fn end_visit(&self, visit: Option<Visit>, departure: LeaveReason) -> Result<(), Problem> {
        for _ in 0..2 {
            match self.line.leave(self.queue(), self.id, visit, departure).await {
                Ok(LeaveOutcome::Ended(change)) => {
                    return self.write_change(&change).await.map(drop);
                }
                Ok(LeaveOutcome::OtherVisit) => {
                    if !self.has_lost_visit(visit).await? {
                        return Ok(());
                    }
                }
                Ok(LeaveOutcome::NotActive(status)) => return Err(Problem::not_your_turn(&status)),
                Ok(LeaveOutcome::NotFound(missing)) => {
                    match self.resolve_missing_entry(missing).await? {
                        // The visit has already ended, which is what the caller wants.
                        MissingEntryOutcome::Ended(_) | MissingEntryOutcome::Unconfirmed(_) => return Ok(()),
                        // The line had lost the entry and has it again, so the next round can end it.
                        MissingEntryOutcome::Restored(_) => {}
                        other => return Err(outcome_problem(other, self.snapshot)),
                    }
                }
                Err(error) => return Err(self.line_problem(error).await),
            }
        }
        Err(outcome_problem(MissingEntryOutcome::Unclear, self.snapshot))
    }

    /// Whether the line lost the named visit and still has an earlier one of the entry. If so, the
    /// line has what the backup knows of the entry afterwards.
    async fn has_lost_visit(&self, named: Option<Visit>) -> Result<bool, Problem> {
        let status = match self.line.status(self.queue(), self.id).await {
            Ok(EntryLookup::Found(status)) => status,
            Ok(EntryLookup::NotFound(missing)) => {
                let outcome = self.resolve_missing_entry(missing).await?;
                return Ok(matches!(outcome, MissingEntryOutcome::Restored(_)));
            }
            Err(error) => return Err(self.line_problem(error).await),
        };
        if named.is_none_or(|named| named <= status.visit()) {
            return Ok(false);
        }
        let partition = self.snapshot.partition();
        let record = self.entries.backup.read_entry(&partition, self.id).await;
        let record = record.map_err(|error| Problem::backup_unavailable(&error))?;
        match self
            .engine(&partition)
            .reconcile_status(self.id, status, record)
            .await
        {
            // If line and backup agree on an earlier visit, the named one never began.
            Ok(ReconciledEntry::Live { status, .. }) => {
                Ok(named.is_some_and(|named| named <= status.visit()))
            }
            Ok(ReconciledEntry::Missing(_)) => Ok(true),
            Err(error) => Err(self.missing_entry_error_problem(error).await),
        }
    }

    /// Extends the session of an active entry to this many seconds from now (`None`: to
    /// `session_seconds`), within `session_max_seconds`. Returns `None` if the entry has another visit
    /// than the named one; then nothing changes.
    pub(crate) async fn extend(
        &self,
        visit: Option<Visit>,
        seconds: Option<u32>,
    ) -> Result<Option<LiveEntry>, Problem> {
        let Some(latest_end_ms) = self.latest_end_ms(visit).await? else {
            return Ok(None);
        };
        let extension = SessionExtension {
            visit,
            seconds: seconds.unwrap_or(self.snapshot.settings().session_seconds),
            latest_end_ms,
        };
        let query = || self.line.extend(self.queue(), self.id, extension);
        let (status, change) = match self.query_line(query).await? {
            ExtendOutcome::Active { status, change } => (status, change),
            ExtendOutcome::NotActive(status) => return Err(Problem::not_your_turn(&status)),
            ExtendOutcome::OtherVisit => return Ok(None),
            ExtendOutcome::NotFound(missing) => {
                return Err(self.missing_entry_problem(missing).await);
            }
        };
        let write = self.write_change(&change).await?;
        Ok(Some(LiveEntry::new(status, write.record, Some(write.durable))))
    }

    /// Returns the latest end that the session may get, in Unix milliseconds, counted from the
    /// claim in the record. Returns `None` if the request names another visit.
    async fn latest_end_ms(&self, named_visit: Option<Visit>) -> Result<Option<u64>, Problem> {
        let query = || self.line.status(self.queue(), self.id);
        let status = match self.query_line(query).await? {
            EntryLookup::Found(status)
                if named_visit.is_some_and(|named_visit| named_visit != status.visit()) =>
            {
                return Ok(None);
            }
            EntryLookup::Found(status @ EntryStatus::Active { .. }) => status,
            EntryLookup::Found(status) => return Err(Problem::not_your_turn(&status)),
            EntryLookup::NotFound(missing) => {
                return Err(self.missing_entry_problem(missing).await);
            }
        };
        let record = self
            .entries
            .backup
            .read_entry(&self.snapshot.partition(), self.id)
            .await;
        let record = record.map_err(|error| Problem::backup_unavailable(&error))?;
        let (status, record) = self.reconcile_status(status, record).await?;
        let claimed_at_ms = record
            .filter(|record| record.visit() == status.visit())
            .and_then(|record| record.claimed_at_ms)
            .ok_or_else(|| {
                // The backup was unavailable when the entry was claimed, so the claim is still in the
                // journal.
                let error = BackupError::Unavailable("the backup does not have the claim yet".to_owned());
                Problem::backup_unavailable(&error)
            })?;
        let most_ms = u64::from(self.snapshot.settings().session_max_seconds) * 1_000;
        Ok(Some(claimed_at_ms + most_ms))
    }
}
