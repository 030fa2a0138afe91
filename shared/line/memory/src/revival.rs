//! The restore of one entry that the line lost. A line in memory loses no entries, but this module specifies the
//! rules.

use vestibule_domain::{
    change::{Change, End, Event, Version},
    id::EntryId,
    score::{DeadlineScore, WaitScore},
    standing::Standing,
};
use vestibule_line::{Instead, Revival, Revived};

use super::queue::Queue;

impl Queue {
    pub(super) fn revive(&mut self, now_us: u64, revival: &Revival) -> Revived {
        let (record, now_ms) = (&revival.record, self.now_ms(now_us));
        let Some(event) = revival.event() else {
            return Revived::Ended;
        };
        let configuration = &self.configuration;
        if configuration.generation != revival.generation || configuration.epoch < record.version.epoch {
            return Revived::Refused;
        }
        let instead = match revival.instead {
            Instead::Place(visit) => Some(visit),
            Instead::Nothing | Instead::Sought(_) => None,
        };
        let standing = self.standing(now_ms, record.id);
        if let Some(standing) = standing
            && (Some(standing.visit()) != instead || standing.visit() == record.visit)
        {
            return Revived::Here(standing);
        }
        let here = standing.is_some();
        // `due`: the deadline has passed and no promotion has dropped the entry yet. `is_over`: this visit ended
        // after the change that the record shows.
        let due = !here && (self.ready.score(record.id).is_some() || self.active.score(record.id).is_some());
        let end = self.ended.get(&record.id);
        let is_over = |end: &Change| end.version >= record.version && end.event.visit() == record.visit;
        if due || end.is_some_and(is_over) || (instead.is_some() && !here) {
            return Revived::Ended;
        }
        if instead.is_none() {
            let mark = match self.sought.get(&record.id) {
                Some(mark) => *mark,
                None => self.seek(now_us, revival),
            };
            if revival.instead != Instead::Sought(mark) {
                return Revived::Sought(mark);
            }
            // The entry ended after the ticket was issued, in whatever visit. The record may be older than that
            // end, so it does not count. An end of an earlier epoch came before the ticket.
            let marked = Version {
                epoch: self.configuration.epoch,
                v: mark,
            };
            if self.ended.get(&record.id).is_some_and(|end| end.version > marked) {
                return Revived::Ended;
            }
            self.sought.remove(&record.id);
        }
        self.put_back(now_us, revival, event, here)
    }

    fn seek(&mut self, now_us: u64, revival: &Revival) -> u64 {
        let mark = self.next_version(now_us).v;
        self.sought.insert(revival.record.id, mark);
        mark
    }

    fn put_back(&mut self, now_us: u64, revival: &Revival, event: Event, here: bool) -> Revived {
        let (record, now_ms) = (&revival.record, self.now_ms(now_us));
        // New versions are above all versions of the lost history, and new places are behind the restored one.
        self.v = self.v.max(record.version.v);
        let version = self.next_version(now_us);
        let change = |event| Change {
            id: record.id,
            version,
            at_ms: now_ms,
            event,
        };
        let visit = record.visit;
        if let Event::Claimed { session_end_ms, .. } = event
            && session_end_ms <= now_ms
        {
            let how = End::Expired;
            let end = change(Event::Ended { visit, how });
            self.ended.insert(record.id, end);
            self.totals.expired += 1;
            return Revived::Expired(end);
        }
        self.last_order = self.last_order.max(record.score.map_or(0, WaitScore::order));
        self.waiting.remove(record.id);
        self.ready.remove(record.id);
        self.active.remove(record.id);
        self.totals.entered += u64::from(!here);
        self.put(now_ms, record.id, event);
        self.standing(now_ms, record.id)
            .map_or(Revived::Ended, |standing: Standing| Revived::Back {
                standing,
                change: change(event.until(&standing)),
            })
    }

    /// Puts an entry into the set of its state: waiting at its place, or active until its session ends. A ready
    /// entry gets a new claim deadline, because its visitor could not claim while the line did not have the entry.
    pub(super) fn put(&mut self, now_ms: u64, id: EntryId, event: Event) {
        match event {
            Event::Entered { score } => self.waiting.insert(score, id),
            Event::Promoted { .. } | Event::StillReady { .. } => {
                let claim_by_ms = self.claim_clock_ms(now_ms) + self.claim_ms(now_ms);
                self.ready
                    .insert(DeadlineScore::new(claim_by_ms, event.visit()), id);
            }
            Event::Claimed { session_end_ms, .. } => {
                self.active
                    .insert(DeadlineScore::new(session_end_ms, event.visit()), id);
            }
            Event::FastTracked { .. } | Event::Extended { .. } | Event::Ended { .. } => {}
        }
    }
}
