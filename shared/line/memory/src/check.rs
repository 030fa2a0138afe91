//! The consistency check of one queue in memory: pages of entries, the repair of one entry, and who runs the check.

use vestibule_domain::{
    change::{Change, End, Event},
    id::{EntryId, SHARDS},
    standing::{Spot, Standing},
};
use vestibule_line::{Amends, CheckOrder, CheckTurn, Cursor, Mended, Mending, PAGE_ENTRIES, Page};

use super::queue::Queue;

/// The number of sets: waiting, ready, active and ended, in this order.
const SETS: usize = 4;

/// The progress of a queue's consistency checks.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// When the last complete check ended, in Unix milliseconds.
    checked_at_ms: u64,
    /// The version of the queue when that check began.
    checked_v: u64,
    /// The version of the queue when the current check began.
    v: u64,
    /// When the current check last reported progress, in Unix milliseconds; 0 if no check is running.
    heard_ms: u64,
    /// The number of shards that the current check has covered.
    shards: u8,
}

impl Checks {
    /// The progress of a new or restored queue. Such a queue agrees with the backup, so it counts as checked now.
    pub(super) fn none(now_ms: u64) -> Self {
        Self {
            checked_at_ms: now_ms,
            ..Self::default()
        }
    }

    /// When the last complete check ended, in Unix milliseconds.
    pub(super) fn checked_at_ms(&self) -> u64 {
        self.checked_at_ms
    }

    /// The values under their Redis field names.
    #[cfg(feature = "given-time")]
    pub(super) fn numbers(&self) -> [(&'static str, u64); 5] {
        [
            ("checked_at_ms", self.checked_at_ms),
            ("checked_v", self.checked_v),
            ("check_v", self.v),
            ("check_heard_ms", self.heard_ms),
            ("check_shards", self.shards.into()),
        ]
    }
}

impl Queue {
    pub(super) fn page(&self, from: &Cursor) -> Page {
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
                _ => page
                    .spots
                    .extend(self.spot(from.set, *id).map(|spot| (*id, spot))),
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

    fn spot(&self, set: usize, id: EntryId) -> Option<Spot> {
        match set {
            0 => self.waiting.score(id).map(Spot::Waiting),
            1 => self.ready.score(id).map(Spot::Ready),
            2 => self.active.score(id).map(Spot::Active),
            _ => None,
        }
    }

    pub(super) fn mend(&mut self, now_us: u64, mending: &Mending) -> Mended {
        let (id, seen, now_ms) = (mending.id, mending.seen, self.now_ms(now_us));
        let record = mending.record.as_ref();
        let configuration = &self.configuration;
        if configuration.generation != mending.generation
            || record.is_some_and(|record| configuration.epoch < record.version.epoch)
        {
            return Mended::Refused;
        }
        // An entry whose deadline has passed has no status. The next promotion drops it.
        let standing = self.standing(now_ms, id);
        let stands = [0, 1, 2].into_iter().find_map(|set| self.spot(set, id));
        let is_seen = |standing: &Standing| stands == Some(seen) || Spot::of(standing) == seen;
        let Some(standing) = standing.filter(is_seen) else {
            return Mended::Moved;
        };
        // Each change from now on gets a version above that of the backup.
        self.v = self.v.max(record.map_or(0, |record| record.version.v));
        let visit = record.map_or(seen.visit(), |record| record.visit);
        match mending.amends() {
            Amends::Stays => Mended::Here {
                standing,
                change: self.change(now_us, id, Mended::says(&standing)),
                moved_on: false,
            },
            Amends::GoesOn(Event::Claimed { session_end_ms, .. }) if session_end_ms <= now_ms => self
                .end_over(
                    now_us,
                    id,
                    Event::Ended {
                        visit,
                        how: End::Expired,
                    },
                ),
            Amends::Ends(how) => self.end_over(now_us, id, Event::Ended { visit, how }),
            Amends::GoesOn(event) => {
                let change = self.change(now_us, id, event);
                self.take_out(id);
                self.put(now_ms, id, event);
                self.standing(now_ms, id)
                    .map_or(Mended::Moved, |standing| Mended::Here {
                        standing,
                        change: Change {
                            event: Mended::says(&standing),
                            ..change
                        },
                        moved_on: true,
                    })
            }
        }
    }

    fn end_over(&mut self, now_us: u64, id: EntryId, event: Event) -> Mended {
        self.take_out(id);
        match event {
            Event::Ended {
                how: End::Completed, ..
            } => self.totals.completed += 1,
            Event::Ended { how: End::Left, .. } => self.totals.left += 1,
            Event::Ended { how: End::NoShow, .. } => self.totals.no_shows += 1,
            _ => self.totals.expired += 1,
        }
        let end = self.change(now_us, id, event);
        self.ended.insert(id, end);
        Mended::Ended(end)
    }

    fn take_out(&mut self, id: EntryId) {
        self.waiting.remove(id);
        self.ready.remove(id);
        self.active.remove(id);
    }

    pub(super) fn take_check(&mut self, now_us: u64, order: CheckOrder) -> CheckTurn {
        let now_ms = self.now_ms(now_us);
        let v = self.v;
        let checks = &mut self.checks;
        let early = |since_ms: u64, wait_ms: u64| {
            let passed_ms = now_ms.checked_sub(since_ms)?;
            wait_ms.checked_sub(passed_ms).filter(|left_ms| *left_ms > 0)
        };
        if checks.heard_ms > 0 {
            // A check is running. If it has been silent for too long, its caller has probably died and another one
            // takes over.
            if let Some(due_in_ms) = early(checks.heard_ms, order.silent_ms) {
                return CheckTurn::Early { due_in_ms };
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
                return CheckTurn::Early { due_in_ms };
            }
            checks.v = v;
        }
        checks.heard_ms = now_ms;
        CheckTurn::Due {
            from_shard: checks.shards,
        }
    }

    pub(super) fn note_check(&mut self, now_us: u64, shards: u8) {
        let now_ms = self.now_ms(now_us);
        let checks = &mut self.checks;
        if shards == SHARDS {
            *checks = Checks {
                checked_at_ms: now_ms,
                checked_v: checks.v,
                v: checks.v,
                ..Checks::default()
            };
        } else {
            (checks.shards, checks.heard_ms) = (shards, now_ms);
        }
    }
}
