//! What was seen of visitors so far, and what an operation is given of it: numbers of visits, old records, changes.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    entry_status::EntryStatus,
    record::EntryRecord,
    score::{Visit, WaitScore},
};
use vestibule_line::{EntryLine, EntryLookup, QueueLine};
use vestibule_tests::lines::visitor;

use super::Pair;
use crate::ops::{Named, Op, VISITORS};

impl Pair {
    pub(super) async fn note_visits(&mut self) {
        for number in 1..=VISITORS {
            let look = self.memory.status(&self.queue, visitor(number)).await;
            if let EntryLookup::Found(standing) = look.expect("status") {
                self.visits.insert(number, standing.visit());
                if let EntryStatus::Waiting { score, .. } = standing {
                    let version = self.memory.queue_view(&self.queue).await.expect("view").version;
                    let places = self.places.entry(number).or_default();
                    if places.back().is_none_or(|(last, _)| *last != score) {
                        places.push_back((score, version));
                    }
                    if places.len() > 2 {
                        places.pop_front();
                    }
                }
            }
        }
    }

    pub(super) fn visit(&self, number: u64, named: Named) -> Option<Visit> {
        let right = self.visits.get(&number).map_or(0, |visit| visit.number().into());
        match named {
            Named::Any => None,
            Named::Right => Visit::new(right),
            Named::Wrong => Visit::new((right + 1) % 4096),
        }
    }

    /// What the backup may have of a place that the visitor had, in each state that is live.
    pub(crate) fn old_record(&self, number: u64, state: usize) -> Option<EntryRecord> {
        let (score, version) = *self.places.get(&number)?.front()?;
        let deadline_ms = score.joined_at_ms() + 45_000;
        let (id, visit) = (visitor(number), score.visit());
        let events = [
            Event::Entered { score },
            Event::Promoted {
                score,
                claim_by_ms: deadline_ms,
            },
            Event::FastTracked {
                score,
                session_end_ms: deadline_ms,
            },
        ];
        let event = events[state];
        assert_eq!(event.visit(), visit);
        let at_ms = score.joined_at_ms();
        EntryRecord::apply_change(
            None,
            &Change {
                id,
                version,
                at_ms,
                event,
            },
            24,
        )
    }

    /// A change of each kind, of the visit that the visitor was last seen in.
    pub(super) async fn change_to_record(&self, op: &Op) -> Option<Change> {
        let Op::Record(number, kind) = op else { return None };
        let view = self.memory.queue_view(&self.queue).await.expect("view");
        let visit = self.visit(*number, Named::Right).expect("named");
        let score = WaitScore::next(0, view.now_ms);
        let session_end_ms = view.now_ms + 1;
        let kinds = [
            Event::Entered { score },
            Event::FastTracked {
                score,
                session_end_ms,
            },
            Event::Promoted {
                score,
                claim_by_ms: session_end_ms,
            },
            Event::Claimed {
                visit,
                session_end_ms,
            },
            Event::Extended {
                visit,
                session_end_ms,
            },
            Event::Ended {
                visit,
                how: EndReason::Completed,
            },
            Event::Ended {
                visit,
                how: EndReason::Left,
            },
            Event::Ended {
                visit,
                how: EndReason::NoShow,
            },
            Event::Ended {
                visit,
                how: EndReason::Expired,
            },
            Event::StillReady {
                visit,
                claim_by_ms: session_end_ms,
            },
        ];
        Some(Change {
            id: visitor(*number),
            version: view.version,
            at_ms: view.now_ms,
            event: kinds[*kind],
        })
    }
}
