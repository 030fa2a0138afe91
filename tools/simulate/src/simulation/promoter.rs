//! The promoter, and what each tick does: it promotes entries and flushes the journal.

use rand::RngExt;
use vestibule_domain::{
    change::{Change, EndReason, Event},
    id::EntryId,
};
use vestibule_line::{LineHistory, PROMOTE_CHUNK, PromoteOrder};
use vestibule_sizing::ceilings::{HELD_COST, PROMOTION_COST, TICK_COST};

use super::state::{Simulation, resolve};
use crate::{outcome::Sample, scenario::Promoter};

/// The time between two samples, in milliseconds.
pub const SAMPLE_MS: u64 = 10_000;
/// The most journal records that are flushed at once.
const FLUSH_RECORDS_MAX: usize = 100;
/// The most calls of [`Line::promote`] in one tick: as the functions have it.
const PROMOTE_CALLS_MAX: u32 = 50;
const TICK_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60_000;
/// On average, one in this many ticks is followed by an outage of a promoter that is sometimes down.
const TICKS_PER_OUTAGE: u32 = 900;

impl Simulation {
    /// Ticks the queue as the promoter.
    pub(super) fn tick(&mut self) {
        self.promote(true);
    }

    /// Promotes the entries that may go now, flushes the journal and takes a sample if one is due. The promoter
    /// also writes its heartbeat.
    pub(super) fn promote(&mut self, is_promoter: bool) {
        let order = PromoteOrder {
            max_entries: PROMOTE_CHUNK,
            is_promoter,
            min_watermark: None,
            history: LineHistory::default(),
        };
        // On Lambda a process holds one poll, and reads its entry once a second.
        self.charge_slot(HELD_COST * self.held_polls);
        for _ in 0..PROMOTE_CALLS_MAX {
            let promoted = resolve(self.line.promote(&self.queue, order)).expect("the queue exists");
            self.charge_slot(TICK_COST + PROMOTION_COST * promoted.promoted);
            (self.sample.waiting, self.sample.ready, self.sample.active) =
                (promoted.waiting, promoted.ready, promoted.active);
            if !promoted.has_more {
                break;
            }
        }
        self.flush_journal();
        // While the front door is down no visitor can take a turn, so none is due.
        let is_door_down = self.front_door.as_ref().is_some_and(|door| door.is_down);
        if !is_door_down && !self.settings.stops_promotion(self.now_ms) && self.checker.may_admit(self.now_ms)
        {
            let (now_ms, presence_ms) = (self.now_ms, self.settings.presence_ms());
            let visitors = &self.visitors;
            let attendance = |visitor: u32| visitors[visitor as usize].attendance(now_ms, presence_ms);
            self.turn_order.check_head(now_ms, attendance);
        }
        if self.now_ms >= self.outcome.samples.len() as u64 * SAMPLE_MS {
            let sample = Sample {
                at_ms: self.now_ms,
                held: self.held_polls,
                ..self.sample
            };
            self.outcome.samples.push(sample);
            (self.sample.served, self.sample.polls) = (0, 0);
        }
    }

    /// When the first tick is: never, if there is no promoter.
    pub(super) fn first_tick_ms(&self) -> u64 {
        match self.scenario.promoter {
            Promoter::Running | Promoter::SometimesDown | Promoter::Irregular => 0,
            Promoter::Down => u64::MAX,
        }
    }

    /// When the next tick is.
    pub(super) fn next_tick_ms(&mut self) -> u64 {
        let events_rng = &mut self.events_rng;
        match self.scenario.promoter {
            Promoter::SometimesDown if events_rng.random_range(0..TICKS_PER_OUTAGE) == 0 => {
                return self.now_ms + events_rng.random_range(20_000..120_000);
            }
            Promoter::Irregular => {
                let after_ms = match events_rng.random_range(0..50) {
                    0 => events_rng.random_range(10_000..60_000),
                    _ => events_rng.random_range(200..2_500),
                };
                return self.now_ms + after_ms;
            }
            Promoter::Running | Promoter::SometimesDown | Promoter::Down => {}
        }
        let next_ms = self.now_ms + TICK_MS;
        if next_ms.is_multiple_of(MINUTE_MS) {
            next_ms + 2 * TICK_MS
        } else {
            next_ms
        }
    }

    /// Flushes the journal to a backup that accepts each record.
    fn flush_journal(&mut self) {
        loop {
            let records = self.line.due_journal_records(&self.queue, FLUSH_RECORDS_MAX);
            let records = resolve(records).expect("the queue exists");
            let changes = || records.iter().flat_map(|record| &record.changes);
            let ends: Vec<_> = changes().filter_map(Change::visit_end).collect();
            // The line ends visits that timed out before it promotes entries into their slots. An absent one had none.
            let absences = changes().filter(|change| is_absence(change)).count();
            self.checker.release_slots((ends.len() - absences) as u64);
            self.visit_ends.extend(ends);
            let promoted: Vec<u32> = changes()
                .filter_map(promoted_id)
                .map(|id| self.visitor_by_id[&id])
                .collect();
            let turns: Vec<u32> = promoted
                .iter()
                .map(|visitor| self.visitors[*visitor as usize].turn)
                .collect();
            self.record_admission(&turns);
            self.sample.served += promoted.len() as u64;
            for visitor in promoted {
                self.receive_turn(visitor);
            }
            let keys: Vec<_> = records.into_iter().map(|record| record.key).collect();
            let ends = std::mem::take(&mut self.visit_ends);
            resolve(self.line.acknowledge(&self.queue, &keys, &ends)).expect("the queue exists");
            if keys.len() < FLUSH_RECORDS_MAX {
                return;
            }
        }
    }
}

fn is_absence(change: &Change) -> bool {
    matches!(
        change.event,
        Event::Ended {
            how: EndReason::Absence,
            ..
        }
    )
}

fn promoted_id(change: &Change) -> Option<EntryId> {
    matches!(change.event, Event::Promoted { .. }).then_some(change.id)
}
