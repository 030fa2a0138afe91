//! Puts a visitor in line and writes the place to the backup, for [`enter`](crate::routes::enter).

use vestibule_domain::{
    change::{Change, Event},
    entry_status::EntryStatus,
    id::EntryId,
    record::EntryRecord,
};
use vestibule_engine::{persist_entry::persist_entry, reconcile_entry::ReconciledEntry};
use vestibule_line::{Arrival, EnterOutcome, JoinKind, LeaveOutcome, LeaveReason, LineError, Refusal};

use crate::{ApiState, problem::Problem, queue::QueueSnapshot, who::entering::EnteringVisitor};

/// The place that the visitor got.
pub(crate) struct EntryPlace {
    pub(crate) status: EntryStatus,
    pub(crate) record: Option<EntryRecord>,
    pub(crate) durable: Option<bool>,
    /// The visitor had this place before. Either the line had lost it, or the visitor missed the
    /// turn and came back within the grace.
    pub(crate) is_restored: bool,
}

impl ApiState {
    /// Gives the visitor a place, or returns the place that the visitor already has. Returns `None`
    /// if the line listed a visit that had ended, or if the line and the backup disagree. The
    /// caller may then try again. A visitor who was never here before cannot return.
    pub(crate) async fn enter_line(
        &self,
        snapshot: &QueueSnapshot,
        visitor: &EnteringVisitor,
    ) -> Result<Option<(JoinKind, EntryPlace)>, Problem> {
        let id = visitor.id;
        let draw = snapshot.view.configuration.draw_before_opening();
        let drawn_order = draw.map(|seed| seed.draw(id));
        let enter = |arrival| {
            self.line
                .enter_lane(&snapshot.queue, id, arrival, drawn_order, visitor.lane)
        };
        let mut entered = enter(visitor.arrival).await;
        if let Ok(EnterOutcome::Refused(Refusal::QueueFull)) = entered
            && visitor.generated.is_none()
            && self.has_stored_place(snapshot, id).await
        {
            entered = enter(Arrival::Returning).await;
        }
        if let Ok(EnterOutcome::Refused(Refusal::Finished)) = entered
            && visitor.generated.is_none()
            && self.has_restored_turn(snapshot, id).await
        {
            entered = enter(Arrival::Ordinary).await;
        }
        let entered = match entered {
            Ok(entered) => entered,
            Err(error) => return Err(self.line_problem(&snapshot.queue, error).await),
        };
        let (kind, status, change) = match entered {
            EnterOutcome::Joined { kind, status, change } => (kind, status, change),
            EnterOutcome::Refused(Refusal::Finished) => {
                return Err(Problem::queue_finished(snapshot.settings()));
            }
            EnterOutcome::Refused(refusal) => return Err(refusal.into()),
        };
        if let Some(change) = &change
            && change.version.epoch != snapshot.view.configuration.epoch
        {
            self.refuse_earlier_generation(snapshot, id).await?;
        }
        let change = change.map(|change| Change {
            source: visitor.source,
            ..change
        });
        let place = self.persist_place(snapshot, id, kind, status, change).await?;
        Ok(place.map(|place| (kind, place)))
    }

    /// Whether the backup has a place to which the visitor returns by entering: the line lost the
    /// entry, or the visitor missed the turn and is within the grace. A full queue refuses no such
    /// visitor. Only the backup knows, so each refused visitor costs a read of it.
    async fn has_stored_place(&self, snapshot: &QueueSnapshot, id: EntryId) -> bool {
        let now_ms = snapshot.now_ms();
        self.read_record(snapshot, id).await.is_some_and(|record| {
            let is_live = record.fact.is_live()
                && record
                    .fact
                    .deadline_ms()
                    .is_none_or(|deadline_ms| deadline_ms > now_ms);
            is_live || snapshot.grace_until_ms(&record).is_some()
        })
    }

    /// Refuses a visitor who entered a queue that was reset after the snapshot was taken, because
    /// the token belongs to the earlier generation. The place is given back.
    async fn refuse_earlier_generation(&self, snapshot: &QueueSnapshot, id: EntryId) -> Result<(), Problem> {
        self.queue_cache.invalidate(&snapshot.queue);
        let newer_snapshot = self.snapshot(&snapshot.queue).await?;
        if newer_snapshot.view.configuration.generation == snapshot.view.configuration.generation {
            return Ok(());
        }
        let outcome = self
            .line
            .leave(&snapshot.queue, id, None, LeaveReason::Leave)
            .await;
        if let Ok(LeaveOutcome::Ended(change)) = outcome {
            self.write_change(&newer_snapshot, &change).await?;
        }
        Err(Problem::recovering(
            "the queue was reset while the visitor entered",
        ))
    }

    /// Writes the place that the line gave to the backup, or returns the place that the visitor had
    /// before. Returns `None` in the cases of [`enter_line`](Self::enter_line).
    async fn persist_place(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        kind: JoinKind,
        status: EntryStatus,
        change: Option<Change>,
    ) -> Result<Option<EntryPlace>, Problem> {
        let build_place = |record, durable| EntryPlace {
            status,
            record,
            durable,
            is_restored: false,
        };
        let Some(mut change) = change else {
            let record = self.read_record(snapshot, id).await;
            return self.confirm_place(snapshot, id, status, record).await;
        };
        if kind == JoinKind::TookBack
            && let Event::FastTracked { claimed_at_ms, .. } = &mut change.event
        {
            // The longest session counts from its first claim, however often the visitor leaves.
            let earlier = self.read_record(snapshot, id).await;
            *claimed_at_ms = earlier.and_then(|record| record.claimed_at_ms);
        }
        let partition = snapshot.partition();
        let persisted = persist_entry(&self.line, &*self.backup, &partition, status, &change).await;
        self.entry_notifier.wake(id);
        match persisted {
            Ok(persisted) => Ok(persisted.map(|persisted| EntryPlace {
                status: persisted.status,
                record: persisted.record,
                durable: Some(persisted.durable),
                is_restored: persisted.is_restored,
            })),
            // The visitor has the place anyway, and the line returns it to every later request.
            Err(LineError::JournalFull) if kind == JoinKind::Kept => Ok(Some(build_place(None, Some(false)))),
            Err(error) => Err(self.line_problem(&snapshot.queue, error).await),
        }
    }

    /// Returns the place that a visitor keeps, after line and backup agree about it. Returns `None`
    /// if the visit has ended.
    async fn confirm_place(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        status: EntryStatus,
        record: Option<EntryRecord>,
    ) -> Result<Option<EntryPlace>, Problem> {
        let partition = snapshot.partition();
        let context = self.entry_context(&partition);
        match context.reconcile_status(id, status, record).await {
            Ok(ReconciledEntry::Live {
                status,
                record,
                durable,
            }) => Ok(Some(EntryPlace {
                status,
                record,
                durable,
                is_restored: false,
            })),
            Ok(ReconciledEntry::Missing(_)) => Ok(None),
            Err(error) => Err(self.missing_entry_error_problem(snapshot, error).await),
        }
    }
}
