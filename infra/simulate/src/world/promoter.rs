//! The promoter: a tick each second, two of which fall out each minute when one promoter ends and the next begins.

use rand::RngExt;
use vestibule_domain::{
    change::{Change, Event},
    id::EntryId,
};
use vestibule_engine::tick::{TickSummary, tick};
use vestibule_line::JournalLine;

use super::{SAMPLE_MS, Sample, World, now};
use crate::scenario::Promoter;

/// How many records are taken to the backup at once.
const RECORDS: usize = 100;
const TICK_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60_000;
/// How often a promoter is away that is away now and then: once in so many ticks.
const OUTAGE_EACH: u32 = 900;

impl World {
    pub(super) fn tick(&mut self) {
        let ticked = now(tick(&self.line, &self.queue, None)).expect("it is there");
        self.ticked(&ticked);
    }

    /// Somebody ticked: takes the journal to the backup, and writes down how the line stands.
    pub(super) fn ticked(&mut self, ticked: &TickSummary) {
        self.drain();
        (self.sample.waiting, self.sample.ready, self.sample.active) =
            (ticked.waiting, ticked.ready, ticked.active);
        if self.now_ms >= self.outcome.samples.len() as u64 * SAMPLE_MS {
            let sample = Sample {
                at_ms: self.now_ms,
                held: self.held,
                ..self.sample
            };
            self.outcome.samples.push(sample);
            (self.sample.served, self.sample.polls) = (0, 0);
        }
    }

    /// When the first tick is; never, where there is no promoter.
    pub(super) fn first_tick_ms(&self) -> u64 {
        match self.scenario.promoter {
            Promoter::There | Promoter::AwayAtTimes => 0,
            Promoter::Away => u64::MAX,
        }
    }

    /// When the next tick is.
    pub(super) fn next_tick_ms(&mut self) -> u64 {
        let may_go = self.scenario.promoter == Promoter::AwayAtTimes;
        if may_go && self.events.random_range(0..OUTAGE_EACH) == 0 {
            return self.now_ms + self.events.random_range(20_000..120_000);
        }
        let next_ms = self.now_ms + TICK_MS;
        if next_ms.is_multiple_of(MINUTE_MS) {
            next_ms + 2 * TICK_MS
        } else {
            next_ms
        }
    }

    /// Takes the journal to a backup that takes everything.
    fn drain(&mut self) {
        loop {
            let records = now(self.line.due_journal_records(&self.queue, RECORDS)).expect("it is there");
            for change in records.iter().flat_map(|record| &record.changes) {
                self.endings.extend(change.visit_end());
            }
            // What timed out made the room for those who came after it.
            let changes = records.iter().flat_map(|record| &record.changes);
            let ended = changes
                .clone()
                .filter(|change| change.visit_end().is_some())
                .count();
            self.judge.freed(ended as u64);
            let called: Vec<EntryId> = changes.filter_map(promoted).collect();
            self.judge.served(self.now_ms, called.len() as u64);
            self.sample.served += called.len() as u64;
            for id in called {
                self.called(self.numbers[&id]);
            }
            let keys: Vec<_> = records.into_iter().map(|record| record.key).collect();
            let endings = std::mem::take(&mut self.endings);
            now(self.line.acknowledge(&self.queue, &keys, &endings)).expect("it is there");
            if keys.len() < RECORDS {
                return;
            }
        }
    }
}

fn promoted(change: &Change) -> Option<EntryId> {
    matches!(change.event, Event::Promoted { .. }).then_some(change.id)
}
