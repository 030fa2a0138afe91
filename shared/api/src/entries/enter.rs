//! Puts a visitor in line and writes the place to the backup.

use uuid::Uuid;
use vestibule_domain::{
    change::{Change, Event},
    entry_status::EntryStatus,
    id::{EntryId, Visitor, VisitorKind, VisitorSecret},
    lane::Lane,
    settings::Visitors,
    state::EntryState,
};
use vestibule_engine::{
    missing_entry::MissingEntryOutcome, persist_entry::persist_entry, reconcile_entry::ReconciledEntry,
};
use vestibule_line::{
    Arrival, EnterOutcome, EntryLookup, JoinKind, LeaveOutcome, LeaveReason, LineError, Refusal,
};

use super::{Entries, EntryHandle, LiveEntry, missing::grace_until_ms};
use crate::{
    problem::Problem,
    queue::QueueSnapshot,
    who::entering::{EnteringIdentity, entering_problem},
};

/// The visitor who enters.
pub(crate) struct EnteringVisitor {
    pub(crate) id: EntryId,
    /// The visitor id that the server generated. The client learns it from the answer.
    pub(crate) generated: Option<Visitor>,
    /// The secret of the entry, for a visitor who entered with a ticket or with the secret.
    pub(crate) secret: Option<VisitorSecret>,
    /// The lane of a new place. A visitor who has a place keeps it, and its lane.
    lane: Lane,
    /// Whether the visitor may begin a visit. If not, entering only returns to a visit that goes on.
    may_begin: bool,
    /// The anonymous place that the visitor gives up by entering under a name.
    given_up: Option<EntryId>,
}

/// The place that the visitor got.
pub(crate) struct EnteredPlace {
    pub(crate) live: LiveEntry,
    /// Whether the visit began with this request.
    pub(crate) is_new_visit: bool,
}

/// The place that an entry has before its visitor enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlierPlace {
    /// The visit goes on.
    Live,
    /// The visitor missed the turn, and may enter again within the grace.
    WithinGrace,
    /// There is none.
    Gone,
}

impl Entries {
    /// Gives the visitor a place, or returns the place that the visitor already has.
    ///
    /// # Errors
    /// The problem of a visitor who may neither begin a visit nor return to one, and of a queue that gives no place.
    pub(crate) async fn enter(
        &self,
        snapshot: &QueueSnapshot,
        identity: &EnteringIdentity,
    ) -> Result<(EnteringVisitor, EnteredPlace), Problem> {
        let visitor = self.select_visitor(snapshot, identity).await?;
        let entry = self.entry(snapshot, visitor.id);
        // A page of the visitor is open.
        entry.or_problem(entry.remove_closing_mark().await).await?;
        let mut entered = entry.enter_line(identity, &visitor).await?;
        if entered.is_none() {
            // The line still listed a visit that had ended, because it had lost the end. That visit is
            // removed now, so this call begins a new one.
            entered = entry.enter_line(identity, &visitor).await?;
        }
        let mut place =
            entered.ok_or_else(|| Problem::recovering("other requests keep changing the entry"))?;
        if place.is_new_visit && !visitor.may_begin {
            entry.end_forbidden_visit(place.live.status).await?;
            return Err(if identity.is_named {
                // The visit was anonymous. The next request enters under the name.
                Problem::recovering("the visit ended while its visitor entered")
            } else {
                entering_problem(snapshot)
            });
        }
        if let Some(given_up) = visitor.given_up {
            // After entering, so that a request that is refused or killed costs no place.
            self.entry(snapshot, given_up).leave(None).await?;
        }
        entry.record_presence();
        place.live.lane = entry.read_lane_if_far(place.live.status).await;
        Ok((visitor, place))
    }

