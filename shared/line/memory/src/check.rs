//! The consistency check of one queue in memory: pages of entries, and who runs the check.

use vestibule_domain::id::{EntryId, SHARD_COUNT};
use vestibule_line::{CheckAssignment, CheckOrder, Cursor, PAGE_ENTRIES, Page};

use super::{check_progress::CheckProgress, queue::Queue};

/// The number of sets: waiting, ready, active and ended, in this order.
const SETS: usize = 4;

impl Queue {
    pub(super) fn read_page(&self, now_us: u64, from: &Cursor) -> Page {
        let now_ms = self.now_ms(now_us);
        let after = EntryId::from_member(&from.after).ok();
        let mut page = Page::default();
        let mut ids: Vec<EntryId> = match from.set {
            0 => self.waiting.iter().map(|(_, id)| id).collect(),
            1 => self.ready.iter().map(|(_, id)| id).collect(),
            2 => self.active.iter().map(|(_, id)| id).collect(),
            _ => self.ended.unsettled().map(|end| end.id).collect(),
        };
        ids.retain(|id| Some(*id) > after);
        // The order of ids stays the same while entries move, so a cursor stays valid.
        ids.sort_unstable();
        for id in ids.iter().take(PAGE_ENTRIES) {
            match self.ended.get(*id) {
                Some(end) if from.set == SETS - 1 => page.ends.push(*end),
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
        let v = self.v;
        let checks = &mut self.check_progress;
        let early = |since_ms: u64, wait_ms: u64| {
            let passed_ms = now_ms.checked_sub(since_ms)?;
            wait_ms.checked_sub(passed_ms).filter(|left_ms| *left_ms > 0)
        };
        if checks.last_progress_ms > 0 {
            // A check is running. If it has been silent for too long, its caller has probably died and another one
            // takes over.
            if let Some(due_in_ms) = early(checks.last_progress_ms, order.silent_ms) {
                return CheckAssignment::NotDue { due_in_ms };
            }
        } else {
            // A clock that was set back does not delay the check: `early` returns `None` for a start in the future.
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
