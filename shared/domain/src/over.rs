//! Whether the end that a record shows is that of a visit which still stands in the line: for whoever takes somebody out of the
//! line by it. A new visit may have the number of one that is over, while the record is still that of the old one; so the
//! number alone decides nothing here. See `docs/decisions/lost-ends.md`.

use super::{
    record::Record,
    score::{Visit, WaitScore},
    standing::Standing,
};

impl Record {
    /// Whether what stands there is over, beyond doubt: at the very place that the end is of, by the same promotion, or in the
    /// same session, to the millisecond. A visit that began after the end has a later place, promotion and session. `claim_ms`
    /// is the time to claim as it is now, in milliseconds: where it was another one then, or the queue was paused since, nobody
    /// can say.
    pub fn is_end_of(&self, standing: &Standing, claim_ms: u64) -> bool {
        match *standing {
            Standing::Waiting { score, .. } => self.is_end_of_place(score),
            Standing::Ready {
                visit, claim_by_ms, ..
            } => {
                let promoted_at_ms = claim_by_ms.checked_sub(claim_ms);
                let is_same_promotion = promoted_at_ms.is_some() && self.promoted_at_ms == promoted_at_ms;
                // Also of one that was put back, and got the time to claim anew.
                let is_same_turn = self.claimed_at_ms.is_none() && self.expires_at_ms == Some(claim_by_ms);
                self.is_end_of_visit(visit) && (is_same_promotion || is_same_turn)
            }
            Standing::Active {
                visit,
                session_end_ms,
                ..
            } => {
                let is_same_session =
                    self.claimed_at_ms.is_some() && self.expires_at_ms == Some(session_end_ms);
                self.is_end_of_visit(visit) && is_same_session
            }
        }
    }

    /// Whether the visit of this place is over. Where the record does not know its own place, it is one of the same number that
    /// was given before the end.
    pub fn is_end_of_place(&self, score: WaitScore) -> bool {
        if let Some(own) = self.score {
            return !self.state.is_live() && own == score;
        }
        let is_before = |at_ms| score.joined_at_ms() < at_ms;
        self.is_end_of_visit(score.visit()) && self.ended_at_ms.is_some_and(is_before)
    }

    fn is_end_of_visit(&self, visit: Visit) -> bool {
        !self.state.is_live() && self.visit == visit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        change::{Change, End, Event, Version},
        id::EntryId,
    };

    const CLAIM_MS: u64 = 60_000;
    const JOINED_MS: u64 = 1_800_000_000_000;
    const PROMOTED_MS: u64 = JOINED_MS + 1_000;
    const CLAIMED_MS: u64 = PROMOTED_MS + 1_000;
    const SESSION_END_MS: u64 = CLAIMED_MS + 300_000;
    const ENDED_MS: u64 = CLAIMED_MS + 1_000;

    fn place(ms: u64) -> WaitScore {
        WaitScore::next(0, ms)
    }

    /// What the backup has after these events, each at its moment.
    fn after(events: &[(u64, Event)]) -> Record {
        let id: EntryId = "00000000-0000-8000-8000-000000000001".parse().expect("a token");
        let mut record = None;
        for (at_ms, event) in events {
            let version = Version {
                epoch: 1,
                v: at_ms * 1_000,
            };
            let change = Change {
                id,
                version,
                at_ms: *at_ms,
                event: *event,
            };
            record = Record::after(record.as_ref(), &change, 24).or(record);
        }
        record.expect("there are events")
    }

    fn story() -> [(u64, Event); 4] {
        let (score, visit) = (place(JOINED_MS), place(JOINED_MS).visit());
        let (claim_by_ms, session_end_ms) = (PROMOTED_MS + CLAIM_MS, SESSION_END_MS);
        let how = End::Left;
        [
            (JOINED_MS, Event::Entered { score }),
            (PROMOTED_MS, Event::Promoted { score, claim_by_ms }),
            (
                CLAIMED_MS,
                Event::Claimed {
                    visit,
                    session_end_ms,
                },
            ),
            (ENDED_MS, Event::Ended { visit, how }),
        ]
    }

    /// Where a line has it: its place, its turn, its session; of a visit that joined so much later.
    fn standings(later_ms: u64) -> [Standing; 3] {
        let score = place(JOINED_MS + later_ms);
        let (visit, now_ms) = (score.visit(), ENDED_MS + later_ms);
        [
            Standing::Waiting { score, position: 1 },
            Standing::Ready {
                visit,
                claim_by_ms: PROMOTED_MS + CLAIM_MS + later_ms,
                now_ms,
            },
            Standing::Active {
                visit,
                session_end_ms: SESSION_END_MS + later_ms,
                now_ms,
            },
        ]
    }

    #[test]
    fn an_end_is_that_of_its_visit_and_of_no_other() {
        let [entered, promoted, claimed, ended] = story();
        let whole = after(&[entered, promoted, claimed, ended]);
        for standing in standings(0) {
            assert!(whole.is_end_of(&standing, CLAIM_MS), "{standing:?}");
            let live = after(&[entered, promoted, claimed]);
            assert!(
                !live.is_end_of(&standing, CLAIM_MS),
                "it is not over: {standing:?}"
            );
        }
        // The next one, and one that has the same number.
        for later_ms in [5_000, 4_096] {
            for standing in standings(later_ms) {
                assert_eq!(standing.visit() == whole.visit, later_ms == 4_096);
                assert!(!whole.is_end_of(&standing, CLAIM_MS), "{standing:?}");
            }
        }
    }

    #[test]
    fn where_the_record_does_not_say_enough_nothing_is_over() {
        let [entered, promoted, claimed, ended] = story();
        let [waits, is_called, is_in] = standings(0);
        let left_in_line = after(&[entered, ended]);
        assert!(left_in_line.is_end_of(&waits, CLAIM_MS));
        assert!(!left_in_line.is_end_of(&is_called, CLAIM_MS) && !left_in_line.is_end_of(&is_in, CLAIM_MS));
        let left_when_called = after(&[entered, promoted, ended]);
        assert!(left_when_called.is_end_of(&is_called, CLAIM_MS));
        let Standing::Ready {
            visit,
            claim_by_ms,
            now_ms,
        } = is_called
        else {
            unreachable!("it is called")
        };
        let is_called_until = |claim_by_ms| Standing::Ready {
            visit,
            claim_by_ms,
            now_ms,
        };
        let longer = is_called_until(claim_by_ms + 1);
        assert!(
            left_when_called.is_end_of(&longer, CLAIM_MS + 1),
            "the promotion is the same"
        );
        assert!(
            !left_when_called.is_end_of(&longer, CLAIM_MS),
            "it was another time to claim, or another promotion"
        );
        let put_back = Record {
            promoted_at_ms: Some(PROMOTED_MS - 500),
            ..left_when_called.clone()
        };
        assert!(put_back.is_end_of(&is_called, CLAIM_MS), "the turn is the same");
        assert!(!left_when_called.is_end_of(&is_in, CLAIM_MS));
        // Nobody knows its place: one that was given before the end had ended by it, if it has the number.
        let unknown = after(&[claimed, ended]);
        assert!(unknown.is_end_of(&waits, CLAIM_MS) && unknown.is_end_of(&is_in, CLAIM_MS));
        for later_ms in [4_096, 5_000] {
            assert!(
                !unknown.is_end_of(&standings(later_ms)[0], CLAIM_MS),
                "{later_ms}"
            );
        }
    }
}
