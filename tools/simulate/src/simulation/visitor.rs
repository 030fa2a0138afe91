//! The next step of one visitor, and the delays of a network.

use rand::RngExt;
use vestibule_sizing::ceilings::Route;

use super::{
    state::Simulation,
    visitor_state::{Session, Step},
};
use crate::{population::Behavior, scenario::Network};

/// The most that a poll is late in a usual network, in milliseconds, and the most for one poll in 100.
const POLL_DELAY_MS: u64 = 300;
const POLL_DELAY_MS_MAX: u64 = 3_000;
/// The same delay in a slow network.
const SLOW_POLL_DELAY_MS: u64 = 2_000;

impl Step {
    /// The request of this step to the gateway.
    pub(super) fn route(self) -> Option<Route> {
        match self {
            Self::Enter => Some(Route::Enter),
            Self::Poll | Self::Renew => Some(Route::Status),
            Self::Claim => Some(Route::Claim),
            Self::Leave => Some(Route::Leave),
            Self::Validate => Some(Route::Validate),
            Self::Complete => Some(Route::Complete),
            Self::ReadDocument | Self::EndHold | Self::Vanish | Self::None => None,
        }
    }
}

impl Simulation {
    pub(super) fn run_step(&mut self, visitor: u32) {
        let state = &self.visitors[visitor as usize];
        let (step, behavior) = (state.step, state.drawn.behavior);
        if let Behavior::SleepsBetween { until_ms, .. } = behavior
            && behavior.is_asleep(self.now_ms)
            && !step.route().is_some_and(Route::is_of_service)
        {
            // A client whose phone sleeps does what is due when the phone wakes.
            return self.event_queue.schedule(visitor, until_ms.into());
        }
        self.count_call(visitor, step);
        if self.refuse_step(visitor) {
            return;
        }
        match step {
            Step::Enter => self.enter(visitor),
            Step::Poll => self.poll(visitor),
            Step::ReadDocument => self.read_document(visitor),
            Step::EndHold => {
                self.release_held_poll(visitor);
                self.answer_poll(visitor, false);
            }
            Step::Claim => self.claim(visitor),
            Step::Renew => self.renew(visitor),
            Step::Validate => self.validate(visitor),
            Step::Complete => self.complete(visitor),
            Step::Leave => self.leave(visitor),
            Step::Vanish => self.vanish(visitor),
            Step::None => unreachable!("the event queue has no step for this visitor"),
        }
    }

    /// Counts the request of a step by the visitor.
    fn count_call(&mut self, visitor: u32, step: Step) {
        let outcome = &mut self.visitors[visitor as usize].outcome;
        match step.route() {
            Some(route) if !route.is_of_service() => outcome.calls += 1,
            None if step == Step::ReadDocument => outcome.document_reads += 1,
            _ => {}
        }
    }

    pub(super) fn schedule(&mut self, visitor: u32, step: Step, at_ms: u64) {
        self.visitors[visitor as usize].step = step;
        self.event_queue.schedule(visitor, at_ms);
    }

    /// Schedules the next request of a waiting visitor, unless the visitor leaves or vanishes before it.
    pub(super) fn schedule_request(&mut self, visitor: u32, step: Step, at_ms: u64) {
        match self.visitors[visitor as usize].drawn.behavior {
            Behavior::LeavesAt(leaves_ms) if leaves_ms <= at_ms => {
                self.schedule(visitor, Step::Leave, leaves_ms);
            }
            Behavior::VanishesAt(vanishes_ms) if vanishes_ms <= at_ms => {
                self.visitors[visitor as usize].step = Step::None;
            }
            _ => self.schedule(visitor, step, at_ms),
        }
    }

    pub(super) fn draw_poll_delay_ms(&mut self) -> u64 {
        match self.scenario.network {
            Network::Slow => self.rng.random_range(0..=SLOW_POLL_DELAY_MS),
            Network::Usual => match self.rng.random_range(0..100) {
                0 => self.rng.random_range(0..POLL_DELAY_MS_MAX),
                _ => self.rng.random_range(10..POLL_DELAY_MS),
            },
        }
    }

    pub(super) fn lose_turn(&mut self, visitor: u32) {
        let state = &mut self.visitors[visitor as usize];
        state.step = Step::None;
        match state.drawn.behavior {
            Behavior::Punctual => self.outcome.lost_places += 1,
            Behavior::SleepsBetween { .. } => self.outcome.overslept += 1,
            _ => {}
        }
    }

    /// Begins the session of a visitor who was admitted.
    pub(super) fn start_session(&mut self, visitor: u32) {
        self.visitors[visitor as usize].session = Session {
            is_admitted: true,
            since_ms: self.now_ms,
            ..Session::default()
        };
        self.schedule_session_step(visitor);
    }
}
