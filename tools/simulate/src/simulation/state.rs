//! The state of a run: the visitors, the line, the clock and the result so far.

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
use vestibule_api::{QueueMoment, QueueReading};
use vestibule_crowd::checks::{Faults, SlotChecker};
use vestibule_domain::{
    change::VisitEnd,
    configuration::Configuration,
    id::{EntryId, QueueId, Salt},
    kept_times::KeptTimes,
    settings::Settings,
};
use vestibule_line::{ConfigureOutcome, Line};
use vestibule_sizing::ceilings::Route;
use vestibule_wire::PublicDocument;

use super::{
    cdn::Cdn,
    clients::{Clients, FIXED_POLL_MS},
    front_door::{FrontDoor, ServiceFailure},
    poll_schedule::PollSchedule,
    process::{PROCESSES, Process},
    unix_time::{START_MS, to_unix_ms},
    visitor_state::VisitorState,
};
use crate::{
    event_queue::EventQueue,
    outcome::{Outcome, Sample},
    population::Population,
    scenario::{Network, Scenario},
    turn_order::TurnOrder,
};

/// Separates the draws for the promoter and the operator from those for the visitors.
const EVENTS_SEED: u64 = 0x6576_656e_7473;

/// Whether the API serves requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Availability {
    /// It does, and an outage may follow.
    BeforeOutage,
    /// It refuses all requests.
    Outage,
    /// It does again.
    AfterOutage,
}

/// A run.
pub(super) struct Simulation {
    pub(super) scenario: Scenario,
    pub(super) clients: Clients,
    pub(super) visitors: Vec<VisitorState>,
    pub(super) visitor_by_id: HashMap<EntryId, u32>,
    pub(super) cdn: Cdn,
    /// The document of the last reading that the CDN has asked for.
    pub(super) document: Option<Arc<PublicDocument>>,
    /// `None` in a deployment without ceilings.
    pub(super) front_door: Option<FrontDoor>,
    /// How many visitors may still enter.
    pub(super) to_enter: u32,
    pub(super) line: Line,
    pub(super) queue: QueueId,
    pub(super) clock_us: Arc<AtomicU64>,
    pub(super) now_ms: u64,
    pub(super) rng: StdRng,
    /// Draws for the promoter and the operator. They are the same whatever the visitors do.
    pub(super) events_rng: StdRng,
    pub(super) event_queue: EventQueue,
    pub(super) settings: Settings,
    pub(super) settings_order: u64,
    pub(super) availability: Availability,
    /// The last reading of the queue, which requests use as a function's process caches it, and when it was made.
    pub(super) reading: QueueReading,
    pub(super) read_at_ms: u64,
    pub(super) held_polls: u64,
    /// Those of them that were held while the speed of the queue was not known.
    pub(super) held_at_unknown_speed: u64,
    /// The processes that share the requests of paced clients.
    pub(super) processes: [Process; PROCESSES],
    /// The polls of the fixed clients in line.
    pub(super) fixed_polls: PollSchedule,
    /// The next time at which a poll of a fixed client may run a fallback tick.
    pub(super) fixed_polls_at_ms: u64,
    pub(super) visit_ends: Vec<VisitEnd>,
    pub(super) checker: SlotChecker,
    pub(super) turn_order: TurnOrder,
    /// What went wrong for visitors who did as told, but for the order.
    pub(super) faults: Faults,
    pub(super) sample: Sample,
    pub(super) outcome: Outcome,
}

