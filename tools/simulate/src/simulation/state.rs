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
use vestibule_crowd::checks::SlotChecker;
use vestibule_domain::{
    change::VisitEnd,
    configuration::Configuration,
    estimate::Forecast,
    id::{EntryId, QueueId, Salt},
    kept_times::KeptTimes,
    settings::Settings,
};
use vestibule_line::{ConfigureOutcome, Line, OperatorView};

use super::{
    availability::Availability,
    cdn::Cdn,
    clients::{Clients, FIXED_POLL_MS},
    follower::Follower,
    front_door::FrontDoor,
    poll_schedule::PollSchedule,
    process::{PROCESSES, Process},
    public_document::PublicDocuments,
    visitor_state::{Session, Step, VisitorState},
};
use crate::{
    event_queue::EventQueue,
    outcome::{Outcome, Sample, VisitorOutcome},
    population::Population,
    scenario::{Network, Scenario},
    turn_order::TurnOrder,
};

/// The start of each run, in Unix milliseconds: 2026-09-01T00:00:00Z.
pub(crate) const START_MS: u64 = 1_788_220_800_000;
/// Separates the draws for the promoter and the operator from those for the visitors.
const EVENTS_SEED: u64 = 0x6576_656e_7473;

/// A run.
pub(super) struct Simulation {
    pub(super) scenario: Scenario,
    pub(super) clients: Clients,
    pub(super) visitors: Vec<VisitorState>,
    pub(super) visitor_by_id: HashMap<EntryId, u32>,
    /// The clients that follow the public document, by visitor.
    pub(super) followers: Vec<Follower>,
    pub(super) documents: PublicDocuments,
    pub(super) cdn: Cdn,
    /// `None` in a deployment without ceilings.
    pub(super) front_door: Option<FrontDoor>,
    pub(super) entered: u32,
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
    /// The snapshot of the queue that requests use, as a function's process caches it.
    pub(super) view: OperatorView,
    pub(super) forecast: Forecast,
    /// The expected wait of the last visitor in line by that snapshot, in milliseconds.
    pub(super) last_eta_ms: u64,
    pub(super) viewed_at_ms: u64,
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
        } = Population::from_scenario(scenario);
        let state = |(id, drawn)| VisitorState {
            id,
            drawn,
            turn: 0,
            step: Step::Enter,
            held_since_ms: 0,
            is_held_at_unknown_speed: false,
            checked_in_at_ms: None,
            refusals: 0,
            session: Session::default(),
            outcome: VisitorOutcome::default(),
        };
        let visitors: Vec<_> = ids.into_iter().zip(visitors).map(state).collect();
        let clock_us = Arc::new(AtomicU64::new(START_MS * 1_000));
        let time = clock_us.clone();
        let line = Line::in_process_with_clock(Arc::new(move || time.load(Ordering::Relaxed)));
        let queue: QueueId = "SIMULATION:1".parse().expect("the text is a valid queue id");
        let behaviors = visitors.iter().map(|visitor| visitor.drawn.behavior);
        let outcome = Outcome::new(behaviors);
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
            followers: match clients {
                Clients::Following => vec![Follower::default(); visitors.len()],
                Clients::Paced | Clients::Fixed => Vec::new(),
            },
            documents: PublicDocuments::default(),
            cdn: Cdn::new(scenario.deployment.cdn),
            front_door: scenario.deployment.ceilings.as_ref().map(FrontDoor::new),
            entered: 0,
            line,
            queue,
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
            forecast: view.forecast(),
            last_eta_ms: 0,
            view,
            viewed_at_ms: 0,
            held_polls: 0,
            held_at_unknown_speed: 0,
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

    pub(super) fn set_clock(&mut self, at_ms: u64) {
        self.now_ms = at_ms;
        self.clock_us.store((START_MS + at_ms) * 1_000, Ordering::Relaxed);
    }

    /// Reads the snapshot of the queue again if it is too old.
    pub(super) fn refresh_view(&mut self) {
        if self.now_ms - self.viewed_at_ms >= self.view_ms_max() {
            self.view = resolve(self.line.queue_view(&self.queue)).expect("the queue exists");
            self.forecast = self.view.forecast();
            self.last_eta_ms = self.forecast.eta_ms(self.view.in_line());
            self.viewed_at_ms = self.now_ms;
        }
    }

    /// The age at which the snapshot of the queue is read again, in milliseconds.
    pub(super) fn view_ms_max(&self) -> u64 {
        match self.scenario.network {
            Network::Usual => 1_000,
            Network::Slow => 2_000,
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
