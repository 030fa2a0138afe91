//! Departures from an active session of one queue in memory, and the slots that they leave behind.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    entry_status::EntryStatus,
    fact::Fact,
    id::EntryId,
    score::Visit,
    settings::Settings,
    state::EntryState,
};
use vestibule_line::{LeaveOutcome, LeaveReason, NotFound};

use super::{account::Account, queue::Queue};

/// How long a process may go on signing passes by earlier settings, in milliseconds: the age of the
/// copy of a queue that it reads. `configure.lua` has the same number.
const SETTINGS_SPREAD_MS: u64 = 2_000;

impl Queue {
    /// What the queue knows of an entry, also of one whose slot is held and whose end it does not
    /// remember any more. Such an end has the current version and time.
    pub(super) fn account_or_held(&self, now_ms: u64, id: EntryId) -> Account {
        match (self.account(now_ms, id), self.held.find(id)) {
            (Account::Unknown, Some((fact, how))) => Account::Ended(self.build_end(now_ms, id, (fact, how))),
            (account, _) => account,
        }
    }

    /// The end of an entry, at the current version and time.
    pub(super) fn build_end(&self, now_ms: u64, id: EntryId, (fact, how): (Fact, EndReason)) -> Change {
        Change {
            id,
            version: Version {
                epoch: self.configuration.epoch,
                v: self.v,
            },
            at_ms: now_ms,
            event: Event::Ended { fact, how },
            source: None,
        }
    }

    /// The slots taken: of entries that are ready or active, and held ones.
    pub(super) fn taken_slots(&self) -> u64 {
        self.ready.len() + self.active.len() + self.held.len()
    }

    /// Until when passes may be valid that were issued before these settings, in Unix milliseconds. No
    /// pass outlasts its session.
    pub(super) fn passes_until_after(&self, new: &Settings, now_ms: u64) -> u64 {
        let old = self.settings();
        if old.pass_seconds == new.pass_seconds {
            return self.passes_until_ms;
        }
        let left_ms = self.active.last_ms().unwrap_or(0).saturating_sub(now_ms);
        let pass_ms = match old.pass_seconds {
            0 => left_ms.max(old.session_ms()),
            seconds => u64::from(seconds) * 1_000,
        };
        // Other processes learn of the new settings within this time.
        self.passes_until_ms.max(now_ms + pass_ms + SETTINGS_SPREAD_MS)
    }

    pub(super) fn leave(
        &mut self,
        now_us: u64,
        id: EntryId,
        visit: Option<Visit>,
        reason: LeaveReason,
    ) -> LeaveOutcome {
        let now_ms = self.now_ms(now_us);
        let status = match self.account_or_held(now_ms, id) {
            Account::Live(entry) => self.entry_status(now_ms, id, entry.fact),
            Account::TimedOut { end, .. } | Account::Ended(end) => {
                return self.leave_held(now_us, id, visit, reason, NotFound::Ended(end));
            }
            Account::Unknown => return LeaveOutcome::NotFound(NotFound::Unknown { at_ms: now_ms }),
        };
        if visit.is_some_and(|visit| visit != status.visit()) {
            return LeaveOutcome::OtherVisit;
        }
        let how = match (reason, status.state()) {
            (LeaveReason::Evict, _) => EndReason::Evicted,
            (LeaveReason::Leave, _) => EndReason::Left,
            (LeaveReason::Complete, EntryState::Active) => EndReason::Completed,
            (LeaveReason::Complete, _) => return LeaveOutcome::NotActive(status),
        };
        let visit = status.visit();
        let free_at_ms = match status {
            EntryStatus::Active { session_end_ms, .. } if how != EndReason::Completed => {
                let until_ms = self.passes_until_ms;
                self.settings().held_until_ms(now_ms, session_end_ms, until_ms)
            }
            _ => None,
        };
        let fact = free_at_ms.map_or(Fact::ended(visit), |free_at_ms| Fact::held(visit, free_at_ms));
        let version = self.take_next_version(now_us);
        let end = self.end_visit(version, now_ms, id, fact, how);
        if let Some(free_at_ms) = free_at_ms {
            self.held.hold(id, visit, how, free_at_ms);
        }
        LeaveOutcome::Ended(end)
    }

    /// The protected service may complete a visit whose visitor has left. That frees the slot.
    fn leave_held(
        &mut self,
        now_us: u64,
        id: EntryId,
        visit: Option<Visit>,
        reason: LeaveReason,
        not_found: NotFound,
    ) -> LeaveOutcome {
        let Some((held, how)) = self.held.find(id).filter(|_| reason == LeaveReason::Complete) else {
            return LeaveOutcome::NotFound(not_found);
        };
        if visit.is_some_and(|visit| visit != held.visit) {
            return LeaveOutcome::OtherVisit;
        }
        self.held.release(id);
        let fact = Fact::ended(held.visit);
        let end = self.new_change(now_us, id, Event::Ended { fact, how });
        self.ended.add_unsettled(end);
        LeaveOutcome::Ended(end)
    }
}
