//! The promotion of one queue in memory.

use vestibule_domain::{
    adaptive_pace::PaceInForce,
    change::{Change, EndReason, Event},
    clock::LineTime,
    estimate::{TICK_GAP_MAX_MS, TickCounts},
    fact::Turn,
    id::EntryId,
    pace::{LimitedBy, PromotionBounds},
    score::WaitScore,
};
use vestibule_line::{JournalLimits, PROMOTE_CHUNK, PromoteOrder, Promotion, Tick};

use super::{chosen_entries::Places, queue::Queue};

/// What a promotion does to its entries.
pub(super) type Events = Vec<(EntryId, Event)>;

impl Queue {
    /// Runs one promotion. The second value is the message for the subscribers, if at least one
    /// entry was promoted.
    pub(super) fn promote(
        &mut self,
        time: LineTime,
        order: PromoteOrder,
        limits: JournalLimits,
    ) -> (Promotion, Option<Tick>) {
        let (now_ms, is_apart) = (time.ms(), time.clocks.apart);
        let last_tick_ms = self.ticked_at_ms;
        let loss_sign = self.look_for_loss(now_ms, order.history);
        self.is_journal_full = self.journal.due_len() >= limits.new_entries;
        let is_full = self.journal.len() >= limits.all_changes;
        let mut events = Vec::new();
        self.open_if_due(time);
        self.add_new_lanes();
        self.switch_presence(now_ms);
        let presence_tick = self.advance_presence_clock(time);
        // Nothing is dropped or promoted while line time is uncertain, or while the journal has no
        // room for the changes.
        let (no_shows, expired) = if is_apart || is_full {
            (0, 0)
        } else {
            self.held.free_due(now_ms, PROMOTE_CHUNK);
            self.drop_timed_out(now_ms, &mut events)
        };
        let budget = if is_apart || is_full {
            0
        } else {
            PROMOTE_CHUNK - no_shows - expired
        };
        let silent = self.drop_silent(budget);
        let dismissed = self.dismiss_waiting(now_ms, budget - silent, &mut events);
        let (in_force, bucket) = self.refilled_bucket(now_ms);
        let stop = self.find_stop(time, is_full, in_force);
        let is_standing = stop.is_some() || presence_tick.is_door_down;
        let overlong_waits = self.end_overlong_waits(time, is_standing, budget - silent, &mut events);
        let may_be_unheard =
            is_apart || presence_tick.is_door_down || now_ms.saturating_sub(last_tick_ms) > TICK_GAP_MAX_MS;
        let left_budget = budget - silent - dismissed - overlong_waits;
        let left = self.end_closed_pages(now_ms, may_be_unheard, left_budget, &mut events);
        let asked = order
            .max_entries
            .min(PROMOTE_CHUNK - no_shows - expired - silent - overlong_waits - left);
        let room = self.promotion_bounds(bucket.tokens(in_force.pace), asked);
        self.tally.peak.record(room.waiting, now_ms);
        let (allowed, limited_by) = match stop {
            Some(limit) => (0, limit),
            None if presence_tick.is_door_down && self.ready.len() > 0 => (0, LimitedBy::Presence),
            None => room.compute_allowance(),
        };
        if !is_apart {
            self.proposed_offset_ms = None;
        }
        let (head, limited_by) = self.choose_allowed(allowed, limited_by);
        let promoted = head.len() as u64;
        self.standstill = limited_by.as_standstill(promoted, room.waiting);
        let highest = self.make_ready(now_ms, head, &mut events);
        self.totals.promoted += promoted;
        if !is_apart {
            self.spend_promoted((in_force, bucket), promoted);
        }
        self.decide_growths();
        let absences = if presence_tick.is_running && budget > 0 {
            self.end_absences(budget - silent - overlong_waits - left - promoted, &mut events)
        } else {
            0
        };
        if self.configuration.is_scheduled(now_ms) {
            self.call_none();
        } else {
            self.call_visitors(now_ms, limited_by, in_force.pace);
        }
        self.mark_calls();
        self.absent_at_tick = self.absent();
        let is_paced = matches!(limited_by, LimitedBy::Pace | LimitedBy::Requested);
        self.record_tick(now_ms, &room, is_paced.then_some(promoted));
        if order.is_promoter {
            self.record_heartbeat(now_ms);
        }
        let tick = self.write_tick(time, events, highest);
        self.ended.purge(time);
        let promotion = Promotion {
            promoted,
            no_shows,
            expired,
            absences,
            overlong_waits,
            dismissed,
            left,
            limited_by,
            has_more: promoted + no_shows + expired + silent + absences + overlong_waits + dismissed + left
                == PROMOTE_CHUNK,
            waiting: self.waiting.len(),
            ready: self.ready.len(),
            active: self.active.len(),
            promoted_through: self.promoted_through,
            now_ms,
            clocks: time.clocks,
            tick: self.last_tick(),
            loss_sign,
            is_check_due: self.check_progress.due_ms > 0,
        };
        (promotion, tick)
    }

    /// The entries to promote, at most so many as are allowed. If there are fewer, the line or the presence of its
    /// visitors is the limit, and else `limited_by`.
    fn choose_allowed(&mut self, allowed: u64, limited_by: LimitedBy) -> (Places, LimitedBy) {
        let head = if allowed > 0 {
            self.choose_entries(allowed)
        } else {
            Places::new()
        };
        let limit = if head.len() as u64 == allowed {
            limited_by
        } else if self.waiting.len() > self.absent() {
            LimitedBy::Presence
        } else {
            LimitedBy::Line
        };
        (head, limit)
    }