    /// Selects the entry with which the visitor enters. A visitor who joined anonymously, and then logged in or got a ticket,
    /// keeps the anonymous place. That place counts only while it is live or can be entered again within the grace. With a
    /// bypass the visitor enters under the name in the ticket, and gives up the anonymous place.
    async fn select_visitor(
        &self,
        snapshot: &QueueSnapshot,
        identity: &EnteringIdentity,
    ) -> Result<EnteringVisitor, Problem> {
        let (by_name, by_secret) = (identity.by_name, identity.by_secret);
        let by_cookie_or_header = identity.by_cookie_or_header;
        let (mut generated, mut place, mut given_up) = (None, None, None);
        let id = match by_name {
            Some(known) => {
                let anonymous = by_secret.filter(|entry| entry.kind() == VisitorKind::Anon);
                let anonymous = anonymous.or(by_cookie_or_header);
                if let Some(id) = anonymous {
                    let found = self.entry(snapshot, id).earlier_place().await?;
                    place = Some(found).filter(|place| *place != EarlierPlace::Gone);
                }
                if identity.has_bypass() {
                    given_up = anonymous.filter(|_| place.take() == Some(EarlierPlace::Live));
                }
                anonymous.filter(|_| place.is_some()).unwrap_or(known)
            }
            None => by_secret.or(by_cookie_or_header).unwrap_or_else(|| {
                let visitor = Visitor::from_random(Uuid::new_v4());
                snapshot.ids.entry_id(generated.insert(visitor))
            }),
        };
        let is_under_name = by_name.is_none_or(|name| name == id);
        let is_for_anyone = snapshot.settings().visitors == Visitors::Anyone;
        let may_begin = (identity.may_begin && (is_under_name || is_for_anyone)) || {
            let place = match place {
                Some(place) => place,
                None => self.entry(snapshot, id).earlier_place().await?,
            };
            if place == EarlierPlace::Gone {
                return Err(entering_problem(snapshot));
            }
            // If there is room, a visitor who missed the turn is let in at once, by a new visit.
            place == EarlierPlace::WithinGrace
        };
        let has_secret = identity.ticket.is_some() || by_secret == Some(id);
        Ok(EnteringVisitor {
            id,
            generated,
            secret: has_secret.then(|| snapshot.ids.visitor_secret(id)),
            lane: identity.lane.filter(|_| is_under_name).unwrap_or_default(),
            may_begin,
            given_up,
        })
    }
}

