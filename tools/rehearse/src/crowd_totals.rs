//! What a crowd counted of itself, by the names of the server's report.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    conduct::Conduct,
    order::{TurnRecord, count_overtaken},
    visit_record::{VisitEnd, VisitRecord},
};

/// The counts of a crowd.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct CrowdTotals {
    /// Visitors who arrived.
    pub(crate) arrived: u64,
    /// Visitors by their conduct.
    pub(crate) by_conduct: BTreeMap<Conduct, u64>,
    /// Visitors who got a place.
    pub(crate) entered: u64,
    /// Visitors who may have got a place without an answer.
    pub(crate) may_have_entered: u64,
    /// Visitors who were let in at once.
    pub(crate) fast_tracked: u64,
    /// Visitors who learnt of their turn.
    pub(crate) promoted: u64,
    /// Visitors who ended while they knew themselves in line. The server may have promoted them meanwhile.
    pub(crate) may_be_promoted: u64,
    /// Visitors who claimed.
    pub(crate) claimed: u64,
    /// Visits that the protected service completed.
    pub(crate) completed: u64,
    /// Visitors who left.
    pub(crate) left: u64,
    /// Those of them who left with a slot, which may have timed out at that moment.
    pub(crate) left_slot: u64,
    /// Turns and waits that the server ended because the visitor was silent.
    pub(crate) lapsed: u64,
    /// Sessions that ran out.
    pub(crate) expired: u64,
    /// Visitors who did as told and were ended by the server, by code.
    pub(crate) lost: BTreeMap<String, u64>,
    /// Visitors whom the server refused, by code.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Visitors without a place at the end.
    pub(crate) without_place: u64,
    /// Visits whose end was not answered.
    pub(crate) unknown: u64,
}

impl CrowdTotals {
    /// Counts these visits.
    pub(crate) fn of_visits(visits: &[VisitRecord]) -> Self {
        let mut totals = Self::default();
        for visit in visits {
            totals.add(visit);
        }
        totals
    }

    fn add(&mut self, visit: &VisitRecord) {
        self.arrived += 1;
        *self.by_conduct.entry(visit.conduct).or_default() += 1;
        self.entered += u64::from(visit.has_entered);
        self.may_have_entered += u64::from(!visit.has_entered && visit.may_have_entered);
        self.fast_tracked += u64::from(visit.is_fast_tracked);
        self.promoted += u64::from(visit.is_promoted);
        let is_in_line = visit.has_entered && !visit.is_promoted && !visit.is_fast_tracked;
        self.may_be_promoted += u64::from(is_in_line);
        self.claimed += u64::from(visit.is_claimed);
        match &visit.end {
            VisitEnd::Completed => self.completed += 1,
            VisitEnd::LeftLine => self.left += 1,
            VisitEnd::LeftSlot => {
                self.left += 1;
                self.left_slot += 1;
            }
            VisitEnd::NoShow | VisitEnd::Lapsed => self.lapsed += 1,
            VisitEnd::SessionExpired => self.expired += 1,
            VisitEnd::Lost(code) => *self.lost.entry(code.clone()).or_default() += 1,
            VisitEnd::Refused(code) => *self.refused.entry(code.clone()).or_default() += 1,
            VisitEnd::NoPlace => self.without_place += 1,
            VisitEnd::Unknown => self.unknown += 1,
        }
    }

    /// Visits whose ends the crowd cannot tell: they were not answered, or the server ended them.
    pub(crate) fn unclear_ends(&self) -> u64 {
        self.unknown + self.lost.values().sum::<u64>() + self.may_have_entered
    }
}

/// How many visitors who did as told were promoted later than one behind them.
pub(crate) fn count_overtaken_visits(visits: &[VisitRecord], claim_seconds: u64) -> u64 {
    let turn = |visit: &VisitRecord| {
        let (lane, place) = visit.place?;
        Some(TurnRecord {
            lane,
            place,
            promoted_at_ms: visit.promoted_at_ms(claim_seconds)?,
        })
    };
    let honest = visits.iter().filter(|visit| visit.conduct.is_honest_in_line());
    count_overtaken(&honest.filter_map(turn).collect::<Vec<_>>())
}

/// The moments at which visitors got a slot, in Unix milliseconds of the server.
pub(crate) fn admissions_ms(visits: &[VisitRecord], claim_seconds: u64) -> Vec<u64> {
    let admission = |visit: &VisitRecord| {
        let fast_tracked_at_ms = visit.joined_at_ms.filter(|_| visit.is_fast_tracked);
        visit.promoted_at_ms(claim_seconds).or(fast_tracked_at_ms)
    };
    visits.iter().filter_map(admission).collect()
}

/// The waits until the promotion that the visitors know, sorted, in milliseconds.
pub(crate) fn sorted_waits_ms(visits: &[VisitRecord], claim_seconds: u64) -> Vec<u64> {
    let mut waits: Vec<_> = visits
        .iter()
        .filter_map(|visit| visit.wait_ms(claim_seconds))
        .collect();
    waits.sort_unstable();
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(end: VisitEnd) -> VisitRecord {
        VisitRecord {
            has_entered: true,
            place: Some((4, 10)),
            joined_at_ms: Some(1_000),
            end,
            ..VisitRecord::new(Conduct::Honest)
        }
    }

    fn promoted(end: VisitEnd, claim_by_ms: u64) -> VisitRecord {
        VisitRecord {
            is_promoted: true,
            claim_by_ms: Some(claim_by_ms),
            ..visit(end)
        }
    }

    #[test]
    fn a_visitor_who_left_the_line_may_have_been_promoted() {
        let visits = [visit(VisitEnd::LeftLine), promoted(VisitEnd::LeftSlot, 61_000)];
        let totals = CrowdTotals::of_visits(&visits);
        assert_eq!((totals.entered, totals.left, totals.left_slot), (2, 2, 1));
        assert_eq!((totals.promoted, totals.may_be_promoted), (1, 1));
    }

    #[test]
    fn waits_and_admissions_follow_from_the_deadline_of_the_claim() {
        let fast = VisitRecord {
            is_fast_tracked: true,
            ..visit(VisitEnd::Completed)
        };
        let visits = [
            promoted(VisitEnd::Completed, 64_000),
            fast,
            visit(VisitEnd::LeftLine),
        ];
        assert_eq!(sorted_waits_ms(&visits, 60), [3_000]);
        assert_eq!(admissions_ms(&visits, 60), [4_000, 1_000]);
    }

    #[test]
    fn visitors_who_never_polled_are_not_overtaken() {
        let behind = VisitRecord {
            place: Some((4, 11)),
            ..promoted(VisitEnd::Completed, 61_000)
        };
        let mut ahead = promoted(VisitEnd::LeftSlot, 62_000);
        assert_eq!(count_overtaken_visits(&[ahead.clone(), behind.clone()], 60), 1);
        ahead.conduct = Conduct::Fake;
        assert_eq!(count_overtaken_visits(&[ahead, behind], 60), 0);
    }
}