    /// What keeps every entry from being promoted; `None` if nothing does. `is_full`: the journal is.
    fn find_stop(&self, time: LineTime, is_full: bool, in_force: PaceInForce) -> Option<LimitedBy> {
        if time.clocks.apart {
            Some(LimitedBy::Clock)
        } else if is_full {
            Some(LimitedBy::Journal)
        } else if !self.configuration.can_promote(time.ms()) {
            Some(LimitedBy::Switch)
        } else if in_force.is_service_down {
            Some(LimitedBy::Service)
        } else {
            None
        }
    }

    /// Drops entries whose deadline has passed, at most [`PROMOTE_CHUNK`]. Returns how many were
    /// ready and how many active.
    fn drop_timed_out(&mut self, now_ms: u64, events: &mut Events) -> (u64, u64) {
        let (mut no_shows, mut expired) = (0, 0);
        while no_shows < PROMOTE_CHUNK
            && let Some((fact, id)) = self.pop_no_show(now_ms)
        {
            let how = EndReason::NoShow;
            events.push((id, Event::Ended { fact, how }));
            no_shows += 1;
        }
        while no_shows + expired < PROMOTE_CHUNK
            && let Some((fact, id)) = self.pop_expired(now_ms)
        {
            let how = EndReason::Expired;
            events.push((id, Event::Ended { fact, how }));
            expired += 1;
        }
        self.totals.no_shows += no_shows;
        self.totals.expired += expired;
        (no_shows, expired)
    }

    fn promotion_bounds(&self, tokens: u64, asked: u64) -> PromotionBounds {
        let is_passthrough = self.settings().is_passthrough();
        let unless_passthrough = |bound: u64| if is_passthrough { u64::MAX } else { bound };
        PromotionBounds {
            waiting: self.waiting.len() - self.absent(),
            capacity: unless_passthrough(u64::from(self.settings().capacity)),
            taken: self.taken_slots(),
            tokens: unless_passthrough(tokens),
            asked,
        }
    }

    /// Makes entries ready that were taken out of the line. Returns the highest place among them.
    fn make_ready(&mut self, now_ms: u64, head: Places, events: &mut Events) -> Option<WaitScore> {
        let (claim_ms, clock_ms) = (self.claim_ms(now_ms), self.claim_clock_ms(now_ms));
        let mut highest = None;
        for (place, id) in head {
            let (visit, turn) = match self.visits.get(&id) {
                Some((visit, _)) => (*visit, Turn::Second),
                None => (place.visit(), Turn::First),
            };
            self.put_ready(id, visit, turn, clock_ms + claim_ms);
            self.promoted_through = self.promoted_through.max(place.raw());
            highest = Some(place);
            let waiting_since_ms = self.configuration.waiting_since_ms(place, now_ms);
            // If more than 256 entries joined in one millisecond, a join time may lie ahead of the
            // clock.
            let wait_ms = now_ms.saturating_sub(waiting_since_ms);
            self.unreported.record_wait(wait_ms);
            self.tally.waits.record(wait_ms);
            let claim_by_ms = now_ms + claim_ms;
            let event = Event::Promoted {
                place,
                turn,
                claim_by_ms,
            };
            events.push((id, event));
        }
        highest
    }

    /// Adds this tick to the moving averages. `room` is what the tick found. `paced` is how many entries
    /// it promoted, if only the pace limited it.
    fn record_tick(&mut self, now_ms: u64, room: &PromotionBounds, paced: Option<u64>) {
        self.averages = self.averages.record_tick(TickCounts {
            now_ms,
            waiting_before: room.waiting,
            taken_before: room.taken,
            waiting: self.waiting.len() - self.absent(),
            taken: self.taken_slots(),
            entered: self.totals.entered + self.totals.returned,
            served: self.totals.served(),
            expired: self.totals.expired,
            no_shows: self.totals.no_shows,
            passed_over: self.passed_over(),
            paced,
        });
    }

    fn record_heartbeat(&mut self, now_ms: u64) {
        if self.heartbeat_ms > 0 {
            self.unreported
                .record_tick_gap(now_ms.saturating_sub(self.heartbeat_ms));
        }
        self.heartbeat_ms = now_ms;
    }

    /// Writes what a promotion did to the journal, as one record with one version. Returns the
    /// message for the subscribers.
    pub(super) fn write_tick(
        &mut self,
        time: LineTime,
        events: Events,
        highest: Option<WaitScore>,
    ) -> Option<Tick> {
        if events.is_empty() {
            return None;
        }
        let at_ms = time.ms();
        let version = self.take_next_version(time.us);
        let change = |(id, event): (EntryId, Event)| Change {
            id,
            version,
            at_ms,
            event,
            source: None,
        };
        let changes: Vec<_> = events.into_iter().map(change).collect();
        for end in changes.iter().filter(|change| change.visit_end().is_some()) {
            self.ended.add_unsettled(*end);
        }
        self.journal.add_tick(changes);
        highest.map(|through| Tick {
            through,
            version,
            at_ms,
            claim_by_ms: at_ms + self.claim_ms(at_ms),
        })
    }
}
