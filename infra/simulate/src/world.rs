//! One run: a crowd, the line and whoever drives it, from the first arrival to the last one served.

mod driver;
mod operator;
mod promoter;
mod rhythm;
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

use self::{driver::Process, rhythm::Rhythm, visitor::Step};
use crate::{
    agenda::Agenda,
    crowd::{Crowd, Manner, Visitor},
    judge::Judge,
    outcome::{Fate, Outcome, Sample},
    scenario::Scenario,
    told::Told,
};

/// When the simulation begins, in Unix milliseconds: a full hour, by chance.
const START_MS: u64 = 1_788_220_800_000;
/// Told apart from the seed of the crowd.
const EVENTS: u64 = 0x6576_656e_7473;
/// How often the course of things is written down.
pub const SAMPLE_MS: u64 = 10_000;
/// How old a view of the queue may be.
const VIEW_MS: u64 = 1_000;
/// A run that takes longer stands still: something is wrong.
const LONGEST_MS: u64 = 6 * 3_600_000;

/// How those who keep to something keep to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// To `retry_after_ms`; they let themselves be held.
    Paced,
    /// To three seconds, always, and to nothing else.
    Fixed,
}

/// What a fixed client waits between two polls.
pub const FIXED_MS: u64 = 3_000;

/// All that is known of a visitor, in one place: a poll of one in a million finds nothing of it in a cache.
struct Person {
    id: EntryId,
    /// As the crowd was drawn.
    drawn: Visitor,
    step: Step,
    held_since_ms: u64,
    fate: Fate,
}

pub(crate) struct World {
    scenario: Scenario,
    clients: Clients,
    people: Vec<Person>,
    numbers: HashMap<EntryId, u32>,
    line: MemoryLine,
    queue: QueueId,
    clock_us: Arc<AtomicU64>,
    now_ms: u64,
    rng: StdRng,
    /// Draws of what happens to the queue: the same whatever the visitors do.
    events: StdRng,
    agenda: Agenda,
    settings: Settings,
    revisions: u64,
    /// As an environment of the function has it: a second old at most.
    view: QueueView,
    forecast: Forecast,
    viewed_at_ms: u64,
    held: u64,
    /// Those that share the calls of the paced.
    processes: [Process; driver::PROCESSES],
    /// When the fixed ones poll who are in line, and the next time at which that may matter.
    polls: Rhythm,
    polls_at_ms: u64,
    endings: Vec<VisitEnd>,
    judge: Judge,
    sample: Sample,
    outcome: Outcome,
}

/// Runs a scenario.
///
/// # Panics
/// Where the line refuses what nobody refuses here, or the run does not come to an end.
pub fn run(scenario: &Scenario, clients: Clients) -> Outcome {
    let mut world = World::new(scenario, clients);
    for visitor in 0..scenario.visitors {
        let comes_at_ms = world.people[visitor as usize].drawn.comes_at_ms;
        world.agenda.plan(visitor, comes_at_ms);
    }
    world.go_on();
    world.outcome.fates = world.people.iter().map(|person| person.fate).collect();
    world.outcome
}

