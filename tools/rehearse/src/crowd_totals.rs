//! What a crowd counted of itself, by the names of the server's report.

use std::collections::BTreeMap;

use serde::Serialize;
use vestibule_crowd::{
    record::{VisitEnd, VisitRecord},
    temper::ConductKind,
};

/// The counts of a crowd.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct CrowdTotals {
    /// Visitors who arrived.
    pub(crate) arrived: u64,
    /// Visitors by their conduct.
    pub(crate) by_conduct: BTreeMap<ConductKind, u64>,
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
        self.claimed += u64::from(visit.is_claimed());
        match &visit.end {
            Some(VisitEnd::Completed) => self.completed += 1,
            Some(VisitEnd::LeftLine) => self.left += 1,
            Some(VisitEnd::LeftSlot) => {
                self.left += 1;
                self.left_slot += 1;
            }
            Some(VisitEnd::NoShow | VisitEnd::Lapsed) => self.lapsed += 1,
            Some(VisitEnd::SessionExpired) => self.expired += 1,
            Some(VisitEnd::Lost(code)) => *self.lost.entry(code.clone()).or_default() += 1,
            Some(VisitEnd::Refused(code)) => *self.refused.entry(code.clone()).or_default() += 1,
            Some(VisitEnd::NoPlace) => self.without_place += 1,
            Some(VisitEnd::Unknown | VisitEnd::Vanished) | None => self.unknown += 1,
        }
    }

    /// Visits whose ends the crowd cannot tell: they were not answered, or the server ended them.
    pub(crate) fn unclear_ends(&self) -> u64 {
        self.unknown + self.lost.values().sum::<u64>() + self.may_have_entered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(end: VisitEnd) -> VisitRecord {
        VisitRecord {
            has_entered: true,
            end: Some(end),
            ..VisitRecord::new(ConductKind::Honest, 0.0)
        }
    }

    #[test]
    fn a_visitor_who_left_the_line_may_have_been_promoted() {
        let promoted = VisitRecord {
            is_promoted: true,
            ..visit(VisitEnd::LeftSlot)
        };
        let totals = CrowdTotals::of_visits(&[visit(VisitEnd::LeftLine), promoted]);
        assert_eq!((totals.entered, totals.left, totals.left_slot), (2, 2, 1));
        assert_eq!((totals.promoted, totals.may_be_promoted), (1, 1));
    }

    #[test]
    fn an_end_without_an_answer_is_unclear() {
        let mut unanswered = VisitRecord::new(ConductKind::Honest, 0.0);
        unanswered.may_have_entered = true;
        let visits = [
            visit(VisitEnd::Unknown),
            visit(VisitEnd::Lost("evicted".to_owned())),
            unanswered,
        ];
        assert_eq!(CrowdTotals::of_visits(&visits[..2]).unclear_ends(), 2);
        let totals = CrowdTotals::of_visits(&visits);
        assert_eq!((totals.unknown, totals.may_have_entered), (2, 1));
    }
}
