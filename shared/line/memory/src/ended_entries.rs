//! The ends of visits that one queue in memory remembers.

use std::collections::HashMap;

use vestibule_domain::{
    change::{Change, VisitEnd},
    clock::LineTime,
    id::EntryId,
};
use vestibule_line::SETTLED_END_KEPT_MS;

use super::deadline_set::DeadlineSet;

/// One call deletes at most this many settled ends.
const PURGE_CHUNK: u64 = 1_000;

/// The last known end of each entry. An end is unsettled until the backup has it. A settled end
/// stays for [`SETTLED_END_KEPT_MS`], because a caller may still hold an older record of the entry.
#[derive(Debug, Default)]
pub(super) struct EndedEntries {
    ends: HashMap<EntryId, Change>,
    /// The settled ends, with the line times at which the backup had them in place of deadlines.
    settled: DeadlineSet,
}

impl EndedEntries {
    pub(super) fn get(&self, id: EntryId) -> Option<&Change> {
        self.ends.get(&id)
    }

    /// All ends, settled or not, in no particular order.
    #[cfg(feature = "given-time")]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Change> {
        self.ends.values()
    }

    /// The ends that the backup may not have yet, in no particular order.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = &Change> {
        let is_unsettled = |end: &&Change| self.settled.deadline_ms(end.id).is_none();
        self.ends.values().filter(is_unsettled)
    }

    pub(super) fn unsettled_count(&self) -> u64 {
        self.ends.len() as u64 - self.settled.len()
    }

    /// The entries whose ends are settled, with the times at which they were, in order of these times.
    #[cfg(feature = "given-time")]
    pub(super) fn settled(&self) -> impl Iterator<Item = (u64, EntryId)> {
        self.settled.iter()
    }

    /// Adds an end that the backup does not have. It replaces an earlier end of the entry.
    pub(super) fn add_unsettled(&mut self, end: Change) {
        self.settled.remove(end.id);
        self.ends.insert(end.id, end);
    }

    /// Adds an end that the backup has. It replaces an earlier end of the entry.
    pub(super) fn add_settled(&mut self, now_ms: u64, end: Change) {
        self.settled.insert(now_ms, end.id);
        self.ends.insert(end.id, end);
    }

    /// Removes the end of an entry.
    pub(super) fn remove(&mut self, id: EntryId) {
        self.settled.remove(id);
        self.ends.remove(&id);
    }

    /// Marks the end of an entry as settled, because the backup has `known_end`. An end with a
    /// greater fact stays unsettled: the entry entered and ended again since then. An end that is
    /// settled already keeps its time.
    pub(super) fn mark_settled(&mut self, now_ms: u64, known_end: &VisitEnd) {
        let id = known_end.id;
        let is_known = self.ends.get(&id).is_some_and(|end| end.fact() <= known_end.fact);
        if is_known && self.settled.deadline_ms(id).is_none() {
            self.settled.insert(now_ms, id);
        }
    }

    /// Deletes ends that were settled more than [`SETTLED_END_KEPT_MS`] ago, at most
    /// [`PURGE_CHUNK`] of them, and none while line time is uncertain.
    pub(super) fn purge(&mut self, time: LineTime) {
        let latest_ms = time.ms().checked_sub(SETTLED_END_KEPT_MS + 1);
        let Some(latest_ms) = latest_ms.filter(|_| !time.clocks.apart) else {
            return;
        };
        for _ in 0..PURGE_CHUNK {
            let Some((_, id)) = self.settled.pop_due(latest_ms) else {
                return;
            };
            self.ends.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use vestibule_domain::{
        change::{EndReason, Event, Version},
        fact::{Fact, Turn},
        score::Visit,
    };

    use super::*;

    const SETTLED_AT_MS: u64 = 1_788_220_800_000;

    fn line_time(after_ms: u64) -> LineTime {
        let now_ms = SETTLED_AT_MS + after_ms;
        LineTime::from_clocks(now_ms * 1_000, 0, now_ms, 0)
    }

    fn end(number: u64, fact: Fact) -> Change {
        let text = format!("00000000-0000-8000-8000-{number:012x}");
        Change {
            id: text.parse().expect("the text is a valid entry token"),
            version: Version::default(),
            at_ms: 0,
            event: Event::Ended {
                fact,
                how: EndReason::NoShow,
            },
            source: None,
        }
    }

    fn missed_turn(visit: u64) -> Fact {
        let visit = Visit::new(visit).expect("the number is a valid visit");
        Fact::ready(visit, Turn::First, SETTLED_AT_MS).timed_out()
    }

    #[test]
    fn settled_ends_are_purged_after_ten_seconds() {
        let mut ended = EndedEntries::default();
        for number in 0..=PURGE_CHUNK {
            let end = end(number, missed_turn(7));
            ended.add_unsettled(end);
            ended.mark_settled(SETTLED_AT_MS, &end.visit_end().expect("the change is an end"));
        }
        ended.purge(line_time(SETTLED_END_KEPT_MS));
        assert_eq!(
            ended.settled.len(),
            PURGE_CHUNK + 1,
            "ten seconds have not passed"
        );
        let clocks_apart = LineTime::from_clocks(u64::MAX / 2, 0, SETTLED_AT_MS + 60_000, 0);
        ended.purge(clocks_apart);
        assert_eq!(ended.settled.len(), PURGE_CHUNK + 1, "line time is uncertain");
        ended.purge(line_time(SETTLED_END_KEPT_MS + 1));
        assert_eq!((ended.settled.len(), ended.ends.len()), (1, 1));
        ended.purge(line_time(SETTLED_END_KEPT_MS + 1));
        assert_eq!((ended.settled.len(), ended.ends.len()), (0, 0));
    }

    #[test]
    fn only_the_end_that_the_backup_has_is_settled() {
        let mut ended = EndedEntries::default();
        let (earlier, later) = (end(1, missed_turn(7)), end(1, missed_turn(8)));
        let settle = |ended: &mut EndedEntries, at_ms: u64, known: Change| {
            ended.mark_settled(at_ms, &known.visit_end().expect("the change is an end"));
            (ended.unsettled_count(), ended.settled.deadline_ms(known.id))
        };
        assert_eq!(settle(&mut ended, 1, later), (0, None), "the line has no end");
        ended.add_unsettled(later);
        assert_eq!(settle(&mut ended, 2, earlier), (1, None));
        assert_eq!(settle(&mut ended, 3, later), (0, Some(3)));
        assert_eq!(settle(&mut ended, 4, later), (0, Some(3)), "it keeps its time");
        ended.add_unsettled(earlier);
        assert_eq!(ended.unsettled_count(), 1, "another end replaced it");
    }
}
