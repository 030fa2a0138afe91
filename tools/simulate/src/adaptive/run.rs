//! One run of the closed loop: the line, its promoter and the service, second by second.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use rand::{SeedableRng, rngs::StdRng};
use vestibule_domain::{
    change::Event,
    id::{EntryId, QueueId},
    load::LoadReport,
    settings::Settings,
};
use vestibule_line::{Arrival, ClaimOutcome, LeaveReason, Line, LineHistory, PROMOTE_CHUNK, PromoteOrder};

use super::{INTERVAL_SECONDS, service::Service};
use crate::{
    population::entry_id,
    simulation::{START_MS, configuration, resolve},
};

/// As many entries always wait, so that only the pace limits the promotion.
const WAITING: u64 = 200;
const FLUSH_RECORDS_MAX: usize = 100;

/// What one second of a run shows.
#[derive(Debug, Clone, Copy)]
pub struct Second {
    /// The second of the run.
    pub second: u32,
    /// The batch in force.
    pub batch: u64,
    /// How many entries were promoted.
    pub promoted: u64,
    /// How many visitors were in.
    pub active: u32,
    /// The latency, in milliseconds.
    pub latency_ms: u32,
}

/// The state of a run.
struct Loop {
    line: Line,
    queue: QueueId,
    clock_us: Arc<AtomicU64>,
    service: Service,
    rng: StdRng,
    entered: u32,
    /// How many entries waited at the end of the last second.
    waiting: u64,
}

/// Runs a queue with these settings for so long, and returns its seconds.
///
/// # Panics
/// The line refused a valid request.
pub fn run(settings: &Settings, seed: u64, seconds: u32) -> Vec<Second> {
    let clock_us = Arc::new(AtomicU64::new(START_MS * 1_000));
    let time = Arc::clone(&clock_us);
    let mut state = Loop {
        line: Line::in_process_with_clock(Arc::new(move || time.load(Ordering::Relaxed))),
        queue: "SIMULATION:1".parse().expect("the text is a valid queue id"),
        clock_us,
        service: Service::default(),
        rng: StdRng::seed_from_u64(seed),
        entered: 0,
        waiting: 0,
    };
    let configuration = configuration(settings, 0);
    let configured = state.line.configure(&state.queue, &configuration, true);
    resolve(configured).expect("the line answers");
    (0..seconds).map(|second| state.run_second(second)).collect()
}

impl Loop {
    fn run_second(&mut self, second: u32) -> Second {
        self.clock_us.fetch_add(1_000_000, Ordering::Relaxed);
        for id in self.service.take_done(second) {
            let left = self.line.leave(&self.queue, id, None, LeaveReason::Complete);
            resolve(left).expect("the queue exists");
        }
        if second.is_multiple_of(INTERVAL_SECONDS) {
            self.report();
        }
        self.fill_line();
        let order = PromoteOrder {
            max_entries: PROMOTE_CHUNK,
            is_promoter: true,
            min_watermark: None,
            history: LineHistory::default(),
        };
        let promotion = resolve(self.line.promote(&self.queue, order)).expect("the queue exists");
        for id in self.flush_journal() {
            let claimed = resolve(self.line.claim(&self.queue, id)).expect("the queue exists");
            assert!(matches!(claimed, ClaimOutcome::Active { .. }), "{claimed:?}");
            self.service.let_in(id, second, &mut self.rng);
        }
        let view = resolve(self.line.queue_view(&self.queue)).expect("the queue exists");
        self.waiting = view.waiting;
        Second {
            second,
            batch: view.pace_in_force().pace.batch,
            promoted: promotion.promoted,
            latency_ms: self.service.serve(second),
            active: self.service.active(),
        }
    }

    fn report(&self) {
        let report = LoadReport {
            tps: Some(self.service.requests_per_second()),
            latency_ms: Some(self.service.measured_latency_ms()),
            healthy: true,
        };
        resolve(self.line.record_load(&self.queue, &report)).expect("the queue exists");
    }

    fn fill_line(&mut self) {
        for _ in self.waiting..WAITING {
            self.entered += 1;
            let id = entry_id(self.entered);
            let entered = self.line.enter(&self.queue, id, Arrival::Ordinary);
            resolve(entered).expect("the queue exists");
        }
    }

    /// Flushes the journal to a backup that accepts each record. Returns who was promoted.
    fn flush_journal(&self) -> Vec<EntryId> {
        let mut promoted = Vec::new();
        loop {
            let records = self.line.due_journal_records(&self.queue, FLUSH_RECORDS_MAX);
            let records = resolve(records).expect("the queue exists");
            let changes = records.iter().flat_map(|record| &record.changes);
            promoted.extend(
                changes
                    .filter(|change| matches!(change.event, Event::Promoted { .. }))
                    .map(|change| change.id),
            );
            let keys: Vec<_> = records.into_iter().map(|record| record.key).collect();
            resolve(self.line.acknowledge(&self.queue, &keys, &[])).expect("the queue exists");
            if keys.len() < FLUSH_RECORDS_MAX {
                return promoted;
            }
        }
    }
}
