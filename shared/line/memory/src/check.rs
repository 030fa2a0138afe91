//! The consistency check of one queue in memory: pages of entries, and who runs the check.

use vestibule_domain::id::{EntryId, SHARD_COUNT};
use vestibule_line::{CheckAssignment, CheckOrder, Cursor, PAGE_ENTRIES, Page};

use super::queue::Queue;

/// The number of sets: waiting, ready, active, held and ended, in this order.
const SETS: usize = 5;

impl Queue {
    pub(super) fn read_page(&self, now_us: u64, from: &Cursor) -> Page {
        let now_ms = self.now_ms(now_us);
        let after = EntryId::from_member(&from.after).ok();
        let mut page = Page::default();
        let mut ids: Vec<EntryId> = match from.set {
            0 => self.waiting.iter().map(|(_, id)| id).collect(),
            1 => self.ready.iter().map(|(_, id)| id).collect(),
            2 => self.active.iter().map(|(_, id)| id).collect(),
            3 => self.held.iter().map(|(_, id)| id).collect(),
            _ => self.ended.unsettled().map(|end| end.id).collect(),
        };
        ids.retain(|id| Some(*id) > after);
        // The order of ids stays the same while entries move, so a cursor stays valid.
        ids.sort_unstable();
        for id in ids.iter().take(PAGE_ENTRIES) {
            match self.ended.get(*id) {
                Some(end) if from.set == SETS - 1 => page.ends.push(*end),
                _ if from.set == SETS - 2 => {
                    let held = self.held.find(*id);
                    page.held.extend(held.map(|(fact, _)| (*id, fact)));
                }
                _ => page
                    .entries
                    .extend(self.stored_entry(now_ms, *id).map(|entry| (*id, entry))),
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

    pub(super) fn take_check(&mut self, now_us: u64, order: CheckOrder) -> CheckAssignment {
        let now_ms = self.now_ms(now_us);
        let (v, imbalance) = (self.v, self.compute_imbalance());
        let checks = &mut self.check_progress;
        // A clock that was set back does not delay the check: nothing is left of a wait that begins
        // in the future.
        let time_left_ms = |since_ms: u64, wait_ms: u64| {
            let passed_ms = now_ms.checked_sub(since_ms).unwrap_or(wait_ms);
            wait_ms.saturating_sub(passed_ms)
        };
        if checks.last_progress_ms > 0 {
            // A check is running. If it has been silent for too long, its caller has probably died
            // and another one takes over.
            let due_in_ms = time_left_ms(checks.last_progress_ms, order.silent_ms);
            if due_in_ms > 0 {
                return CheckAssignment::NotDue { due_in_ms };
            }
        } else {
            let wait_ms = if v == checks.checked_v {
                order.idle_ms
            } else {
                order.every_ms
            };
            let mut due_in_ms = time_left_ms(checks.checked_at_ms, wait_ms).min(order.every_ms);
            let is_loss_known = checks.due_ms > 0;
            if is_loss_known {
                due_in_ms = due_in_ms.min(time_left_ms(checks.loss_check_began_ms, order.loss_ms));
            }
            if due_in_ms > 0 {
                return CheckAssignment::NotDue { due_in_ms };
            }
            if is_loss_known {
                // A loss that is noticed from now on sets another check due.
                (checks.due_ms, checks.loss_check_began_ms) = (0, now_ms);
            }
            (checks.current_v, checks.checked_imbalance) = (v, imbalance);
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
            (checks.checked_at_ms, checks.checked_v) = (now_ms, checks.current_v);
            (checks.last_progress_ms, checks.covered_shards) = (0, 0);
        } else {
            (checks.covered_shards, checks.last_progress_ms) = (covered_shards, now_ms);
        }
    }
}
