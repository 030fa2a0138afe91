//! The later life of an entry of one queue in memory: claim, validation, extension and end.

use vestibule_domain::{
    change::{Change, End, Event},
    id::EntryId,
    score::{DeadlineScore, Visit},
    standing::Standing,
    state::State,
};
use vestibule_line::{Check, Claimed, Departed, Departure, Extended, Extension, Validated};

use super::queue::Queue;

impl Queue {
    pub(super) fn let_in(&mut self, now_ms: u64, id: EntryId, visit: Visit) -> Standing {
        let session_end_ms = now_ms + self.settings().session_ms();
        self.active.insert(DeadlineScore::new(session_end_ms, visit), id);
        Standing::Active {
            visit,
            session_end_ms,
            now_ms,
        }
    }

    /// Makes a ready entry active.
    fn claim_ready(&mut self, now_us: u64, id: EntryId, visit: Visit) -> (Standing, Change) {
        self.ready.remove(id);
        self.totals.claimed += 1;
        let now_ms = self.now_ms(now_us);
        let session_end_ms = now_ms + self.settings().session_ms();
        let standing = self.let_in(now_ms, id, visit);
        (
            standing,
            self.change(
                now_us,
                id,
                Event::Claimed {
                    visit,
                    session_end_ms,
                },
            ),
        )
    }

    pub(super) fn claim(&mut self, now_us: u64, id: EntryId) -> Claimed {
        match self.standing(self.now_ms(now_us), id) {
            Some(Standing::Ready { visit, .. }) => {
                let (standing, change) = self.claim_ready(now_us, id, visit);
                Claimed::Active { standing, change }
            }
            Some(
                standing @ Standing::Active {
                    visit,
                    session_end_ms,
                    ..
                },
            ) => {
                let change = self.change(
                    now_us,
                    id,
                    Event::Claimed {
                        visit,
                        session_end_ms,
                    },
                );
                Claimed::Active { standing, change }
            }
            Some(standing) => Claimed::NotYet(standing),
            None => Claimed::Gone(self.missing(id)),
        }
    }

    pub(super) fn leave(
        &mut self,
        now_us: u64,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Departed {
        let Some(standing) = self.standing(self.now_ms(now_us), id) else {
            return Departed::Missing(self.missing(id));
        };
        if visit.is_some_and(|visit| visit != standing.visit()) {
            return Departed::OtherVisit;
        }
        let how = match (departure, standing.state()) {
            (Departure::Leave | Departure::Complete, State::Active) => End::Completed,
            (Departure::Complete, _) => return Departed::NotActive(standing),
            (Departure::Leave | Departure::Evict, _) => End::Left,
        };
        Departed::Gone(self.end(now_us, id, standing.visit(), how))
    }

    fn end(&mut self, now_us: u64, id: EntryId, visit: Visit, how: End) -> Change {
        self.waiting.remove(id);
        self.ready.remove(id);
        self.active.remove(id);
        match how {
            End::Completed => self.totals.completed += 1,
            End::Left => self.totals.left += 1,
            End::NoShow | End::Expired => unreachable!("only `promote` drops an entry past its deadline"),
        }
        let change = self.change(now_us, id, Event::Ended { visit, how });
        self.ended.insert(id, change);
        change
    }

    pub(super) fn validate(&mut self, now_us: u64, id: EntryId, check: Check) -> Validated {
        let Some(mut standing) = self.standing(self.now_ms(now_us), id) else {
            return Validated::Gone(self.missing(id));
        };
        let visit = standing.visit();
        if check.visit.is_some_and(|named| named != visit) {
            return Validated::OtherVisit;
        }
        let mut change = None;
        match standing {
            Standing::Active { .. } => {}
            Standing::Ready { .. } if check.claims => {
                let (now_standing, claimed) = self.claim_ready(now_us, id, visit);
                (standing, change) = (now_standing, Some(claimed));
            }
            _ => match check
                .let_in_until_ms
                .filter(|end_ms| *end_ms > self.now_ms(now_us))
            {
                Some(end_ms) => {
                    let (now_standing, claimed) = self.let_in_again(now_us, id, visit, end_ms);
                    (standing, change) = (now_standing, Some(claimed));
                }
                None => return Validated::NotYet(standing),
            },
        }
        if check.consumes {
            change = Some(self.end(now_us, id, visit, End::Completed));
        }
        Validated::Active { standing, change }
    }

    /// Makes an entry active until its pass ends. The entry was active before the line lost that fact, and the pass
    /// proves it.
    fn let_in_again(
        &mut self,
        now_us: u64,
        id: EntryId,
        visit: Visit,
        session_end_ms: u64,
    ) -> (Standing, Change) {
        self.waiting.remove(id);
        self.ready.remove(id);
        self.totals.claimed += 1;
        self.active.insert(DeadlineScore::new(session_end_ms, visit), id);
        let event = Event::Claimed {
            visit,
            session_end_ms,
        };
        let standing = Standing::Active {
            visit,
            session_end_ms,
            now_ms: self.now_ms(now_us),
        };
        (standing, self.change(now_us, id, event))
    }

    pub(super) fn extend(&mut self, now_us: u64, id: EntryId, extension: Extension) -> Extended {
        let Some(standing) = self.standing(self.now_ms(now_us), id) else {
            return Extended::Gone(self.missing(id));
        };
        let visit = standing.visit();
        if extension.visit.is_some_and(|named| named != visit) {
            return Extended::OtherVisit;
        }
        let Standing::Active {
            session_end_ms: old_end_ms,
            now_ms,
            ..
        } = standing
        else {
            return Extended::NotYet(standing);
        };
        let asked_ms = now_ms + u64::from(extension.seconds) * 1_000;
        let session_end_ms = asked_ms.min(extension.latest_end_ms).max(old_end_ms);
        self.active.insert(DeadlineScore::new(session_end_ms, visit), id);
        let change = self.change(
            now_us,
            id,
            Event::Extended {
                visit,
                session_end_ms,
            },
        );
        Extended::Active {
            standing: Standing::Active {
                visit,
                session_end_ms,
                now_ms,
            },
            change,
        }
    }
}
