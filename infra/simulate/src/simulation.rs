//! One run: visitors pass through the line, from the first arrival until the line is empty.

mod fallback_ticks;
mod operator;
mod poll_schedule;
mod promoter;
mod visitor;

use std::{
    collections::HashMap,
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};

use rand::{SeedableRng, rngs::StdRng};
use vestibule_domain::{
    change::VisitEnd,
    configuration::Configuration,
    estimate::Forecast,
    id::{EntryId, QueueId, Salt},
    settings::Settings,
};
use vestibule_line::{ConfigureOutcome, QueueLine, QueueView, RecoveryLine};
use vestibule_line_memory::MemoryLine;

use self::{fallback_ticks::Process, poll_schedule::PollSchedule, visitor::Step};
use crate::{
    estimate_accuracy::EstimateAccuracy,
    event_queue::EventQueue,
    invariant_checker::InvariantChecker,
    outcome::{Outcome, Sample, VisitorOutcome},
    population::{Behavior, Population, Visitor},
    scenario::{Network, Scenario},
};

/// The start of each run, in Unix milliseconds: 2026-09-01T00:00:00Z.
const START_MS: u64 = 1_788_220_800_000;
/// Separates the draws for the promoter and the operator from those for the visitors.
const EVENTS_SEED: u64 = 0x6576_656e_7473;
/// The time between two samples, in milliseconds.
pub const SAMPLE_MS: u64 = 10_000;
/// The time limit of a run, in milliseconds of the simulation. A run that exceeds it is stuck.
const RUN_MS_MAX: u64 = 6 * 3_600_000;

/// When clients poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// They follow `retry_after_ms`, and their polls may be held.
    Paced,
    /// They poll every three seconds, whatever the answer says.
    Fixed,
}

/// The time between two polls of a fixed client, in milliseconds.
pub const FIXED_POLL_MS: u64 = 3_000;

/// The state of a visitor. It is one struct for the sake of the processor's cache: with a million visitors, a
/// poll finds nothing of its visitor there.
struct VisitorState {
    id: EntryId,
    drawn: Visitor,
    /// The number of visitors who entered before.
    turn: u32,
    step: Step,
    held_since_ms: u64,
    outcome: VisitorOutcome,
}

pub(crate) struct Simulation {
    scenario: Scenario,
    clients: Clients,
    visitors: Vec<VisitorState>,
    visitor_by_id: HashMap<EntryId, u32>,
    entered: u32,
    line: MemoryLine,
    queue: QueueId,
    clock_us: Arc<AtomicU64>,
    now_ms: u64,
    rng: StdRng,
    /// Draws for the promoter and the operator. They are the same whatever the visitors do.
    events_rng: StdRng,
    event_queue: EventQueue,
    settings: Settings,
    settings_order: u64,
    /// The snapshot of the queue that requests use, as a function's process caches it.
    view: QueueView,
    forecast: Forecast,
    viewed_at_ms: u64,
    held_polls: u64,
    /// The processes that share the requests of paced clients.
    processes: [Process; fallback_ticks::PROCESSES],
    /// The polls of the fixed clients in line.
    fixed_polls: PollSchedule,
    /// The next time at which a poll of a fixed client may run a fallback tick.
    fixed_polls_at_ms: u64,
    visit_ends: Vec<VisitEnd>,
    checker: InvariantChecker,
    sample: Sample,
    outcome: Outcome,
}

/// Runs a scenario with these clients.
///
/// # Panics
/// The line refused a valid request, or the run did not end within six hours of its own time.
pub fn run_scenario(scenario: &Scenario, clients: Clients) -> Outcome {
    let mut simulation = Simulation::new(scenario, clients);
    for visitor in 0..scenario.visitors {
        let arrives_at_ms = simulation.visitors[visitor as usize].drawn.arrives_at_ms;
        simulation.event_queue.schedule(visitor, arrives_at_ms);
    }
    simulation.run_events();
    let visitors = simulation.visitors.iter();
    simulation.outcome.visitors = visitors.map(|visitor| visitor.outcome).collect();
    simulation.outcome
}

