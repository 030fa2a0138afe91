//! What a visitor who enters one queue in memory has to wait for.

use vestibule_domain::{clock::LineTime, settings::Entrance};
use vestibule_line::Arrival;

use super::{account::Account, queue::Queue};

impl Queue {
    /// Whether every visitor is let in at once: the mode is `passthrough`, the queue is open, and the journal has room.
    pub(super) fn lets_pass(&self, time: LineTime) -> bool {
        let is_open = self.settings().entrance_at(time.ms()) == Entrance::Open;
        let may_promote = !time.clocks.apart && self.configuration.can_promote(time.ms());
        self.settings().is_passthrough() && is_open && may_promote && !self.is_journal_full
    }

    /// Whether a visitor need not wait: the setting allows it, no entry waits but absent ones, promotion is
    /// allowed, the protected service is not down, a slot is free, and the pace bucket has a token.
    pub(super) fn is_fast_track_open(&self, time: LineTime, account: &Account) -> bool {
        let (in_force, bucket) = self.refilled_bucket(time.ms());
        let has_token = !in_force.is_service_down && bucket.tokens(in_force.pace) > 0;
        let may_promote =
            self.settings().fast_track && !time.clocks.apart && self.configuration.can_promote(time.ms());
        self.is_line_empty() && may_promote && self.has_free_slot(account) && has_token
    }

    /// Whether as many entries wait as the queue allows. Those that were absent at the last tick do not
    /// count, so that a crowd of visitors who enter need not count them.
    pub(super) fn is_full(&self, arrival: Arrival) -> bool {
        let in_line = self.waiting.len().saturating_sub(self.absent_at_tick);
        let limit = self.settings().queue_limit();
        arrival != Arrival::Returning && limit.is_some_and(|limit| in_line >= limit)
    }

    /// Whether a slot is free for this entry. The slot of its old visit is, if that visit timed out,
    /// although no promotion has dropped it yet.
    pub(super) fn has_free_slot(&self, account: &Account) -> bool {
        let own = u64::from(matches!(account, Account::TimedOut { .. }));
        self.taken_slots() - own < u64::from(self.settings().capacity)
    }

    /// Whether no entry waits but absent ones. Their number at the last tick decides too, so that a
    /// crowd of visitors who enter need not count them.
    pub(super) fn is_line_empty(&self) -> bool {
        let waiting = self.waiting.len();
        waiting == self.absent() && waiting <= self.absent_at_tick
    }
}
