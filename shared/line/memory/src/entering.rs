//! Entering one queue in memory.

use vestibule_domain::{
    change::{Change, End, Event},
    clock::LineTime,
    id::EntryId,
    score::WaitScore,
    settings::{Entrance, ReEntry},
    standing::Standing,
};
use vestibule_line::{Entered, Joining, Refusal};

use super::queue::Queue;

impl Queue {
    /// Gives the visitor a place. If the journal has `journal_max` records, a visitor without a place gets none.
    pub(super) fn enter(&mut self, time: LineTime, id: EntryId, journal_max: u64) -> Entered {
        let now_us = time.us;
        if time.clocks.apart {
            // This is the offset with which the server's clock would agree with this caller's. The promoter reads
            // it as the vote of a third clock.
            self.testified_ms = Some(time.clocks.offset_ms - time.clocks.ahead_ms);
        }
        match self.standing(time.ms(), id) {
            Some(Standing::Waiting { score, position }) => self.enter_again(now_us, id, score, position),
            Some(
                standing @ Standing::Active {
                    visit,
                    session_end_ms,
                    ..
                },
            ) => {
                let change = Some(self.change(
                    now_us,
                    id,
                    Event::Claimed {
                        visit,
                        session_end_ms,
                    },
                ));
                Entered::Joined {
                    how: Joining::Kept,
                    standing,
                    change,
                }
            }
            Some(standing) => Entered::Joined {
                how: Joining::Kept,
                standing,
                change: None,
            },
            None => match self.settings().entrance {
                Entrance::Open if self.journal.is_full(journal_max) => Entered::Refused(Refusal::JournalFull),
                Entrance::Open => self.join(time, id),
                Entrance::Draining => Entered::Refused(Refusal::Draining),
                Entrance::Closed => Entered::Refused(Refusal::Closed),
            },
        }
    }

    fn enter_again(&mut self, now_us: u64, id: EntryId, score: WaitScore, position: u64) -> Entered {
        let moves =
            self.settings().re_entry == ReEntry::Requeue && self.settings().entrance == Entrance::Open;
        if !moves {
            let change = Some(self.change(now_us, id, Event::Entered { score }));
            let standing = Standing::Waiting { score, position };
            return Entered::Joined {
                how: Joining::Kept,
                standing,
                change,
            };
        }
        self.waiting.remove(id);
        let score = self.next_score(now_us);
        self.wait(now_us, id, score, Joining::Moved)
    }

    fn join(&mut self, time: LineTime, id: EntryId) -> Entered {
        // These deadlines have passed, and no promotion has dropped the entries yet.
        let (no_show, expired) = (self.ready.remove(id), self.active.remove(id));
        self.totals.no_shows += u64::from(no_show.is_some());
        self.totals.expired += u64::from(expired.is_some());
        let mut entered = self.join_anew(time, id);
        if let Some(due) = no_show.or(expired)
            && let Entered::Joined {
                change: Some(change), ..
            } = &mut entered
        {
            // The backup still shows the old visit as live. The caller that writes the new place therefore writes
            // this end first.
            let how = if no_show.is_some() {
                End::NoShow
            } else {
                End::Expired
            };
            let visit = due.visit();
            let event = Event::Ended { visit, how };
            self.ended.insert(id, Change { event, ..*change });
            self.v += 1;
            change.version.v = self.v;
        }
        entered
    }

    fn join_anew(&mut self, time: LineTime, id: EntryId) -> Entered {
        let (now_us, now_ms) = (time.us, time.ms());
        self.totals.entered += 1;
        let score = self.next_score(now_us);
        let pace = self.settings().pace();
        let bucket = self.bucket.refilled(pace, now_ms);
        let room = self.ready.len() + self.active.len() < u64::from(self.settings().capacity);
        let opens = !time.clocks.apart && self.settings().promotes();
        if self.waiting.len() > 0 || !room || !opens || bucket.tokens(pace) == 0 {
            return self.wait(now_us, id, score, Joining::New);
        }
        self.bucket = bucket.spent(pace, 1);
        self.totals.fast_tracked += 1;
        let standing = self.let_in(now_ms, id, score.visit());
        let session_end_ms = now_ms + self.settings().session_ms();
        let change = Some(self.change(
            now_us,
            id,
            Event::FastTracked {
                score,
                session_end_ms,
            },
        ));
        Entered::Joined {
            how: Joining::New,
            standing,
            change,
        }
    }

    fn wait(&mut self, now_us: u64, id: EntryId, score: WaitScore, how: Joining) -> Entered {
        self.waiting.insert(score, id);
        let change = Some(self.change(now_us, id, Event::Entered { score }));
        let standing = Standing::Waiting {
            score,
            // The entry is the last in line, so its position equals the length of the line.
            position: self.waiting.len(),
        };
        Entered::Joined {
            how,
            standing,
            change,
        }
    }

    fn next_score(&mut self, now_us: u64) -> WaitScore {
        let score = WaitScore::next(self.last_order, self.now_ms(now_us));
        self.last_order = score.order();
        score
    }
}