impl EntryHandle<'_> {
    async fn earlier_place(&self) -> Result<EarlierPlace, Problem> {
        let lookup = self.line.status(self.queue(), self.id).await;
        match self.or_problem(lookup).await? {
            EntryLookup::Found(_) => Ok(EarlierPlace::Live),
            // The line may have lost the entry.
            EntryLookup::NotFound(missing) => Ok(match self.resolve_missing_entry(missing).await? {
                MissingEntryOutcome::Restored(_) => EarlierPlace::Live,
                outcome if grace_until_ms(&outcome, self.snapshot).is_some() => EarlierPlace::WithinGrace,
                _ => EarlierPlace::Gone,
            }),
        }
    }

    /// Ends the visit of a visitor who may not begin one: the visit to which the visitor returned has ended meanwhile. The
    /// visitor has no pass of the new visit, so no slot need be held.
    async fn end_forbidden_visit(&self, status: EntryStatus) -> Result<(), Problem> {
        let visit = Some(status.visit());
        match status {
            EntryStatus::Active { .. } => self.complete(visit).await,
            _ => self.leave(visit).await,
        }
    }

    /// Gives the visitor a place, or returns the place that the visitor already has. Returns `None`
    /// if the line listed a visit that had ended, or if the line and the backup disagree. The
    /// caller may then try again. A visitor who was never here before cannot return.
    async fn enter_line(
        &self,
        identity: &EnteringIdentity,
        visitor: &EnteringVisitor,
    ) -> Result<Option<EnteredPlace>, Problem> {
        let configuration = &self.snapshot.view.configuration;
        let draw = configuration.draw_before_opening();
        let drawn_order = draw.map(|seed| seed.draw(self.id));
        let enter = |arrival| {
            self.line
                .enter_lane(self.queue(), self.id, arrival, drawn_order, visitor.lane)
        };
        let mut entered = enter(if identity.has_bypass() {
            Arrival::Bypass
        } else {
            Arrival::Ordinary
        })
        .await;
        if let Ok(EnterOutcome::Refused(Refusal::QueueFull)) = entered
            && visitor.generated.is_none()
            && self.has_stored_place().await
        {
            entered = enter(Arrival::Returning).await;
        }
        if let Ok(EnterOutcome::Refused(Refusal::Finished)) = entered
            && visitor.generated.is_none()
            && self.has_restored_turn().await
        {
            entered = enter(Arrival::Ordinary).await;
        }
        let (kind, status, change) = match self.or_problem(entered).await? {
            EnterOutcome::Joined { kind, status, change } => (kind, status, change),
            EnterOutcome::Refused(Refusal::Finished) => {
                return Err(Problem::queue_finished(self.snapshot.settings()));
            }
            EnterOutcome::Refused(refusal) => return Err(refusal.into()),
        };
        if let Some(change) = &change
            && change.version.epoch != configuration.epoch
        {
            self.refuse_earlier_generation().await?;
        }
        let source = identity.source;
        let change = change.map(|change| Change { source, ..change });
        let live = self.persist_place(kind, status, change).await?;
        Ok(live.map(|(live, is_restored)| EnteredPlace {
            live,
            is_new_visit: match kind {
                JoinKind::NewVisit => !is_restored,
                JoinKind::TookBack => true,
                JoinKind::Kept | JoinKind::Requeued => false,
            },
        }))
    }

    /// Whether the backup has a place to which the visitor returns by entering: the line lost the
    /// entry, or the visitor missed the turn and is within the grace. A full queue refuses no such
    /// visitor. Only the backup knows, so each refused visitor costs a read of it.
    async fn has_stored_place(&self) -> bool {
        let now_ms = self.snapshot.now_ms();
        self.read_record().await.is_some_and(|record| {
            let is_live = record.fact.is_live()
                && record
                    .fact
                    .deadline_ms()
                    .is_none_or(|deadline_ms| deadline_ms > now_ms);
            is_live || self.snapshot.grace_until_ms(&record).is_some()
        })
    }

    /// Whether the visitor has a turn or a session that the line had lost, and has again now. A client does
    /// not ask again once it is told that the queue is over.
    async fn has_restored_turn(&self) -> bool {
        let lookup = self.query_line(|| self.line.status(self.queue(), self.id)).await;
        let Ok(EntryLookup::Found(status)) = lookup else {
            return false;
        };
        let record = self.read_record().await;
        let reconciled = self.reconcile_status(status, record).await;
        reconciled.is_ok_and(|(status, _)| status.state() != EntryState::Waiting)
    }

    /// Refuses a visitor who entered a queue that was reset after the snapshot was taken, because
    /// the token belongs to the earlier generation. The place is given back.
    async fn refuse_earlier_generation(&self) -> Result<(), Problem> {
        self.entries.queues.invalidate(self.queue());
        let newer = self.entries.queues.get(self.queue()).await?;
        if newer.view.configuration.generation == self.snapshot.view.configuration.generation {
            return Ok(());
        }
        let outcome = self
            .line
            .leave(self.queue(), self.id, None, LeaveReason::Leave)
            .await;
        if let Ok(LeaveOutcome::Ended(change)) = outcome {
            self.entries.entry(&newer, self.id).write_change(&change).await?;
        }
        Err(Problem::recovering(
            "the queue was reset while the visitor entered",
        ))
    }

    /// Writes the place that the line gave to the backup, or returns the place that the visitor had before, and whether
    /// it was restored: the line had lost it, or the visitor missed the turn and came back within the grace. Returns
    /// `None` in the cases of [`enter_line`](Self::enter_line).
    async fn persist_place(
        &self,
        kind: JoinKind,
        status: EntryStatus,
        change: Option<Change>,
    ) -> Result<Option<(LiveEntry, bool)>, Problem> {
        let Some(mut change) = change else {
            return self.confirm_place(status).await;
        };
        if kind == JoinKind::TookBack
            && let Event::FastTracked { claimed_at_ms, .. } = &mut change.event
        {
            // The longest session counts from its first claim, however often the visitor leaves.
            let earlier = self.read_record().await;
            *claimed_at_ms = earlier.and_then(|record| record.claimed_at_ms);
        }
        let Entries {
            line,
            backup,
            notifier,
            ..
        } = self.entries;
        let partition = self.snapshot.partition();
        let persisted = persist_entry(line, &**backup, &partition, status, &change).await;
        notifier.wake(self.id);
        match persisted {
            Ok(persisted) => Ok(persisted.map(|persisted| {
                let durable = Some(persisted.durable);
                let live = LiveEntry::new(persisted.status, persisted.record, durable);
                (live, persisted.is_restored)
            })),
            // The visitor has the place anyway, and the line returns it to every later request.
            Err(LineError::JournalFull) if kind == JoinKind::Kept => {
                Ok(Some((LiveEntry::new(status, None, Some(false)), false)))
            }
            Err(error) => Err(self.line_problem(error).await),
        }
    }

    /// Returns the place that a visitor keeps, after line and backup agree about it. Returns `None`
    /// if the visit has ended.
    async fn confirm_place(&self, status: EntryStatus) -> Result<Option<(LiveEntry, bool)>, Problem> {
        let record = self.read_record().await;
        let partition = self.snapshot.partition();
        let reconciled = self.engine(&partition).reconcile_status(self.id, status, record);
        match reconciled.await {
            Ok(ReconciledEntry::Live {
                status,
                record,
                durable,
            }) => Ok(Some((LiveEntry::new(status, record, durable), false))),
            Ok(ReconciledEntry::Missing(_)) => Ok(None),
            Err(error) => Err(self.missing_entry_error_problem(error).await),
        }
    }
}
