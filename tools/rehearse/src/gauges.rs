//! How many visitors are where, while a rehearsal runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where a visitor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Has arrived, and has no place yet.
    Entering,
    /// Is in line.
    Waiting,
    /// May claim.
    Ready,
    /// Has been let in.
    Active,
    /// Has ended the visit.
    Ended,
}

/// Counts the visitors in each stage.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    stages: [AtomicU64; 5],
    /// Slots that visitors of the rehearsal hold for certain: from the answer that gave the slot to the request that ends it.
    slots: AtomicU64,
    slots_max: AtomicU64,
}

impl Gauges {
    /// How many visitors are in a stage.
    pub(crate) fn count(&self, stage: Stage) -> u64 {
        self.stages[stage as usize].load(Ordering::Relaxed)
    }

    /// A visitor arrives in a stage, from another one or from outside.
    pub(crate) fn enter_stage(&self, from: Option<Stage>, to: Stage) {
        if let Some(from) = from {
            self.stages[from as usize].fetch_sub(1, Ordering::Relaxed);
        }
        self.stages[to as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A visitor has a slot.
    pub(crate) fn take_slot(&self) {
        let taken = self.slots.fetch_add(1, Ordering::Relaxed) + 1;
        self.slots_max.fetch_max(taken, Ordering::Relaxed);
    }

    /// A visitor is about to give the slot up.
    pub(crate) fn free_slot(&self) {
        self.slots.fetch_sub(1, Ordering::Relaxed);
    }

    /// The most slots that visitors of the rehearsal held at once.
    pub(crate) fn slots_max(&self) -> u64 {
        self.slots_max.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_slots_at_once_are_kept() {
        let gauges = Gauges::default();
        gauges.take_slot();
        gauges.take_slot();
        gauges.free_slot();
        gauges.take_slot();
        assert_eq!(gauges.slots_max(), 2);
    }

    #[test]
    fn a_visitor_is_in_one_stage_at_a_time() {
        let gauges = Gauges::default();
        gauges.enter_stage(None, Stage::Entering);
        gauges.enter_stage(Some(Stage::Entering), Stage::Waiting);
        assert_eq!(
            (gauges.count(Stage::Entering), gauges.count(Stage::Waiting)),
            (0, 1)
        );
    }
}
