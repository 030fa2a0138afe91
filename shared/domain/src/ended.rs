//! Decides whether the end in a durable record is the end of the visit that the line still lists.
//! Code that removes such an entry from the line relies on it. The visit number alone is not
//! sufficient: a new visit may have the same number as the ended one while the record still shows
//! the old visit. See `docs/adr/0006-failover-losses.md`.

use super::{
    entry_status::EntryStatus,
    record::EntryRecord,
    score::{Visit, WaitScore},
};

impl EntryRecord {
    /// Whether this record is the end of the visit whose `status` the line lists. It is true only
    /// if that is certain: the visit ended at the same place, after the same promotion, or in the
    /// same session, compared to the millisecond. A visit that began after the end has a later
    /// place, promotion and session.
    ///
    /// `claim_ms` is the current claim time, in milliseconds. If it was different at the promotion,
    /// or if the queue was paused since then, the promotions cannot be compared and the result is
    /// `false`.
    pub fn is_end_of(&self, status: &EntryStatus, claim_ms: u64) -> bool {
        match *status {
            EntryStatus::Waiting { score, .. } => self.is_end_of_place(score),
            EntryStatus::Ready {
                visit, claim_by_ms, ..
            } => {
                let promoted_at_ms = claim_by_ms.checked_sub(claim_ms);
                let is_same_promotion = promoted_at_ms.is_some() && self.promoted_at_ms == promoted_at_ms;
                // A restored entry gets the full claim time again, so only its deadline is comparable.
                let is_same_turn = self.claimed_at_ms.is_none() && self.expires_at_ms == Some(claim_by_ms);
                self.is_end_of_visit(visit) && (is_same_promotion || is_same_turn)
            }
            EntryStatus::Active {
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

    /// Whether this record is the end of the visit with the place `score`. If the record does not
    /// know its own place, the visit number must be the same and the place must have been given
    /// before the end.
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
        change::{Change, EndReason, Event, Version},
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

    /// The record in the backup after these events, each with its time in milliseconds.
    fn record_after(events: &[(u64, Event)]) -> EntryRecord {
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
            record = EntryRecord::apply_change(record.as_ref(), &change, 24).or(record);
        }
        record.expect("there are events")
    }

    fn visit_events() -> [(u64, Event); 4] {
        let (score, visit) = (place(JOINED_MS), place(JOINED_MS).visit());
        let (claim_by_ms, session_end_ms) = (PROMOTED_MS + CLAIM_MS, SESSION_END_MS);
        let how = EndReason::Left;
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

    /// What a line lists for a visit that joined `later_ms` later: its place, its turn, and its session.
    fn entry_statuses(later_ms: u64) -> [EntryStatus; 3] {
        let score = place(JOINED_MS + later_ms);
        let (visit, now_ms) = (score.visit(), ENDED_MS + later_ms);
        [
            EntryStatus::Waiting { score, position: 1 },
            EntryStatus::Ready {
                visit,
                claim_by_ms: PROMOTED_MS + CLAIM_MS + later_ms,
                now_ms,
            },
            EntryStatus::Active {
                visit,
                session_end_ms: SESSION_END_MS + later_ms,
                now_ms,
            },
        ]
    }

    #[test]
    fn an_end_matches_only_its_own_visit() {
        let [entered, promoted, claimed, ended] = visit_events();
        let whole = record_after(&[entered, promoted, claimed, ended]);
        for status in entry_statuses(0) {
            assert!(whole.is_end_of(&status, CLAIM_MS), "{status:?}");
            let live = record_after(&[entered, promoted, claimed]);
            assert!(
                !live.is_end_of(&status, CLAIM_MS),
                "the visit has not ended: {status:?}"
            );
        }
        // The next visit, and a later visit with the same number.
        for later_ms in [5_000, 4_096] {
            for status in entry_statuses(later_ms) {
                assert_eq!(status.visit() == whole.visit, later_ms == 4_096);
                assert!(!whole.is_end_of(&status, CLAIM_MS), "{status:?}");
            }
        }
    }

    #[test]
    fn an_incomplete_record_ends_no_visit() {
        let [entered, promoted, claimed, ended] = visit_events();
        let [waits, is_called, is_in] = entry_statuses(0);
        let left_in_line = record_after(&[entered, ended]);
        assert!(left_in_line.is_end_of(&waits, CLAIM_MS));
        assert!(!left_in_line.is_end_of(&is_called, CLAIM_MS) && !left_in_line.is_end_of(&is_in, CLAIM_MS));
        let left_when_called = record_after(&[entered, promoted, ended]);
        assert!(left_when_called.is_end_of(&is_called, CLAIM_MS));
        let EntryStatus::Ready {
            visit,
            claim_by_ms,
            now_ms,
        } = is_called
        else {
            unreachable!("the second status is ready")
        };
        let is_called_until = |claim_by_ms| EntryStatus::Ready {
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
            "the claim time or the promotion differs"
        );
        let put_back = EntryRecord {
            promoted_at_ms: Some(PROMOTED_MS - 500),
            ..left_when_called.clone()
        };
        assert!(put_back.is_end_of(&is_called, CLAIM_MS), "the turn is the same");
        assert!(!left_when_called.is_end_of(&is_in, CLAIM_MS));
        // The record does not know its place. A place with the same visit number that was given
        // before the end has ended.
        let unknown = record_after(&[claimed, ended]);
        assert!(unknown.is_end_of(&waits, CLAIM_MS) && unknown.is_end_of(&is_in, CLAIM_MS));
        for later_ms in [4_096, 5_000] {
            assert!(
                !unknown.is_end_of(&entry_statuses(later_ms)[0], CLAIM_MS),
                "{later_ms}"
            );
        }
    }
}
