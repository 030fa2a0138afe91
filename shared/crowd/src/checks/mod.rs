//! What must hold of any crowd: order, turns, positions, capacity, pace.

mod capacity;
mod order;
mod pace;
mod percentile;
mod slots;

pub use self::{
    capacity::most_slots_at_once,
    order::{TurnRecord, count_overtaken, count_overtaken_visits},
    pace::{PaceFigures, PaceSetting, WindowFigures},
    percentile::{percentile, percentile_bounds},
    slots::SlotChecker,
};
use crate::record::VisitRecord;

/// What went wrong for the visitors of a crowd. All is 0 in a line that keeps its promises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Visitors who did as told and lost the place, the turn or the session, also if they got it back.
    pub lost: u64,
    /// Visitors who were promoted later than one behind them in the same lane.
    pub overtaken: u64,
    /// How often a position in an answer rose.
    pub position_rises: u64,
    /// How often the position that a visitor sees rose.
    pub shown_rises: u64,
    /// How often the number of turns ahead rose. With several lanes it may.
    pub ahead_rises: u64,
    /// Visitors whom the server gave more than one place.
    pub second_places: u64,
    /// Visitors who entered under more than one id.
    pub second_ids: u64,
    /// How often a client took a document for a newer one that was not.
    pub old_documents: u64,
}

impl Faults {
    /// Finds them in the records of visitors.
    pub fn of(records: &[VisitRecord]) -> Self {
        let mut faults = Self {
            overtaken: count_overtaken_visits(records),
            ..Self::default()
        };
        for record in records {
            faults.add(record);
        }
        faults
    }

    /// Adds what one record shows. Whether a visitor was overtaken is only known of many.
    pub fn add(&mut self, record: &VisitRecord) {
        self.lost += u64::from(record.is_lost() || record.sent_back > 0);
        self.position_rises += record.rises.answered;
        self.shown_rises += record.rises.shown;
        self.ahead_rises += record.rises.ahead;
        self.second_places += u64::from(record.visits.len() > 1 && !record.has_come_back);
        self.second_ids += u64::from(record.changes_of_id > 0);
        self.old_documents += record.old_documents;
    }
}

/// The moments at which visitors got a slot, in Unix milliseconds of the server.
pub fn admissions_ms(records: &[VisitRecord]) -> Vec<u64> {
    records.iter().filter_map(VisitRecord::admitted_at_ms).collect()
}

/// The waits until the promotion, sorted, in milliseconds.
pub fn sorted_waits_ms(records: &[VisitRecord]) -> Vec<u64> {
    let mut waits: Vec<_> = records.iter().filter_map(VisitRecord::wait_ms).collect();
    waits.sort_unstable();
    waits
}
