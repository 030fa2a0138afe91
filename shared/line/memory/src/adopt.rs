//! Brings one entry of one queue in memory into agreement with its record in the backup. The
//! greater fact wins.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    clock::LineTime,
    fact::{Fact, Step, Turn},
    id::EntryId,
    reconcile::{Provisional, Verdict, reconcile, resolve_provisional},
    record::EntryRecord,
    score::{Visit, WaitScore},
    state::EntryState,
};
use vestibule_line::{ADOPT_WITHIN_MS, AdoptBasis, AdoptOrder, AdoptOutcome};

use super::{account::Account, queue::Queue};

impl Queue {
    /// The doc of [`RecoveryLine::adopt`](vestibule_line::RecoveryLine::adopt) has the rules.
    pub(super) fn adopt(&mut self, time: LineTime, order: &AdoptOrder) -> AdoptOutcome {
        let now_us = time.us;
        let (id, record, now_ms) = (order.id, order.record.as_ref(), self.now_ms(now_us));
        let configuration = &self.configuration;
        if configuration.generation != order.generation
            || record.is_some_and(|record| configuration.epoch < record.version.epoch)
        {
            return AdoptOutcome::Rejected;
        }
        let latest = Visit::latest_at(time.latest_visit_ms());
        if record.is_some_and(|record| record.visit() > latest) {
            return AdoptOutcome::FromTheFuture;
        }
        let account = self.account_or_held(now_ms, id);
        if let AdoptBasis::Provisional { place, grace_seconds } = order.basis
            && is_provisional(&account, place)
        {
            return self.adopt_provisional(now_us, account, order, place, grace_seconds);
        }
        let is_recent = match order.basis {
            AdoptBasis::UnknownAt(at_ms) => now_ms.saturating_sub(at_ms) <= ADOPT_WITHIN_MS,
            AdoptBasis::Known | AdoptBasis::Provisional { .. } => false,
        };
        if account.fact().is_none() && !is_recent {
            return AdoptOutcome::Rejected;
        }
        self.adopt_greater(now_us, account, order)
    }

    /// Compares what the line knows with the record. The greater fact wins.
    fn adopt_greater(&mut self, now_us: u64, account: Account, order: &AdoptOrder) -> AdoptOutcome {
        let now_ms = self.now_ms(now_us);
        let is_unknown = matches!(account, Account::Unknown);
        // A slot that has become free since is nothing to take over.
        let is_free = |fact: &Fact| is_unknown && fact.step == Step::Held && !fact.is_held_at(now_ms);
        let fact = order.record.as_ref().map(|record| record.fact);
        let fact = fact.filter(|fact| !is_free(fact));
        match (reconcile(account.fact(), fact), &order.record) {
            (Verdict::Adopt, Some(record)) => self.take_over(now_us, account, record),
            (verdict, _) => self.keep(now_us, order.id, account, verdict),
        }
    }

    /// Compares a provisional place with what is known of the entry before it.
    fn adopt_provisional(
        &mut self,
        now_us: u64,
        account: Account,
        order: &AdoptOrder,
        place: WaitScore,
        grace_seconds: u32,
    ) -> AdoptOutcome {
        let id = order.id;
        let record = order.record.as_ref();
        // A session that ran out meanwhile is over, although the backup does not have its end yet.
        let record_fact = record.map(|record| match record.fact {
            fact if has_run_out(fact, self.now_ms(now_us)) => fact.timed_out(),
            fact => fact,
        });
        let known = record_fact.max(self.ended.get(id).map(Change::fact));
        match (resolve_provisional(place, None, known, grace_seconds), record) {
            (Provisional::Stands, _) => AdoptOutcome::Stands {
                after: known.map(|known| known.visit),
            },
            (Provisional::Compared, _) => self.adopt_greater(now_us, account, order),
            (Provisional::Continues(_), Some(record)) => self.take_over(now_us, account, record),
            (Provisional::Outdated(known) | Provisional::Continues(known), _) => {
                self.last_order = self.last_order.max(known.visit.number());
                self.remove_entry(id);
                self.uncount_entered();
                self.take_next_version(now_us);
                if let Some(record) = record.filter(|record| record.fact == known) {
                    self.hold_slot_of(record, self.now_ms(now_us));
                }
                AdoptOutcome::EnterAgain
            }
            (Provisional::ComesBack(fact), _) => {
                let old_place = record.filter(|record| record.visit() == fact.visit);
                let old_place = old_place.and_then(|record| record.score);
                self.come_back(now_us, id, fact, old_place.unwrap_or_else(|| fact.visit.place()))
            }
        }
    }