impl World {
    fn new(scenario: &Scenario, clients: Clients) -> Self {
        let Crowd {
            visitors,
            ids,
            numbers,
        } = Crowd::of(scenario);
        let person = |(id, drawn)| Person {
            id,
            drawn,
            step: Step::Enter,
            held_since_ms: 0,
            fate: Fate::default(),
        };
        let people: Vec<_> = ids.into_iter().zip(visitors).map(person).collect();
        let clock_us = Arc::new(AtomicU64::new(START_MS * 1_000));
        let time = clock_us.clone();
        let line = MemoryLine::with_clock(Arc::new(move || time.load(Ordering::Relaxed)));
        let queue: QueueId = "SIMULATION:1".parse().expect("a queue id");
        let keeps = |person: &Person| person.drawn.manner == Manner::Keeps;
        let outcome = Outcome {
            fates: Vec::new(),
            keepers: people.iter().map(keeps).collect(),
            lost_turns: 0,
            no_shows: 0,
            left: 0,
            served: 0,
            overshoot: 0,
            held_max: 0,
            told: Told::new(scenario.visitors),
            samples: Vec::new(),
        };
        let settings = scenario.settings.clone();
        let created = now(line.configure(&queue, &configuration(&settings, 0), true)).expect("nothing fails");
        assert_eq!(created, ConfigureOutcome::Created);
        let view = now(line.queue_view(&queue)).expect("it was just made");
        Self {
            scenario: scenario.clone(),
            clients,
            line,
            queue,
            clock_us,
            now_ms: 0,
            // Other draws than those that made the crowd.
            rng: StdRng::seed_from_u64(!scenario.seed),
            events: StdRng::seed_from_u64(scenario.seed ^ EVENTS),
            agenda: Agenda::new(people.len()),
            judge: Judge::new(&settings),
            settings,
            revisions: 0,
            forecast: view.forecast(),
            view,
            viewed_at_ms: 0,
            held: 0,
            processes: Default::default(),
            polls: Rhythm::new(FIXED_MS),
            polls_at_ms: u64::MAX,
            endings: Vec::new(),
            sample: Sample::default(),
            outcome,
            people,
            numbers,
        }
    }

    fn go_on(&mut self) {
        let mut tick_at_ms = self.first_tick_ms();
        let mut turn_at_ms = self.first_turn_ms();
        loop {
            let Scenario { name, seed, .. } = &self.scenario;
            assert!(
                self.now_ms < LONGEST_MS,
                "{name} with seed {seed}: the line stands still"
            );
            let call_at_ms = self.next_call_ms();
            let until_ms = tick_at_ms.min(turn_at_ms).min(call_at_ms);
            if until_ms == u64::MAX && self.agenda.is_empty() {
                // No promoter, and nobody calls any more.
                break;
            }
            if let Some((at_ms, visitor)) = self.agenda.take(until_ms) {
                self.set_clock(at_ms);
                self.step(visitor);
                continue;
            }
            self.set_clock(until_ms);
            if until_ms == turn_at_ms {
                turn_at_ms = self.turn();
            } else if until_ms == tick_at_ms {
                self.tick();
                if self.is_over() {
                    break;
                }
                tick_at_ms = self.next_tick_ms();
            } else {
                self.calls_go_on();
            }
        }
        self.outcome.overshoot = self.judge.overshoot();
        let totals = now(self.line.queue_view(&self.queue))
            .expect("it is there")
            .totals;
        self.outcome.no_shows = totals.no_shows;
        self.outcome.served = totals.fast_tracked + totals.promoted;
    }

    /// Whether all came, and nobody is in line or called any more.
    fn is_over(&self) -> bool {
        let last = self.people.last();
        let last_ms = last.map_or(0, |person| person.drawn.comes_at_ms);
        self.now_ms > last_ms && self.sample.waiting + self.sample.ready == 0
    }

    fn set_clock(&mut self, at_ms: u64) {
        self.now_ms = at_ms;
        self.clock_us.store((START_MS + at_ms) * 1_000, Ordering::Relaxed);
    }

    /// Looks at the queue anew where the last time was too long ago.
    fn look(&mut self) {
        if self.now_ms - self.viewed_at_ms >= VIEW_MS {
            self.view = now(self.line.queue_view(&self.queue)).expect("it is there");
            self.forecast = self.view.forecast();
            self.viewed_at_ms = self.now_ms;
        }
    }
}

/// Everything that a run begins with.
fn configuration(settings: &Settings, revision: u64) -> Configuration {
    Configuration {
        settings: settings.clone(),
        revision: revision.to_string(),
        settings_order: revision,
        epoch: 1,
        generation: 1,
        min_epoch: 0,
        salt: Salt::new([7; 32]),
    }
}

/// What the line in memory answers: it never waits.
fn now<T>(answer: impl Future<Output = T>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("a line in memory waits for nothing"),
    }
}
