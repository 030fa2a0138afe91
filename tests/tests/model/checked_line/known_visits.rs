//! What the test knows of the visitors, and the inputs of operations that are made of it: visits, changes and ends.

use vestibule_domain::{
    change::{Change, EndReason, Event, VisitEnd},
    fact::{Fact, Turn},
    lane::Lane,
    score::{Visit, WaitScore},
};
use vestibule_line::{EntryLookup, NotFound};
use vestibule_tests::lines::visitor;

use super::CheckedLine;
use crate::operations::{EndOrder, Operation, VISITORS, VisitSelector};

/// The number of kinds of changes.
pub(crate) const CHANGE_KINDS: usize = 18;

impl CheckedLine {
    pub(super) async fn record_known_visits(&mut self) {
        let ids: Vec<_> = (1..=VISITORS).map(visitor).collect();
        let lookups = self.line.status_many(&self.queue, &ids).await;
        for (number, lookup) in (1..).zip(lookups.expect("the line answers")) {
            if let EntryLookup::Found(found) = lookup {
                self.visits.insert(number, found.visit());
            }
        }
    }

    /// Records the place that the operation gave, and forgets a place that the operation replaced.
    pub(super) async fn record_provisional_places(&mut self, op: &Operation) {
        let number = match op {
            Operation::Enter(number, ..) => *number,
            Operation::Adopt(adoption) => adoption.visitor,
            _ => return,
        };
        let known = self.visits.get(&number).copied();
        match (op, self.live_visit(number).await) {
            (Operation::Enter(..), Some(visit)) if Some(visit) != known => {
                self.provisional_places.insert(number, visit.place());
            }
            (_, live) => {
                let places = &mut self.provisional_places;
                if places.get(&number).map(|place| place.visit()) != live {
                    places.remove(&number);
                }
            }
        }
    }

    async fn live_visit(&self, number: u64) -> Option<Visit> {
        let status = self.line.status(&self.queue, visitor(number)).await;
        match status.expect("the line answers") {
            EntryLookup::Found(found) => Some(found.visit()),
            EntryLookup::NotFound(_) => None,
        }
    }

    pub(super) fn select_visit(&self, number: u64, selector: VisitSelector) -> Option<Visit> {
        let current = self.visits.get(&number).map_or(1, |visit| visit.number());
        match selector {
            VisitSelector::None => None,
            VisitSelector::Current => Visit::new(current),
            VisitSelector::Other => Visit::new(current + 1),
        }
    }

    /// What the line knows of the visitor's entry. An entry that timed out and is still in its set counts as live.
    pub(crate) async fn read_fact(&self, number: u64) -> Option<Fact> {
        let id = visitor(number);
        if let Some(entry) = self.read_all_pages().await.0.get(&id) {
            return Some(entry.fact);
        }
        let lookup = self.line.status(&self.queue, id).await;
        match lookup.expect("the line answers") {
            EntryLookup::NotFound(NotFound::Ended(end)) => Some(end.fact()),
            EntryLookup::NotFound(NotFound::Unknown { .. }) | EntryLookup::Found(_) => None,
        }
    }

    /// The ends that the backup has when the operation acknowledges them: the ones that the line knows, also of earlier
    /// visits, or ends before or after these.
    pub(super) async fn build_acknowledged_ends(&self, op: &Operation) -> Vec<VisitEnd> {
        let Operation::Acknowledge { ended, .. } = op else {
            return Vec::new();
        };
        let unsettled = self.read_all_pages().await.1;
        let mut ends = Vec::new();
        for (number, order) in ended {
            let id = visitor(*number);
            let fact = match unsettled.get(&id) {
                Some(end) => Some(end.fact()),
                None => self.read_fact(*number).await,
            };
            ends.extend(fact.map(|fact| VisitEnd {
                id,
                fact: reorder_end(fact, *order),
            }));
        }
        ends
    }

    /// A change of one kind for the last known visit of the visitor.
    pub(super) async fn build_change(&self, op: &Operation) -> Option<Change> {
        let Operation::AppendToJournal(number, kind) = op else {
            return None;
        };
        let view = self.line.queue_view(&self.queue).await.expect("view");
        let visit = self.select_visit(*number, VisitSelector::Current).expect("named");
        Some(Change {
            id: visitor(*number),
            version: view.version,
            at_ms: view.now_ms,
            event: change_kinds(visit, unused_place(*number, view.now_ms), view.now_ms)[*kind],
            source: None,
        })
    }
}

/// A place that the line gives to no other visitor.
fn unused_place(number: u64, now_ms: u64) -> WaitScore {
    WaitScore::next(
        WaitScore::next(0, now_ms).visit().number() + 1_000 + number,
        now_ms,
    )
}

/// One event of each kind.
fn change_kinds(visit: Visit, place: WaitScore, now_ms: u64) -> [Event; CHANGE_KINDS] {
    let (after, claim_by_ms, session_end_ms) = (Some(visit), now_ms + 1, now_ms + 1);
    let missed = |turn| Event::Ended {
        fact: Fact::ready(visit, turn, now_ms).timed_out(),
        how: EndReason::NoShow,
    };
    let ended = |how| Event::Ended {
        fact: Fact::ended(visit),
        how,
    };
    let promoted = |turn| Event::Promoted {
        place,
        turn,
        claim_by_ms,
    };
    [
        Event::Entered { place, after: None },
        Event::Entered { place, after },
        Event::FastTracked {
            place,
            session_end_ms,
            after,
            claimed_at_ms: None,
        },
        Event::CameBack { place },
        Event::LaneMoved {
            place: place.in_lane(Lane::LAST),
            turn: Turn::First,
            moved_at_ms: now_ms,
        },
        promoted(Turn::First),
        promoted(Turn::Second),
        Event::StillReady {
            visit,
            turn: Turn::Second,
            claim_by_ms,
        },
        Event::Claimed {
            visit,
            session_end_ms,
        },
        Event::Extended {
            visit,
            session_end_ms,
        },
        ended(EndReason::Completed),
        ended(EndReason::Left),
        ended(EndReason::Evicted),
        Event::Ended {
            fact: Fact::waiting(visit, Turn::First).timed_out(),
            how: EndReason::Dismissed,
        },
        Event::Ended {
            fact: Fact::held(visit, session_end_ms),
            how: EndReason::Left,
        },
        missed(Turn::First),
        missed(Turn::Second),
        Event::Ended {
            fact: Fact::active(visit, now_ms).timed_out(),
            how: EndReason::Expired,
        },
    ]
}

fn reorder_end(fact: Fact, order: EndOrder) -> Fact {
    let step_ms = fact.step_ms;
    match order {
        EndOrder::Earlier if step_ms > 0 => Fact {
            step_ms: step_ms - 1,
            ..fact
        },
        EndOrder::Earlier => Visit::new(fact.visit.number().saturating_sub(1)).map_or(fact, Fact::ended),
        EndOrder::Same => fact,
        EndOrder::Later => Visit::new(fact.visit.number() + 1).map_or(fact, Fact::ended),
    }
}
