//! Entering one queue in memory.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    clock::LineTime,
    entry_status::EntryStatus,
    id::EntryId,
    score::WaitScore,
    settings::{Entrance, ReEntry},
};
use vestibule_line::{EnterOutcome, JoinKind, Refusal};

use super::queue::Queue;

impl Queue {
    /// Gives the visitor a place. If the journal has `journal_max` records, a visitor without a
    /// place gets none.
    pub(super) fn enter(&mut self, time: LineTime, id: EntryId, journal_max: u64) -> EnterOutcome {
        let now_us = time.us;
        if time.clocks.apart {
            // This is the offset with which the server's clock would agree with this caller's. The
            // promoter reads it as the vote of a third clock.
            self.proposed_offset_ms = Some(time.clocks.offset_ms - time.clocks.ahead_ms);
        }
        match self.entry_status(time.ms(), id) {
            Some(EntryStatus::Waiting { score, position }) => self.re_enter(now_us, id, score, position),
            Some(
                status @ EntryStatus::Active {
                    visit,
                    session_end_ms,
                    ..
                },
            ) => {
                let change = Some(self.new_change(
                    now_us,
                    id,
                    Event::Claimed {
                        visit,
                        session_end_ms,
                    },
                ));
                EnterOutcome::Joined {
                    kind: JoinKind::Kept,
                    status,
                    change,
                }
            }
            Some(status) => EnterOutcome::Joined {
                kind: JoinKind::Kept,
                status,
                change: None,
            },
            None => match self.settings().entrance {
                Entrance::Open if self.journal.is_full(journal_max) => {
                    EnterOutcome::Refused(Refusal::JournalFull)
                }
                Entrance::Open => self.begin_visit(time, id),
                Entrance::Draining => EnterOutcome::Refused(Refusal::Draining),
                Entrance::Closed => EnterOutcome::Refused(Refusal::Closed),
            },
        }
    }

    fn re_enter(&mut self, now_us: u64, id: EntryId, score: WaitScore, position: u64) -> EnterOutcome {
        let is_requeued =
            self.settings().re_entry == ReEntry::Requeue && self.settings().entrance == Entrance::Open;
        if !is_requeued {
            let change = Some(self.new_change(now_us, id, Event::Entered { score }));
            let status = EntryStatus::Waiting { score, position };
            return EnterOutcome::Joined {
                kind: JoinKind::Kept,
                status,
                change,
            };
        }
        self.waiting.remove(id);
        let score = self.next_score(now_us);
        self.join_line(now_us, id, score, JoinKind::Requeued)
    }

    fn begin_visit(&mut self, time: LineTime, id: EntryId) -> EnterOutcome {
        // These deadlines have passed, and no promotion has dropped the entries yet.
        let (no_show, expired) = (self.ready.remove(id), self.active.remove(id));
        self.totals.no_shows += u64::from(no_show.is_some());
        self.totals.expired += u64::from(expired.is_some());
        let mut entered = self.take_new_place(time, id);
        if let Some(due) = no_show.or(expired)
            && let EnterOutcome::Joined {
                change: Some(change), ..
            } = &mut entered
        {
            // The backup still shows the old visit as live. The caller that writes the new place
            // therefore writes this end first.
            let reason = if no_show.is_some() {
                EndReason::NoShow
            } else {
                EndReason::Expired
            };
            let visit = due.visit();
            let event = Event::Ended { visit, how: reason };
            self.ended.insert(id, Change { event, ..*change });
            self.v += 1;
            change.version.v = self.v;
        }
        entered
    }

    fn take_new_place(&mut self, time: LineTime, id: EntryId) -> EnterOutcome {
        let (now_us, now_ms) = (time.us, time.ms());
        self.totals.entered += 1;
        let score = self.next_score(now_us);
        let pace = self.settings().pace();
        let bucket = self.bucket.refill(pace, now_ms);
        let has_capacity = self.ready.len() + self.active.len() < u64::from(self.settings().capacity);
        let may_promote = !time.clocks.apart && self.settings().can_promote();
        if self.waiting.len() > 0 || !has_capacity || !may_promote || bucket.tokens(pace) == 0 {
            return self.join_line(now_us, id, score, JoinKind::NewVisit);
        }
        self.bucket = bucket.spend(pace, 1);
        self.totals.fast_tracked += 1;
        let status = self.activate(now_ms, id, score.visit());
        let session_end_ms = now_ms + self.settings().session_ms();
        let change = Some(self.new_change(
            now_us,
            id,
            Event::FastTracked {
                score,
                session_end_ms,
            },
        ));
        EnterOutcome::Joined {
            kind: JoinKind::NewVisit,
            status,
            change,
        }
    }

    fn join_line(&mut self, now_us: u64, id: EntryId, score: WaitScore, kind: JoinKind) -> EnterOutcome {
        self.waiting.insert(score, id);
        let change = Some(self.new_change(now_us, id, Event::Entered { score }));
        let status = EntryStatus::Waiting {
            score,
            // The entry is the last in line, so its position equals the length of the line.
            position: self.waiting.len(),
        };
        EnterOutcome::Joined { kind, status, change }
    }

    fn next_score(&mut self, now_us: u64) -> WaitScore {
        let score = WaitScore::next(self.last_order, self.now_ms(now_us));
        self.last_order = score.order();
        score
    }
}