    /// Replaces a provisional visit by an earlier one, whose visitor missed the first turn and came
    /// back within the grace.
    fn come_back(&mut self, now_us: u64, id: EntryId, fact: Fact, place: WaitScore) -> AdoptOutcome {
        let now_ms = self.now_ms(now_us);
        self.uncount_entered();
        self.totals.returned += 1;
        self.replace_entry(now_ms, id, fact, Some(place), true);
        AdoptOutcome::Live {
            status: self.entry_status(now_ms, id, fact),
            change: Some(self.new_change(now_us, id, Event::CameBack { place })),
            has_adopted: true,
        }
    }

    /// Keeps what the line has, and returns the change to write if the backup does not have it.
    fn keep(&mut self, now_us: u64, id: EntryId, account: Account, verdict: Verdict) -> AdoptOutcome {
        let needs_write = verdict == Verdict::Write;
        let end = match account {
            Account::Live(entry) => {
                let status = self.entry_status(self.now_ms(now_us), id, entry.fact);
                let event = Event::repeat(entry.fact, entry.place).filter(|_| needs_write);
                return AdoptOutcome::Live {
                    status,
                    change: event.map(|event| self.new_change(now_us, id, event)),
                    has_adopted: false,
                };
            }
            Account::TimedOut { end, .. } if needs_write => Some(self.new_change(now_us, id, end.event)),
            Account::Ended(end) => Some(end),
            Account::TimedOut { .. } | Account::Unknown => None,
        };
        AdoptOutcome::Ended {
            change: end.filter(|_| needs_write),
            has_removed: false,
        }
    }

    /// Takes over the record's fact, which is greater than what the line has, or replaces a
    /// provisional place.
    fn take_over(&mut self, now_us: u64, account: Account, record: &EntryRecord) -> AdoptOutcome {
        let (now_ms, fact) = (self.now_ms(now_us), record.fact);
        self.last_order = self.last_order.max(fact.visit.number());
        if let Some(how) = record.end_reason() {
            return self.take_over_end(now_us, account, record, how);
        }
        self.count_new_account(&account, fact);
        if has_run_out(fact, now_ms) {
            return self.take_over_expired(now_us, account, record);
        }
        let is_claim = matches!(account, Account::Live(entry) if entry.fact.step != Step::Active)
            && fact.step == Step::Active;
        self.totals.claimed += u64::from(is_claim);
        let fact = match fact.live_state() {
            Some(EntryState::Ready) => Fact {
                // The visitor could not claim while the line had another account of the entry.
                step_ms: fact.step_ms.max(now_ms + self.claim_ms(now_ms)),
                ..fact
            },
            _ => fact,
        };
        self.replace_entry(now_ms, record.id, fact, record.score, false);
        let version = self.take_next_version(now_us);
        let repeat = Event::repeat(fact, record.score).filter(|event| event.state() == EntryState::Ready);
        AdoptOutcome::Live {
            status: self.entry_status(now_ms, record.id, fact),
            // The deadline is new.
            change: repeat.map(|event| Change {
                id: record.id,
                version,
                at_ms: now_ms,
                event,
                source: None,
            }),
            has_adopted: true,
        }
    }

