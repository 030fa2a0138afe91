//! Entering one queue in memory.

use vestibule_domain::{
    change::{Change, Event},
    clock::LineTime,
    draw::DrawnOrder,
    entry_status::{EntryStatus, StoredEntry},
    fact::{Fact, Turn},
    id::EntryId,
    lane::Lane,
    score::{Visit, WaitScore},
    settings::{Entrance, ReEntry},
    state::EntryState,
};
use vestibule_line::{Arrival, EnterOutcome, JoinKind, Refusal};

use super::{account::Account, queue::Queue};

/// How a new visit begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// At the back of the line.
    Line,
    /// At once, with a token of the pace, because no entry waits.
    FastTrack,
    /// At once, without a token and whatever the capacity, because the mode of the queue is `passthrough`.
    Passthrough,
    /// At once, past the line: see [`Arrival::Bypass`].
    Bypass,
}

/// How a new visit begins, and where.
#[derive(Debug, Clone, Copy)]
struct Origin {
    way: Way,
    lane: Lane,
    /// The order that a draw gives, before the opening.
    drawn: Option<DrawnOrder>,
}

impl Queue {
    /// Gives the visitor a place. If the last tick found the journal without room for newcomers, a
    /// visitor without a place gets none.
    pub(super) fn enter(
        &mut self,
        time: LineTime,
        id: EntryId,
        arrival: Arrival,
        lane: Lane,
    ) -> EnterOutcome {
        let now_us = time.us;
        if time.clocks.apart {
            // This is the offset with which the server's clock would agree with this caller's. The
            // promoter reads it as the vote of a third clock.
            self.proposed_offset_ms = Some(time.clocks.offset_ms - time.clocks.ahead_ms);
        }
        let account = self.account(time.ms(), id);
        let entrance = self.settings().entrance_at(time.ms());
        let may_bypass = arrival == Arrival::Bypass && !time.clocks.apart;
        if let Account::Live(entry) = account {
            let is_waiting = entry.fact.live_state() == Some(EntryState::Waiting);
            if is_waiting && entrance == Entrance::Finished {
                // The next tick ends the entry.
                return EnterOutcome::Refused(Refusal::Finished);
            }
            if may_bypass && is_waiting && self.has_free_slot(&account) {
                self.totals.bypassed += 1;
                return self.admit_waiting(time, id, entry.fact.visit);
            }
            if is_waiting && self.lets_pass(time) {
                self.totals.fast_tracked += 1;
                return self.admit_waiting(time, id, entry.fact.visit);
            }
            return self.re_enter(now_us, id, &entry);
        }
        if let Some((fact, _)) = self.held.release(id)
            && fact.is_held_at(time.ms())
        {
            return self.take_back(time, id, fact, lane);
        }
        let way = if may_bypass && entrance != Entrance::Finished && self.has_free_slot(&account) {
            Way::Bypass
        } else {
            match entrance {
                Entrance::Open if self.is_journal_full => return EnterOutcome::Refused(Refusal::JournalFull),
                Entrance::Open if self.lets_pass(time) => Way::Passthrough,
                Entrance::Open if self.is_fast_track_open(time, &account) => Way::FastTrack,
                Entrance::Open if self.is_full(arrival) => return EnterOutcome::Refused(Refusal::QueueFull),
                Entrance::Open => Way::Line,
                Entrance::Draining => return EnterOutcome::Refused(Refusal::Draining),
                Entrance::Closed => return EnterOutcome::Refused(Refusal::Closed),
                Entrance::Finished => return EnterOutcome::Refused(Refusal::Finished),
            }
        };
        let drawn = match arrival {
            Arrival::Drawn(order) if self.configuration.draws_places(time.ms()) => Some(order),
            _ => None,
        };
        let origin = Origin { way, lane, drawn };
        self.begin_visit(time, id, account, origin)
    }

    fn re_enter(&mut self, now_us: u64, id: EntryId, entry: &StoredEntry) -> EnterOutcome {
        let is_requeued = entry.fact.live_state() == Some(EntryState::Waiting)
            && self.settings().re_entry == ReEntry::Requeue
            && self.settings().entrance_at(self.now_ms(now_us)) == Entrance::Open
            && !self.configuration.draws_places(self.now_ms(now_us));
        if is_requeued {
            self.remove_entry(id);
            // The entry stays in its lane.
            let old_lane = entry.place.and_then(|place| Lane::new(place.lane().into()));
            let place = self.next_place(now_us).in_lane(old_lane.unwrap_or_default());
            // After a missed first turn, the place that is given up may be provisional. The visitor
            // may then come back to the place of that turn, so no visit is named.
            let is_after_missed_turn = self.ended.get(id).is_some_and(|end| end.fact().is_missed_turn());
            let given_up = Some(entry.fact.visit).filter(|_| !is_after_missed_turn);
            return self.join_line(now_us, id, place, given_up, JoinKind::Requeued);
        }
        let now_ms = self.now_ms(now_us);
        let mut status = self.entry_status(now_ms, id, entry.fact);
        if let EntryStatus::Waiting { score, position } = &mut status {
            if !self.configuration.is_scheduled(now_ms) {
                self.check_in_by_entering(*score, id);
            }
            *position = self.position_in_lane(*score);
        }
        // The promotion of a ready entry is in the journal, so there is nothing to repeat.
        let event = Event::repeat(entry.fact, entry.place).filter(|event| event.state() != EntryState::Ready);
        EnterOutcome::Joined {
            kind: JoinKind::Kept,
            status,
            change: event.map(|event| self.new_change(now_us, id, event)),
        }
    }

