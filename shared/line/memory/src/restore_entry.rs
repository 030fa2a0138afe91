//! The restore of one entry that the line lost. A line in memory loses no entries, but this module
//! specifies the rules.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    entry_status::EntryStatus,
    id::EntryId,
    score::{DeadlineScore, WaitScore},
};
use vestibule_line::{ReplacedEntry, RestoreEntryOrder, RestoreEntryOutcome};

use super::queue::Queue;

impl Queue {
    pub(super) fn restore_entry(&mut self, now_us: u64, order: &RestoreEntryOrder) -> RestoreEntryOutcome {
        let (record, now_ms) = (&order.record, self.now_ms(now_us));
        let Some(event) = order.restore_event() else {
            return RestoreEntryOutcome::AlreadyEnded;
        };
        let configuration = &self.configuration;
        if configuration.generation != order.generation || configuration.epoch < record.version.epoch {
            return RestoreEntryOutcome::Rejected;
        }
        let replaced_visit = match order.replaced {
            ReplacedEntry::NewVisit(visit) => Some(visit),
            ReplacedEntry::Nothing | ReplacedEntry::Ticket(_) => None,
        };
        let status = self.entry_status(now_ms, record.id);
        if let Some(status) = status
            && (Some(status.visit()) != replaced_visit || status.visit() == record.visit)
        {
            return RestoreEntryOutcome::AlreadyLive(status);
        }
        let is_live = status.is_some();
        // `due`: the deadline has passed and no promotion has dropped the entry yet. `is_over`:
        // this visit ended after the change that the record shows.
        let due =
            !is_live && (self.ready.score(record.id).is_some() || self.active.score(record.id).is_some());
        let end = self.ended.get(&record.id);
        let is_later_end = |end: &Change| end.version >= record.version && end.event.visit() == record.visit;
        if due || end.is_some_and(is_later_end) || (replaced_visit.is_some() && !is_live) {
            return RestoreEntryOutcome::AlreadyEnded;
        }
        if replaced_visit.is_none() {
            let ticket = match self.revival_tickets.get(&record.id) {
                Some(ticket) => *ticket,
                None => self.issue_revival_ticket(now_us, order),
            };
            if order.replaced != ReplacedEntry::Ticket(ticket) {
                return RestoreEntryOutcome::TicketIssued(ticket);
            }
            // The entry ended after the ticket was issued, in whatever visit. The record may be
            // older than that end, so it does not count. An end of an earlier epoch came before the
            // ticket.
            let ticket_version = Version {
                epoch: self.configuration.epoch,
                v: ticket,
            };
            if self
                .ended
                .get(&record.id)
                .is_some_and(|end| end.version > ticket_version)
            {
                return RestoreEntryOutcome::AlreadyEnded;
            }
            self.revival_tickets.remove(&record.id);
        }
        self.restore_to_state(now_us, order, event, is_live)
    }

    fn issue_revival_ticket(&mut self, now_us: u64, order: &RestoreEntryOrder) -> u64 {
        let ticket = self.take_next_version(now_us).v;
        self.revival_tickets.insert(order.record.id, ticket);
        ticket
    }

    fn restore_to_state(
        &mut self,
        now_us: u64,
        order: &RestoreEntryOrder,
        event: Event,
        is_live: bool,
    ) -> RestoreEntryOutcome {
        let (record, now_ms) = (&order.record, self.now_ms(now_us));
        // New versions are above all versions of the lost history, and new places are behind the
        // restored one.
        self.v = self.v.max(record.version.v);
        let version = self.take_next_version(now_us);
        let change = |event| Change {
            id: record.id,
            version,
            at_ms: now_ms,
            event,
        };
        let visit = record.visit;
        if let Event::Claimed { session_end_ms, .. } = event
            && session_end_ms <= now_ms
        {
            let how = EndReason::Expired;
            let end = change(Event::Ended { visit, how });
            self.ended.insert(record.id, end);
            self.totals.expired += 1;
            return RestoreEntryOutcome::SessionExpired(end);
        }
        self.last_order = self.last_order.max(record.score.map_or(0, WaitScore::order));
        self.waiting.remove(record.id);
        self.ready.remove(record.id);
        self.active.remove(record.id);
        self.totals.entered += u64::from(!is_live);
        self.insert_entry(now_ms, record.id, event);
        self.entry_status(now_ms, record.id).map_or(
            RestoreEntryOutcome::AlreadyEnded,
            |status: EntryStatus| RestoreEntryOutcome::Restored {
                status,
                change: change(event.with_deadline_of(&status)),
            },
        )
    }

    /// Puts an entry into the set of its state: waiting at its place, or active until its session
    /// ends. A ready entry gets a new claim deadline, because its visitor could not claim while the
    /// line did not have the entry.
    pub(super) fn insert_entry(&mut self, now_ms: u64, id: EntryId, event: Event) {
        match event {
            Event::Entered { score } => self.waiting.insert(score, id),
            Event::Promoted { .. } | Event::StillReady { .. } => {
                let claim_by_ms = self.claim_clock_ms(now_ms) + self.claim_ms(now_ms);
                self.ready
                    .insert(DeadlineScore::new(claim_by_ms, event.visit()), id);
            }
            Event::Claimed { session_end_ms, .. } => {
                self.active
                    .insert(DeadlineScore::new(session_end_ms, event.visit()), id);
            }
            Event::FastTracked { .. } | Event::Extended { .. } | Event::Ended { .. } => {}
        }
    }
}
