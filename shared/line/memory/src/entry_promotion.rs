//! Promotes one entry of one queue in memory, by order of an operator.

use vestibule_domain::{
    change::Event, clock::LineTime, entry_status::EntryStatus, fact::Turn, pace::LimitedBy,
};
use vestibule_line::{EntryPromotionOutcome, PromoteEntryOrder, Tick};

use super::{account::Account, queue::Queue};

impl Queue {
    /// Promotes one entry. The second value is the message that wakes the poll of the visitor, if the
    /// entry was promoted.
    pub(super) fn promote_entry(
        &mut self,
        time: LineTime,
        order: PromoteEntryOrder,
    ) -> (EntryPromotionOutcome, Option<Tick>) {
        let (now_ms, id) = (time.ms(), order.id);
        let status = match self.find_entry(now_ms, id) {
            Ok(status) => status,
            Err(not_found) => return (EntryPromotionOutcome::NotFound(not_found), None),
        };
        let (EntryStatus::Waiting { score: place, .. }, Account::Live(entry)) =
            (status, self.account(now_ms, id))
        else {
            return (EntryPromotionOutcome::NotWaiting(status), None);
        };
        if let Some(limit) = self.find_limit(time, order.over_pace) {
            return (EntryPromotionOutcome::Limited(limit), None);
        }
        let turn = entry.fact.turn().unwrap_or(Turn::First);
        let claim_ms = self.claim_ms(now_ms);
        let claim_by_ms = now_ms + claim_ms;
        self.remove_entry(id);
        self.put_ready(id, entry.fact.visit, turn, self.claim_clock_ms(now_ms) + claim_ms);
        let spent = u64::from(!order.over_pace);
        self.spend_promoted(self.refilled_bucket(now_ms), spent);
        let waiting_since_ms = self.configuration.waiting_since_ms(place, now_ms);
        let wait_ms = now_ms.saturating_sub(waiting_since_ms);
        self.unreported.record_wait(wait_ms);
        self.tally.waits.record(wait_ms);
        self.totals.promoted += 1;
        let event = Event::Promoted {
            place,
            turn,
            claim_by_ms,
        };
        let change = self.new_change(time.us, id, event);
        let tick = Tick {
            through: place,
            version: change.version,
            at_ms: now_ms,
            claim_by_ms,
        };
        let status = EntryStatus::Ready {
            visit: entry.fact.visit,
            claim_by_ms,
            now_ms,
        };
        (EntryPromotionOutcome::Promoted { status, change }, Some(tick))
    }

    /// What keeps an entry from being promoted by an operator; `None` if nothing does.
    fn find_limit(&self, time: LineTime, over_pace: bool) -> Option<LimitedBy> {
        let (in_force, bucket) = self.refilled_bucket(time.ms());
        let is_passthrough = self.settings().is_passthrough();
        if time.clocks.apart {
            Some(LimitedBy::Clock)
        } else if !self.configuration.can_promote(time.ms()) {
            Some(LimitedBy::Switch)
        } else if in_force.is_service_down {
            Some(LimitedBy::Service)
        } else if is_passthrough {
            None
        } else if self.taken_slots() >= u64::from(self.settings().capacity) {
            Some(LimitedBy::Capacity)
        } else if !over_pace && bucket.tokens(in_force.pace) == 0 {
            Some(LimitedBy::Pace)
        } else {
            None
        }
    }
}