    /// Makes a waiting entry active in the same visit.
    fn admit_waiting(&mut self, time: LineTime, id: EntryId, visit: Visit) -> EnterOutcome {
        let now_ms = time.ms();
        let session_end_ms = now_ms + self.settings().session_ms();
        self.remove_entry(id);
        self.put_active(id, visit, session_end_ms);
        let event = Event::Claimed {
            visit,
            session_end_ms,
        };
        EnterOutcome::Joined {
            kind: JoinKind::Kept,
            status: EntryStatus::Active {
                visit,
                session_end_ms,
                now_ms,
            },
            change: Some(self.new_change(time.us, id, event)),
        }
    }

    fn begin_visit(&mut self, time: LineTime, id: EntryId, account: Account, origin: Origin) -> EnterOutcome {
        // A visitor who missed the first turn may come back to the old place, which only the backup
        // can tell. In a crowd no earlier visit is looked for: if the backup still shows one as live,
        // it refuses the place, and an adoption names the visit.
        let is_looked_for =
            self.is_line_empty() || origin.way != Way::Line || matches!(account, Account::TimedOut { .. });
        let over_for_good = account
            .fact()
            .filter(|fact| is_looked_for && !fact.is_missed_turn());
        let after = over_for_good.map(|fact| fact.visit);
        let Account::TimedOut { end, how } = account else {
            return self.take_new_place(time, id, after, origin);
        };
        // The deadline has passed, and no promotion has dropped the entry yet.
        self.remove_entry(id);
        self.count_end(how);
        let mut entered = self.take_new_place(time, id, after, origin);
        if let EnterOutcome::Joined {
            change: Some(change), ..
        } = &mut entered
        {
            // The backup still shows the old visit as live, so the line keeps this end until the
            // backup has it.
            self.ended.add_unsettled(Change {
                version: change.version,
                ..end
            });
            self.v += 1;
            change.version.v = self.v;
        }
        entered
    }

    fn take_new_place(
        &mut self,
        time: LineTime,
        id: EntryId,
        after: Option<Visit>,
        origin: Origin,
    ) -> EnterOutcome {
        let (now_us, now_ms) = (time.us, time.ms());
        self.totals.entered += 1;
        let place = self.next_place(now_us).in_lane(origin.lane);
        match origin.way {
            Way::Line => {
                let drawn = origin.drawn.map(|order| order.place(place.visit()));
                let place = drawn.unwrap_or(place).in_lane(origin.lane);
                return self.join_line(now_us, id, place, after, JoinKind::NewVisit);
            }
            Way::FastTrack => {
                self.spend(self.refilled_bucket(now_ms), 1);
                self.totals.fast_tracked += 1;
            }
            Way::Passthrough => self.totals.fast_tracked += 1,
            Way::Bypass => self.totals.bypassed += 1,
        }
        let session_end_ms = now_ms + self.settings().session_ms();
        self.admit(time, id, place, session_end_ms, after, JoinKind::NewVisit)
    }

    /// Gives a visitor the own held slot back: a new visit until the same end, whatever the pace, the
    /// capacity and the entrance. So no visitor has two slots.
    fn take_back(&mut self, time: LineTime, id: EntryId, held: Fact, lane: Lane) -> EnterOutcome {
        self.totals.entered += 1;
        let place = self.next_place(time.us).in_lane(lane);
        self.admit(
            time,
            id,
            place,
            held.step_ms,
            Some(held.visit),
            JoinKind::TookBack,
        )
    }

    /// Begins a visit that is active at once.
    fn admit(
        &mut self,
        time: LineTime,
        id: EntryId,
        place: WaitScore,
        session_end_ms: u64,
        after: Option<Visit>,
        kind: JoinKind,
    ) -> EnterOutcome {
        let (now_us, now_ms) = (time.us, time.ms());
        self.put_active(id, place.visit(), session_end_ms);
        self.fast_tracked.insert(id);
        let event = Event::FastTracked {
            place,
            session_end_ms,
            after,
            claimed_at_ms: None,
        };
        EnterOutcome::Joined {
            kind,
            status: EntryStatus::Active {
                visit: place.visit(),
                session_end_ms,
                now_ms,
            },
            change: Some(self.new_change(now_us, id, event)),
        }
    }

    fn join_line(
        &mut self,
        now_us: u64,
        id: EntryId,
        place: WaitScore,
        after: Option<Visit>,
        kind: JoinKind,
    ) -> EnterOutcome {
        self.put_waiting(id, place, place.visit(), Turn::First);
        let change = Some(self.new_change(now_us, id, Event::Entered { place, after }));
        let position = if self.has_lanes {
            self.position_in_lane(place)
        } else {
            // The entry is the last in line, so its position equals the length of the line.
            self.waiting.len().saturating_sub(self.absent_at_tick).max(1)
        };
        let status = EntryStatus::Waiting {
            score: place,
            position,
        };
        if !self.configuration.is_scheduled(self.now_ms(now_us)) {
            self.call_newcomer(place, id);
        }
        EnterOutcome::Joined { kind, status, change }
    }

    fn next_place(&mut self, now_us: u64) -> WaitScore {
        let place = WaitScore::next(self.last_order, self.now_ms(now_us));
        self.last_order = place.order();
        place
    }
}
