//! What the backup has of the queue: the records of the changes that reached it, the tally and the watermark.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_domain::{
    change::Change,
    id::EntryId,
    record::{EntryRecord, PutDecision, PutRules},
    tally::Tally,
};
use vestibule_line::RestoredEntries;

/// Without a grace, the backup gives no old place back past the line.
const PUT_RULES: PutRules = PutRules {
    grace_seconds: 0,
    retain_hours: 24,
};

/// The copy of a queue in the backup.
#[derive(Debug)]
pub(crate) struct StoredCopy {
    records: BTreeMap<EntryId, EntryRecord>,
    pub(crate) tally: Tally,
    pub(crate) watermark: u64,
    /// Whether each change of the line is in the records, in the journal or among the unsettled ends, and no other one.
    pub(crate) is_exact: bool,
}

impl StoredCopy {
    /// The copy of a new queue.
    pub(crate) fn new() -> Self {
        Self {
            records: BTreeMap::new(),
            tally: Tally::default(),
            watermark: 0,
            is_exact: true,
        }
    }

    /// Begins a generation, which has no entry yet.
    pub(crate) fn forget_generation(&mut self) {
        *self = Self {
            watermark: self.watermark,
            ..Self::new()
        };
    }

    /// Writes a change as the backup does.
    pub(crate) fn write(&mut self, change: &Change) {
        let current = self.records.get(&change.id);
        match EntryRecord::decide_put(current, change, PUT_RULES) {
            PutDecision::Store(record) | PutDecision::FillGaps(record) => {
                self.records.insert(change.id, record);
            }
            // The caller would ask the line to compare the entry with its record.
            PutDecision::VisitContinues => self.is_exact = false,
            // A visit that began in the millisecond in which a queue was restored may have the number of an earlier one. The
            // caller would let the visitor enter again.
            PutDecision::Superseded => self.is_exact &= !change.event.is_provisional(),
        }
    }

    /// Replaces a record by a random one.
    pub(crate) fn replace_record(&mut self, id: EntryId, record: Option<EntryRecord>) {
        self.is_exact = false;
        match record {
            Some(record) => self.records.insert(id, record),
            None => self.records.remove(&id),
        };
    }

    /// The records of the entries that have a place or a slot at this time, in Unix milliseconds. Two random records may have
    /// one place, which no two visitors have.
    pub(crate) fn live_records(&self, now_ms: u64) -> Vec<EntryRecord> {
        let records = self.records.values();
        let live = records.filter(|record| record.state.is_live() || record.fact.is_held_at(now_ms));
        let mut places = BTreeSet::new();
        let with_own_place = live.filter(|record| places.insert(place_of(record)));
        with_own_place.cloned().collect()
    }

    /// What a restore puts back.
    pub(crate) fn restored_entries(&self, now_ms: u64) -> RestoredEntries {
        RestoredEntries {
            tally: self.tally.clone(),
            ..self.live_records(now_ms).iter().collect()
        }
    }
}

/// The place that the entry has or would have.
pub(super) fn place_of(record: &EntryRecord) -> u64 {
    record.score.unwrap_or_else(|| record.visit().place()).raw()
}