impl Simulation {
    fn new(scenario: &Scenario, clients: Clients) -> Self {
        let Population {
            visitors,
            ids,
            visitor_by_id,
        } = Population::from_scenario(scenario);
        let state = |(id, drawn)| VisitorState {
            id,
            drawn,
            turn: 0,
            step: Step::Enter,
            held_since_ms: 0,
            outcome: VisitorOutcome::default(),
        };
        let visitors: Vec<_> = ids.into_iter().zip(visitors).map(state).collect();
        let clock_us = Arc::new(AtomicU64::new(START_MS * 1_000));
        let time = clock_us.clone();
        let line = MemoryLine::with_clock(Arc::new(move || time.load(Ordering::Relaxed)));
        let queue: QueueId = "SIMULATION:1".parse().expect("the text is a valid queue id");
        let is_punctual = |visitor: &VisitorState| visitor.drawn.behavior == Behavior::Punctual;
        let outcome = Outcome {
            visitors: Vec::new(),
            is_punctual: visitors.iter().map(is_punctual).collect(),
            lost_turns: 0,
            no_shows: 0,
            left: 0,
            served: 0,
            overshoot: 0,
            out_of_order: 0,
            settings_changes: 0,
            held_max: 0,
            retry_after_ms_max: 0,
            estimates: EstimateAccuracy::new(scenario.visitors),
            samples: Vec::new(),
        };
        let settings = scenario.settings.clone();
        let first = configuration(&settings, 0);
        let configured = line.configure(&queue, &first, true);
        assert_eq!(
            resolve(configured).expect("the line answers"),
            ConfigureOutcome::Created
        );
        let view = resolve(line.queue_view(&queue)).expect("the queue exists");
        Self {
            scenario: scenario.clone(),
            clients,
            entered: 0,
            line,
            queue,
            clock_us,
            now_ms: 0,
            // Not the seed itself, with which the visitors were drawn.
            rng: StdRng::seed_from_u64(!scenario.seed),
            events_rng: StdRng::seed_from_u64(scenario.seed ^ EVENTS_SEED),
            event_queue: EventQueue::new(visitors.len()),
            checker: InvariantChecker::new(&settings),
            settings,
            settings_order: 0,
            forecast: view.forecast(),
            view,
            viewed_at_ms: 0,
            held_polls: 0,
            processes: Default::default(),
            fixed_polls: PollSchedule::new(FIXED_POLL_MS),
            fixed_polls_at_ms: u64::MAX,
            visit_ends: Vec::new(),
            sample: Sample::default(),
            outcome,
            visitors,
            visitor_by_id,
        }
    }

    fn run_events(&mut self) {
        let mut tick_at_ms = self.first_tick_ms();
        let mut settings_change_at_ms = self.first_settings_change_ms();
        loop {
            let Scenario { name, seed, .. } = &self.scenario;
            assert!(
                self.now_ms < RUN_MS_MAX,
                "scenario {name} with seed {seed} is stuck: the line is not empty after six hours"
            );
            let request_at_ms = self.next_background_request_ms();
            let until_ms = tick_at_ms.min(settings_change_at_ms).min(request_at_ms);
            if until_ms == u64::MAX && self.event_queue.is_empty() {
                // There is no promoter, and no visitor polls any more.
                break;
            }
            if let Some((at_ms, visitor)) = self.event_queue.pop_due(until_ms) {
                self.set_clock(at_ms);
                self.run_step(visitor);
                continue;
            }
            self.set_clock(until_ms);
            if until_ms == settings_change_at_ms {
                settings_change_at_ms = self.change_settings();
            } else if until_ms == tick_at_ms {
                self.tick();
                if self.is_finished() {
                    break;
                }
                tick_at_ms = self.next_tick_ms();
            } else {
                self.run_background_requests();
            }
        }
        self.outcome.overshoot = self.checker.overshoot();
        self.outcome.out_of_order = self.checker.out_of_order();
        let view = resolve(self.line.queue_view(&self.queue)).expect("the queue exists");
        self.outcome.no_shows = view.totals.no_shows;
        self.outcome.served = view.totals.fast_tracked + view.totals.promoted;
    }

    /// Whether all visitors have arrived and no entry is waiting or ready.
    fn is_finished(&self) -> bool {
        let last = self.visitors.last();
        let last_ms = last.map_or(0, |visitor| visitor.drawn.arrives_at_ms);
        self.now_ms > last_ms && self.sample.waiting + self.sample.ready == 0
    }

    fn set_clock(&mut self, at_ms: u64) {
        self.now_ms = at_ms;
        self.clock_us.store((START_MS + at_ms) * 1_000, Ordering::Relaxed);
    }

    /// Reads the snapshot of the queue again if it is too old.
    fn refresh_view(&mut self) {
        if self.now_ms - self.viewed_at_ms >= self.view_ms_max() {
            self.view = resolve(self.line.queue_view(&self.queue)).expect("the queue exists");
            self.forecast = self.view.forecast();
            self.viewed_at_ms = self.now_ms;
        }
    }

    /// The age at which the snapshot of the queue is read again, in milliseconds.
    fn view_ms_max(&self) -> u64 {
        match self.scenario.network {
            Network::Usual => 1_000,
            Network::Slow => 2_000,
        }
    }
}

/// The configuration of the queue with these settings.
fn configuration(settings: &Settings, settings_order: u64) -> Configuration {
    Configuration {
        settings: settings.clone(),
        revision: settings_order.to_string(),
        settings_order,
        epoch: 1,
        generation: 1,
        min_epoch: 0,
        salt: Salt::new([7; 32]),
    }
}

/// The answer of the in-memory line, which is ready at the first poll of its future.
fn resolve<T>(answer: impl Future<Output = T>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("the in-memory line never waits"),
    }
}
