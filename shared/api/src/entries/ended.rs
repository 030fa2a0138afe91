//! Reconciles an entry that the line lists with the record that a request read anyway.
//!
//! The line can lose changes, for example in a failover. A request that reads the record then
//! believes the greater fact. See `docs/adr/0016-one-order-of-truth.md`.

use vestibule_domain::{change::Change, entry_status::EntryStatus, id::EntryId, record::EntryRecord};
use vestibule_engine::{reconcile_entry::ReconciledEntry, write_through::WriteOutcome};

use super::missing::outcome_problem;
use crate::{ApiState, problem::Problem, queue::QueueSnapshot};

impl ApiState {
    /// Returns the status and the record of the entry after line and backup agree about it. If the
    /// entry has no place any more, returns the problem that says why.
    pub(crate) async fn reconcile_status(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        status: EntryStatus,
        record: Option<EntryRecord>,
    ) -> Result<(EntryStatus, Option<EntryRecord>), Problem> {
        let partition = snapshot.partition();
        let reconciled = self
            .entry_context(&partition)
            .reconcile_status(id, status, record)
            .await;
        self.entry_notifier.wake(id);
        match reconciled {
            Ok(ReconciledEntry::Live { status, record, .. }) => Ok((status, record)),
            Ok(ReconciledEntry::Missing(outcome)) => Err(outcome_problem(outcome, snapshot)),
            Err(error) => Err(self.missing_entry_error_problem(snapshot, error).await),
        }
    }

    /// Refuses a request that let a visitor in, or consumed the session, although the visit had already
    /// ended. The backup shows that by a greater fact.
    pub(crate) fn reject_superseded(change: &Change, write: &WriteOutcome) -> Result<(), Problem> {
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
}
