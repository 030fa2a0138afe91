//! The known visits and places of the visitors, and the inputs of operations that are made of them: visits, old
//! records and changes.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    entry_status::EntryStatus,
    record::EntryRecord,
    score::{Visit, WaitScore},
};
use vestibule_line::{EntryLine, EntryLookup, QueueLine};
use vestibule_tests::lines::visitor;

use super::LinePair;
use crate::operations::{Operation, VISITORS, VisitSelector};

impl LinePair {
    pub(super) async fn record_known_visits(&mut self) {
        for number in 1..=VISITORS {
            let status = self.memory.status(&self.queue, visitor(number)).await;
            if let EntryLookup::Found(found) = status.expect("the line answers") {
                self.visits.insert(number, found.visit());
                if let EntryStatus::Waiting { score, .. } = found {
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

    pub(super) fn select_visit(&self, number: u64, selector: VisitSelector) -> Option<Visit> {
        let current = self.visits.get(&number).map_or(0, |visit| visit.number().into());
        match selector {
            VisitSelector::None => None,
            VisitSelector::Current => Visit::new(current),
            VisitSelector::Other => Visit::new((current + 1) % 4096),
        }
    }

    /// The record that the backup may have of an earlier place of the visitor, in one of the live states.
    pub(crate) fn build_old_record(&self, number: u64, state: usize) -> Option<EntryRecord> {
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

    /// A change of one kind for the last known visit of the visitor.
    pub(super) async fn build_change(&self, op: &Operation) -> Option<Change> {
        let Operation::AppendToJournal(number, kind) = op else {
            return None;
        };
        let view = self.memory.queue_view(&self.queue).await.expect("view");
        let visit = self.select_visit(*number, VisitSelector::Current).expect("named");
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
