//! What must hold after a queue was restored, reset, or deleted and created again.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_domain::{
    configuration::Configuration, id::EntryId, record::EntryRecord, state::EntryState, tally::QueueTotals,
};

use super::{
    rules::{Check, Moment, require},
    stored_copy::place_of,
};

/// What became of a queue.
pub(crate) enum Recovered {
    /// It is as it was.
    Unchanged,
    Restored(Box<RestoredQueue>),
    /// It is a new one with this configuration.
    New {
        configuration: Box<Configuration>,
        /// Whether its pace bucket is full. Otherwise it is empty.
        is_full: bool,
    },
}

/// A queue that was restored.
pub(crate) struct RestoredQueue {
    pub(crate) configuration: Configuration,
    /// The records of the entries with a place or a slot.
    pub(crate) records: Vec<EntryRecord>,
    pub(crate) has_lost_keys: bool,
    /// Whether the backup had all that the line had and that was not lost.
    pub(crate) is_exact: bool,
}

impl Recovered {
    /// How many entries no total of the queue counts.
    pub(super) fn uncounted(&self) -> Option<usize> {
        match self {
            Self::Unchanged => None,
            Self::Restored(restored) => {
                let live = restored.records.iter().filter(|record| record.fact.is_live());
                Some(live.count())
            }
            Self::New { .. } => Some(0),
        }
    }

    pub(super) fn check(&self, before: &Moment, after: &Moment) -> Check {
        let (configuration, is_full) = match self {
            Self::Unchanged => {
                return require(
                    before.dump == after.dump && before.configuration() == after.configuration(),
                    || format!("a late process changed {:?} to {:?}", before.dump, after.dump),
                );
            }
            Self::Restored(restored) => {
                restored.require_records(after)?;
                restored.require_last_order(after)?;
                if restored.is_exact {
                    restored.require_kept_entries(before, after)?;
                }
                (&restored.configuration, false)
            }
            Self::New {
                configuration,
                is_full,
            } => {
                require_empty(after)?;
                (configuration.as_ref(), *is_full)
            }
        };
        require(after.configuration() == configuration, || {
            format!(
                "{:?} is in force instead of {configuration:?}",
                after.configuration()
            )
        })?;
        require(after.view.version.epoch > before.view.version.epoch, || {
            format!("the epoch is {}", after.view.version.epoch)
        })?;
        let totals = after.view.totals;
        require(totals == QueueTotals::default(), || {
            format!("the queue begins with {totals:?}")
        })?;
        let full = if is_full {
            after.view.bucket_pace.full_credit()
        } else {
            0
        };
        require(after.view.bucket.credit == full, || {
            format!("the bucket begins with {:?} of {full}", after.view.bucket)
        })
    }
}

impl RestoredQueue {
    fn entries(&self, state: EntryState, score: impl Fn(&EntryRecord) -> u64) -> Vec<(EntryId, u64)> {
        let records = self.records.iter();
        let in_state = records.filter(|record| record.fact.live_state() == Some(state));
        sorted(in_state.map(|record| (record.id, score(record))))
    }

    /// Each entry of the backup is there once, with its place or its time and as far as it had come, and no other one is.
    fn require_records(&self, after: &Moment) -> Check {
        let claim_by_ms = after.view.now_ms + self.configuration.settings.claim_ms();
        let held = self
            .records
            .iter()
            .filter(|record| record.fact.live_state().is_none());
        let dump = &after.dump;
        for (what, found, expected) in [
            (
                "waiting",
                &dump.waiting,
                self.entries(EntryState::Waiting, place_of),
            ),
            (
                "ready",
                &dump.ready,
                self.entries(EntryState::Ready, |_| claim_by_ms),
            ),
            (
                "active",
                &dump.active,
                self.entries(EntryState::Active, |record| record.fact.step_ms),
            ),
            (
                "held",
                &dump.held,
                sorted(held.map(|record| (record.id, record.fact.step_ms))),
            ),
        ] {
            require(*found == expected, || {
                format!("{found:?} are {what} after the restore of {expected:?}")
            })?;
        }
        let expected = self.records.iter().map(|record| {
            let fact = record.fact;
            (record.id, (fact.visit.number(), fact.step.number()))
        });
        let (found, expected) = (after.progress(), expected.collect::<BTreeMap<_, _>>());
        require(found == expected, || {
            format!("the entries came to {found:?} instead of {expected:?}")
        })
    }

    /// Whoever enters next is behind all.
    fn require_last_order(&self, after: &Moment) -> Check {
        let last = self.records.iter().map(|record| record.visit().number()).max();
        let known = after.total("last_order").cast_unsigned();
        require(last.is_none_or(|last| last <= known), || {
            format!("the last visit is {last:?}, and the queue goes on from {known}")
        })
    }

    /// The line is the same as before, in the same order, and nobody is admitted twice. Of a line that lost its keys, who was
    /// promoted may wait once more, and whose session ran out may be active again until the next tick.
    fn require_kept_entries(&self, before: &Moment, after: &Moment) -> Check {
        let now_ms = after.view.now_ms;
        let holds = |moment: &Moment| {
            let held = moment.dump.held.iter();
            held.filter(|(_, end_ms)| *end_ms > now_ms)
                .copied()
                .collect::<Vec<_>>()
        };
        let again: BTreeSet<_> = before.ids(EntryState::Ready);
        let ends = before.ends();
        let waiting = without(&after.dump.waiting, |entry| {
            let is_new = !before.dump.waiting.contains(entry);
            is_new && self.has_lost_keys && (again.contains(&entry.0) || ends.contains_key(&entry.0))
        });
        let in_session = |moment: &Moment| {
            without(&moment.dump.active, |(_, end_ms)| {
                self.has_lost_keys && *end_ms <= now_ms
            })
        };
        for (what, was, is) in [
            ("waiting", &before.dump.waiting, &waiting),
            ("active", &in_session(before), &in_session(after)),
            ("held", &holds(before), &holds(after)),
        ] {
            require(was == is, || {
                format!("{is:?} are {what} after the restore, and were {was:?}")
            })?;
        }
        if self.has_lost_keys {
            return Ok(());
        }
        let ready = after.ids(EntryState::Ready);
        require(ready == again, || {
            format!("{ready:?} are ready after the restore, and were {again:?}")
        })
    }
}

/// A new queue has nothing of an earlier one.
fn require_empty(after: &Moment) -> Check {
    let (dump, view) = (&after.dump, &after.view);
    let sets = [
        &dump.waiting,
        &dump.ready,
        &dump.active,
        &dump.held,
        &dump.settled,
        &dump.present,
        &dump.closing,
    ];
    let texts = [&dump.visits, &dump.ended];
    let is_empty = sets.iter().all(|set| set.is_empty())
        && texts.iter().all(|hash| hash.is_empty())
        && dump.seen.is_empty()
        && (view.journal_len, view.dead_letters) == (0, 0);
    require(is_empty, || format!("the new queue has {dump:?}"))
}

fn without(set: &[(EntryId, u64)], drops: impl Fn(&(EntryId, u64)) -> bool) -> Vec<(EntryId, u64)> {
    set.iter().filter(|entry| !drops(entry)).copied().collect()
}

/// In the order of a dump.
fn sorted(entries: impl Iterator<Item = (EntryId, u64)>) -> Vec<(EntryId, u64)> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by_key(|(id, score)| (*score, *id));
    entries
}
