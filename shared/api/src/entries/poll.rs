//! Checks in a visitor who asks about an entry, and lets the line and the backup agree about it.
//!
//! With `leave_on_close`, the closing of a page marks a waiting entry, and the next request of the visitor removes the mark:
//! see [`vestibule_domain::closing`].

use vestibule_domain::{
    entry_status::EntryStatus, lane::LaneProgress, queue_state::QueueState, score::Visit, state::EntryState,
};
use vestibule_engine::{missing_entry::MissingEntryError, reconcile_entry::ReconciledEntry};
use vestibule_line::{CheckIn, EntryLookup, LineError, MarkClosingOutcome};

use super::{EntryHandle, LiveEntry, QueryError, missing::outcome_problem};
use crate::{long_poll::held_polls::EntryUpdate, problem::Problem};

fn is_waiting(lookup: EntryLookup) -> bool {
    matches!(lookup, EntryLookup::Found(EntryStatus::Waiting { .. }))
}

impl EntryHandle<'_> {
    /// Checks in the visitor who polls an entry, and returns its status. Restores an entry that the line lost.
    pub(crate) async fn begin_poll(&self) -> Result<EntryUpdate, QueryError> {
        let checked_in = self.check_in_by_request().await;
        let CheckIn { mut lookup, lane } = self.or_query_error(checked_in).await?;
        if matches!(lookup, EntryLookup::NotFound(_)) {
            lookup = EntryLookup::Found(self.reconcile_lookup(lookup).await?.status);
            self.record_presence();
        }
        Ok(EntryUpdate::new(lookup, lane))
    }

    /// Returns the entry that the visitor polls, after line and backup agree about it. `update` is the last status of the
    /// entry.
    pub(crate) async fn finish_poll(&self, mut update: EntryUpdate) -> Result<LiveEntry, Problem> {
        if update.lane.is_none() && is_waiting(update.lookup) {
            // The visitor of a restored entry checks in, too, and a lookup for many held polls counts
            // absent entries.
            let again = self.line.check_in(self.queue(), self.id).await;
            if let Ok(CheckIn { lookup, lane }) = again
                && is_waiting(lookup)
            {
                (update.lookup, update.lane) = (lookup, lane);
            }
        }
        let live = match (update.lookup, update.record) {
            (EntryLookup::Found(status), Some(record)) => LiveEntry::new(status, Some(record), None),
            (lookup, _) => self.reconcile_lookup(lookup).await?,
        };
        let live = self.reject_finished_wait(live).await?;
        let lane = update.lane.filter(|_| live.status.state() == EntryState::Waiting);
        Ok(LiveEntry { lane, ..live })
    }

    /// Marks a waiting entry whose page closes. Returns whether the visitor leaves some time later unless a request comes.
    pub(crate) async fn mark_closing(&self, visit: Option<Visit>) -> Result<bool, Problem> {
        if !self.snapshot.settings().leave_on_close {
            return Ok(false);
        }
        let marked = self.line.mark_closing(self.queue(), self.id, visit).await;
        match self.or_problem(marked).await? {
            MarkClosingOutcome::Marked => Ok(true),
            MarkClosingOutcome::Ignored => Ok(false),
        }
    }

    /// Checks in the visitor who has sent this request, and removes the mark of the entry: a page of the visitor is open. The
    /// end of a held poll is no such request, because the page that began the poll may be closed by then.
    pub(super) async fn check_in_by_request(&self) -> Result<CheckIn, LineError> {
        let check_in = self.line.check_in(self.queue(), self.id);
        // Both commands are on their way at once.
        let (removed, checked_in) = tokio::join!(self.remove_closing_mark(), check_in);
        removed?;
        checked_in
    }

    pub(super) async fn remove_closing_mark(&self) -> Result<(), LineError> {
        if self.snapshot.settings().leave_on_close {
            self.line.remove_closing_mark(self.queue(), self.id).await?;
        }
        Ok(())
    }

    /// Reads how far the lane of a waiting entry has moved, after its position was read. `None` if the
    /// entry is called, for any other entry, and if the line does not answer.
    pub(super) async fn read_lane_if_far(&self, status: EntryStatus) -> Option<LaneProgress> {
        let EntryStatus::Waiting { score, .. } = status else {
            return None;
        };
        if self.snapshot.is_called(score) {
            return None;
        }
        self.line.lane_progress(self.queue(), score.lane()).await.ok()
    }

    /// Tells the visitor of a waiting entry that the queue is finished. The next tick ends the entry. The
    /// client does not ask again, so the backup is asked first whether the line has lost the visitor's turn.
    pub(super) async fn reject_finished_wait(&self, live: LiveEntry) -> Result<LiveEntry, Problem> {
        let is_waiting = live.status.state() == EntryState::Waiting;
        if !is_waiting || self.snapshot.queue_state() != QueueState::Finished {
            return Ok(live);
        }
        let stored = self.read_record().await;
        let (status, record) = self.reconcile_status(live.status, stored).await?;
        if status.state() == EntryState::Waiting {
            return Err(Problem::queue_finished(self.snapshot.settings()));
        }
        Ok(LiveEntry {
            status,
            record,
            ..live
        })
    }

    /// Makes the line and the backup agree about the entry, and returns it as it is then, restored if the line lost it. Fails
    /// with the problem that says what became of an entry that has no place any more. Nothing else in a status request
    /// writes to the backup.
    async fn reconcile_lookup(&self, lookup: EntryLookup) -> Result<LiveEntry, QueryError> {
        let partition = self.snapshot.partition();
        let reconciled = self.engine(&partition).reconcile_lookup(self.id, lookup).await;
        if matches!(lookup, EntryLookup::NotFound(_)) {
            // An end that was written may concern other polls that this process holds for the entry.
            self.entries.notifier.wake(self.id);
        }
        match reconciled {
            Ok(ReconciledEntry::Live {
                status,
                record,
                durable,
            }) => Ok(LiveEntry::new(status, record, durable)),
            Ok(ReconciledEntry::Missing(outcome)) => Err(outcome_problem(outcome, self.snapshot).into()),
            Err(MissingEntryError::Line(LineError::Unavailable(cause))) => {
                Err(QueryError::LineUnavailable(cause))
            }
            Err(error) => Err(self.missing_entry_error_problem(error).await.into()),
        }
    }
}
