//! One run: visitors pass through the line, from the first arrival until the line is empty.

mod admission;
mod availability;
mod cdn;
mod clients;
mod document_reads;
mod entering;
mod fallback_ticks;
mod follower;
mod front_door;
mod operator;
mod outage;
mod poll_count;
mod poll_schedule;
mod polls;
mod process;
mod promoter;
mod public_document;
mod refused_step;
mod session;
mod state;
mod token_bucket;
mod visitor;
mod visitor_state;

pub(crate) use self::state::{START_MS, configuration, resolve};
pub use self::{
    clients::{Clients, FIXED_POLL_MS},
    promoter::SAMPLE_MS,
};
use self::{state::Simulation, visitor_state::VisitorState};
use crate::{outcome::Outcome, population::Behavior, scenario::Scenario};

/// The time limit of a run, in milliseconds of the simulation. A run that exceeds it is stuck.
const RUN_MS_MAX: u64 = 6 * 3_600_000;

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
    simulation.finish()
}

impl Simulation {
    fn run_events(&mut self) {
        let mut tick_at_ms = self.first_tick_ms();
        let mut settings_change_at_ms = self.first_settings_change_ms();
        loop {
            let Scenario { name, seed, .. } = &self.scenario;
            let is_cut_off = self.now_ms >= RUN_MS_MAX;
            assert!(
                !is_cut_off || self.front_door.is_some(),
                "scenario {name} with seed {seed} is stuck: the line is not empty after six hours"
            );
            if is_cut_off {
                // An overloaded deployment may never serve the crowd.
                break;
            }
            let request_at_ms = self.next_background_request_ms();
            let outage_change_at_ms = self.next_outage_change_ms();
            let front_door_change_at_ms = self.next_front_door_change_ms();
            let until_ms = tick_at_ms
                .min(settings_change_at_ms)
                .min(request_at_ms)
                .min(outage_change_at_ms)
                .min(front_door_change_at_ms);
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
            if until_ms == outage_change_at_ms {
                self.change_availability();
            } else if until_ms == front_door_change_at_ms {
                self.change_front_door();
            } else if until_ms == settings_change_at_ms {
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
    }

    fn finish(mut self) -> Outcome {
        let mut outcome = self.outcome;
        outcome.overshoot = self.checker.overshoot();
        let (visitors, now_ms, presence_ms) = (&self.visitors, self.now_ms, self.settings.presence_ms());
        let attendance = |visitor: u32| visitors[visitor as usize].attendance(now_ms, presence_ms);
        let turn_order = self.turn_order.finish(attendance);
        outcome.out_of_order = turn_order.out_of_order;
        outcome.lost_turns = outcome.lost_places + turn_order.late_turns + turn_order.never_served;
        outcome.turn_order = turn_order;
        outcome.traffic = self.front_door.map(|front_door| front_door.traffic);
        let view = resolve(self.line.queue_view(&self.queue)).expect("the queue exists");
        outcome.no_shows = view.totals.no_shows;
        outcome.served = view.totals.fast_tracked + view.totals.promoted;
        let is_unserved = |visitor: &&VisitorState| {
            let is_admitted = visitor.outcome.waited_ms.is_some() || visitor.session.is_admitted;
            visitor.drawn.behavior == Behavior::Punctual && !is_admitted
        };
        outcome.unserved = self.visitors.iter().filter(is_unserved).count() as u64;
        outcome.visitors = self.visitors.drain(..).map(|visitor| visitor.outcome).collect();
        outcome
    }

    /// Whether all visitors have entered and no entry is waiting or ready.
    fn is_finished(&self) -> bool {
        self.entered == self.scenario.visitors && self.sample.waiting + self.sample.ready == 0
    }
}
