//! The consistency check of one queue in memory: pages of entries, the repair of one entry, and who
//! runs the check.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    entry_status::{EntryStatus, StoredPosition},
    id::{EntryId, SHARD_COUNT},
};
use vestibule_line::{
    CheckAssignment, CheckOrder, Cursor, PAGE_ENTRIES, Page, RepairAction, RepairOrder, RepairOutcome,
};

use super::{check_progress::CheckProgress, queue::Queue};

/// The number of sets: waiting, ready, active and ended, in this order.
const SETS: usize = 4;

impl Queue {
    pub(super) fn read_page(&self, from: &Cursor) -> Page {
        let after = EntryId::from_member(&from.after).ok();
        let mut page = Page::default();
        let mut ids: Vec<EntryId> = match from.set {
            0 => self.waiting.iter().map(|(_, id)| id).collect(),
            1 => self.ready.iter().map(|(_, id)| id).collect(),
            2 => self.active.iter().map(|(_, id)| id).collect(),
            _ => self.ended.keys().copied().collect(),
        };
        ids.retain(|id| Some(*id) > after);
        // The order of ids stays the same while entries move, so a cursor stays valid.
        ids.sort_unstable();
        for id in ids.iter().take(PAGE_ENTRIES) {
            match self.ended.get(id) {
                Some(end) if from.set == SETS - 1 => page.ends.push(*end),
                _ => page.positions.extend(
                    self.stored_position(from.set, *id)
                        .map(|position| (*id, position)),
                ),
            }
        }
        page.next = if ids.len() > PAGE_ENTRIES {
            Some(Cursor {
                set: from.set,
                after: ids[PAGE_ENTRIES - 1].to_member(),
            })
        } else {
            let set = from.set + 1;
            (set < SETS).then(|| Cursor {
                set,
                ..Cursor::default()
            })
        };
        page
    }

    fn stored_position(&self, set: usize, id: EntryId) -> Option<StoredPosition> {
        match set {
            0 => self.waiting.score(id).map(StoredPosition::Waiting),
            1 => self.ready.score(id).map(StoredPosition::Ready),
            2 => self.active.score(id).map(StoredPosition::Active),
            _ => None,
        }
    }

    pub(super) fn repair(&mut self, now_us: u64, order: &RepairOrder) -> RepairOutcome {
        let (id, observed, now_ms) = (order.id, order.observed, self.now_ms(now_us));
        let record = order.record.as_ref();
        let configuration = &self.configuration;
        if configuration.generation != order.generation
            || record.is_some_and(|record| configuration.epoch < record.version.epoch)
        {
            return RepairOutcome::Rejected;
        }
        // An entry whose deadline has passed has no status. The next promotion drops it.
        let status = self.entry_status(now_ms, id);
        let stored = [0, 1, 2]
            .into_iter()
            .find_map(|set| self.stored_position(set, id));
        let is_as_observed = |status: &EntryStatus| {
            stored == Some(observed) || StoredPosition::from_status(status) == observed
        };
        let Some(status) = status.filter(is_as_observed) else {
            return RepairOutcome::Moved;
        };
        // Each change from now on gets a version above that of the backup.
        self.v = self.v.max(record.map_or(0, |record| record.version.v));
        let visit = record.map_or(observed.visit(), |record| record.visit);
        match order.choose_action() {
            RepairAction::Keep => RepairOutcome::Live {
                status,
                change: self.new_change(now_us, id, RepairOutcome::status_event(&status)),
                has_adopted: false,
            },
            RepairAction::Adopt(Event::Claimed { session_end_ms, .. }) if session_end_ms <= now_ms => self
                .drop_ended(
                    now_us,
                    id,
                    Event::Ended {
                        visit,
                        how: EndReason::Expired,
                    },
                ),
            RepairAction::Drop(how) => self.drop_ended(now_us, id, Event::Ended { visit, how }),
            RepairAction::Adopt(event) => {
                let change = self.new_change(now_us, id, event);
                self.remove_entry(id);
                self.insert_entry(now_ms, id, event);
                self.entry_status(now_ms, id)
                    .map_or(RepairOutcome::Moved, |status| RepairOutcome::Live {
                        status,
                        change: Change {
                            event: RepairOutcome::status_event(&status),
                            ..change
                        },
                        has_adopted: true,
                    })
            }
        }
    }

    fn drop_ended(&mut self, now_us: u64, id: EntryId, event: Event) -> RepairOutcome {
        self.remove_entry(id);
        match event {
            Event::Ended {
                how: EndReason::Completed,
                ..
            } => self.totals.completed += 1,
            Event::Ended {
                how: EndReason::Left, ..
            } => self.totals.left += 1,
            Event::Ended {
                how: EndReason::NoShow,
                ..
            } => self.totals.no_shows += 1,
            _ => self.totals.expired += 1,
        }
        let end = self.new_change(now_us, id, event);
        self.ended.insert(id, end);
        RepairOutcome::Ended(end)
    }

    fn remove_entry(&mut self, id: EntryId) {
        self.waiting.remove(id);
        self.ready.remove(id);
        self.active.remove(id);
    }

    pub(super) fn take_check(&mut self, now_us: u64, order: CheckOrder) -> CheckAssignment {
        let now_ms = self.now_ms(now_us);
        let v = self.v;
        let checks = &mut self.check_progress;
        let early = |since_ms: u64, wait_ms: u64| {
            let passed_ms = now_ms.checked_sub(since_ms)?;
            wait_ms.checked_sub(passed_ms).filter(|left_ms| *left_ms > 0)
        };
        if checks.last_progress_ms > 0 {
            // A check is running. If it has been silent for too long, its caller has probably died
            // and another one takes over.
            if let Some(due_in_ms) = early(checks.last_progress_ms, order.silent_ms) {
                return CheckAssignment::NotDue { due_in_ms };
            }
        } else {
            // A clock that was set back does not delay the check: `early` returns `None` for a
            // start in the future.
            let wait_ms = if v == checks.checked_v {
                order.idle_ms
            } else {
                order.every_ms
            };
            if let Some(left_ms) = early(checks.checked_at_ms, wait_ms) {
                let due_in_ms = left_ms.min(order.every_ms);
                return CheckAssignment::NotDue { due_in_ms };
            }
            checks.current_v = v;
        }
        checks.last_progress_ms = now_ms;
        CheckAssignment::Due {
            from_shard: checks.covered_shards,
        }
    }

    pub(super) fn record_check_progress(&mut self, now_us: u64, covered_shards: u8) {
        let now_ms = self.now_ms(now_us);
        let checks = &mut self.check_progress;
        if covered_shards == SHARD_COUNT {
            *checks = CheckProgress {
                checked_at_ms: now_ms,
                checked_v: checks.current_v,
                current_v: checks.current_v,
                ..CheckProgress::default()
            };
        } else {
            (checks.covered_shards, checks.last_progress_ms) = (covered_shards, now_ms);
        }
    }
}