    /// Takes over the end of a visit. The backup has it already.
    fn take_over_end(
        &mut self,
        now_us: u64,
        account: Account,
        record: &EntryRecord,
        how: EndReason,
    ) -> AdoptOutcome {
        let now_ms = self.now_ms(now_us);
        // An entry that no set holds has been counted when it ended.
        if account.is_in_set() {
            self.remove_entry(record.id);
            self.count_end(how);
        }
        self.held.release(record.id);
        self.hold_slot_of(record, now_ms);
        self.take_next_version(now_us);
        let fact = record.fact;
        let end = Change {
            id: record.id,
            version: record.version,
            at_ms: record.ended_at_ms.unwrap_or(now_ms),
            event: Event::Ended { fact, how },
            source: None,
        };
        self.ended.add_settled(now_ms, end);
        AdoptOutcome::Ended {
            change: None,
            has_removed: matches!(account, Account::Live(_)),
        }
    }

    /// Holds the slot of a visit that ended, if its record says so.
    fn hold_slot_of(&mut self, record: &EntryRecord, now_ms: u64) {
        if let Some(how) = record.end_reason().filter(|_| record.fact.is_held_at(now_ms)) {
            self.held
                .hold(record.id, record.visit(), how, record.fact.step_ms);
        }
    }

    /// Takes over a session that has run out meanwhile. The backup does not have its end.
    fn take_over_expired(&mut self, now_us: u64, account: Account, record: &EntryRecord) -> AdoptOutcome {
        self.remove_entry(record.id);
        let how = EndReason::Expired;
        let fact = record.fact.timed_out();
        let end = self.new_change(now_us, record.id, Event::Ended { fact, how });
        self.count_end(how);
        self.ended.add_unsettled(end);
        AdoptOutcome::Ended {
            change: Some(end),
            has_removed: matches!(account, Account::Live(_)),
        }
    }

    /// Counts a visit that the line did not have in its sets, so that each visit that was counted
    /// as begun or as going on is in a set, or counted as ended.
    fn count_new_account(&mut self, account: &Account, fact: Fact) {
        match account {
            Account::Live(_) | Account::TimedOut { .. } => {}
            Account::Ended(end) if end.fact().visit == fact.visit => self.totals.returned += 1,
            Account::Ended(_) | Account::Unknown => self.totals.entered += 1,
        }
    }

    /// Takes back the count of a provisional place, which is no visit. A total is never negative:
    /// if no visitor counts as entered, this visitor came back, and moved to the back of the line
    /// afterwards.
    fn uncount_entered(&mut self) {
        let totals = &mut self.totals;
        if totals.entered > 0 {
            totals.entered -= 1;
        } else {
            totals.returned = totals.returned.saturating_sub(1);
        }
    }

    /// Puts an entry into the set of a live fact, in place of what the line has of it. A waiting
    /// visitor who `is_here` checks in.
    fn replace_entry(
        &mut self,
        now_ms: u64,
        id: EntryId,
        fact: Fact,
        place: Option<WaitScore>,
        is_here: bool,
    ) {
        let Fact { visit, step_ms, .. } = fact;
        self.remove_entry(id);
        // Every end that the line has of the entry is of an earlier fact.
        self.ended.remove(id);
        let turn = fact.turn().unwrap_or(Turn::First);
        match fact.live_state() {
            Some(EntryState::Waiting) => {
                let place = place.unwrap_or_else(|| visit.place());
                self.put_waiting(id, place, visit, turn);
                self.waiting.set_moved_at_ms(id, step_ms);
                self.put_back(place, id, is_here);
            }
            Some(EntryState::Ready) => {
                // Stored by the claim clock.
                let behind_ms = now_ms - self.claim_clock_ms(now_ms);
                self.put_ready(id, visit, turn, step_ms - behind_ms);
            }
            _ => self.put_active(id, visit, step_ms),
        }
    }
}

/// Whether a live entry still has the provisional place that `enter` gave.
fn is_provisional(account: &Account, place: WaitScore) -> bool {
    let Account::Live(entry) = account else {
        return false;
    };
    entry.fact.visit == place.visit() && matches!(entry.fact.step, Step::Waiting | Step::Active)
}

/// Whether a fact that is live by itself is of a session that has ended meanwhile.
fn has_run_out(fact: Fact, now_ms: u64) -> bool {
    fact.live_state() == Some(EntryState::Active) && fact.step_ms <= now_ms
}