impl Simulation {
    /// A run that has not begun: the queue exists, and no visitor has arrived.
    pub(super) fn new(scenario: &Scenario, clients: Clients) -> Self {
        let Population {
            visitors,
            ids,
            visitor_by_id,
        } = Population::from_scenario(scenario, clients);
        let state = |(id, drawn)| VisitorState::new(id, drawn);
        let visitors: Vec<_> = ids.into_iter().zip(visitors).map(state).collect();
        let clock_us = Arc::new(AtomicU64::new(START_MS * 1_000));
        let time = clock_us.clone();
        let line = Line::in_process_with_clock(Arc::new(move || time.load(Ordering::Relaxed)));
        let queue: QueueId = "SIMULATION:1".parse().expect("the text is a valid queue id");
        let outcome = Outcome::new(visitors.iter().map(|visitor| visitor.drawn.temper.conduct.kind()));
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
            cdn: Cdn::new(scenario.deployment.cdn),
            document: None,
            front_door: scenario.deployment.ceilings.as_ref().map(FrontDoor::new),
            to_enter: scenario.visitors,
            line,
            clock_us,
            now_ms: 0,
            // Not the seed itself, with which the visitors were drawn.
            rng: StdRng::seed_from_u64(!scenario.seed),
            events_rng: StdRng::seed_from_u64(scenario.seed ^ EVENTS_SEED),
            event_queue: EventQueue::new(visitors.len()),
            checker: SlotChecker::new(&settings),
            turn_order: TurnOrder::new(settings.has_presence()),
            settings,
            settings_order: 0,
            availability: Availability::BeforeOutage,
            reading: QueueReading::new(queue.clone(), view.view),
            read_at_ms: 0,
            queue,
            held_polls: 0,
            held_at_unknown_speed: 0,
            processes: Default::default(),
            fixed_polls: PollSchedule::new(FIXED_POLL_MS),
            fixed_polls_at_ms: u64::MAX,
            visit_ends: Vec::new(),
            faults: Faults::default(),
            sample: Sample::default(),
            outcome,
            visitors,
            visitor_by_id,
        }
    }

    pub(super) fn set_clock(&mut self, at_ms: u64) {
        self.now_ms = at_ms;
        self.clock_us.store((START_MS + at_ms) * 1_000, Ordering::Relaxed);
    }

    /// The time of visitors: Unix milliseconds.
    pub(super) fn unix_ms(&self) -> f64 {
        to_unix_ms(self.now_ms)
    }

    /// Reads the queue again if the last reading is too old.
    pub(super) fn refresh_reading(&mut self) {
        if self.now_ms - self.read_at_ms >= self.reading_age_ms_max() {
            let view = resolve(self.line.queue_view(&self.queue)).expect("the queue exists");
            self.reading = QueueReading::new(self.queue.clone(), view.view);
            self.read_at_ms = self.now_ms;
        }
    }

    /// The age at which the queue is read again, in milliseconds.
    pub(super) fn reading_age_ms_max(&self) -> u64 {
        match self.scenario.network {
            Network::Usual => 1_000,
            Network::Slow => 2_000,
        }
    }

    /// The queue as requests see it now, and the random numbers for their answers.
    pub(super) fn moment(&mut self) -> (QueueMoment<'_>, &mut StdRng) {
        let moment = QueueMoment {
            reading: &self.reading,
            age_ms: self.now_ms - self.read_at_ms,
        };
        (moment, &mut self.rng)
    }

    /// Lets a request through the front door, or says why not.
    pub(super) fn admit_request(&mut self, route: Route) -> Result<(), ServiceFailure> {
        if self.availability == Availability::Outage {
            return Err(ServiceFailure::LineUnavailable);
        }
        match &mut self.front_door {
            Some(front_door) => front_door.admit(self.now_ms, route),
            None => Ok(()),
        }
    }

    /// Counts what the slot does besides answering requests.
    pub(super) fn charge_slot(&mut self, cost: u64) {
        if let Some(front_door) = &mut self.front_door {
            front_door.charge_slot(self.now_ms, cost);
        }
    }
}

/// The configuration of the queue with these settings.
pub(crate) fn configuration(settings: &Settings, settings_order: u64) -> Configuration {
    Configuration {
        settings: settings.clone(),
        revision: settings_order.to_string(),
        settings_order,
        epoch: 1,
        generation: 1,
        min_epoch: 0,
        salt: Salt::new([7; 32]),
        opened_at_ms: None,
        kept_times: KeptTimes::default(),
    }
}

/// The answer of the in-memory line, which is ready at the first poll of its future.
pub(crate) fn resolve<T>(answer: impl Future<Output = T>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("the in-memory line never waits"),
    }
}
