//! One run: visitors pass through the line, from the first arrival until the line is empty.

mod cdn;
mod clients;
mod documents;
mod fallback_ticks;
mod front_door;
mod holds;
mod operator;
mod outage;
mod poll_schedule;
mod process;
mod promoter;
mod refusals;
mod server;
mod state;
mod token_bucket;
mod unix_time;
mod visitor_state;
mod visits;

use vestibule_crowd::{checks::Faults, temper::ConductKind};

pub use self::{
    clients::{Clients, FIXED_POLL_MS},
    promoter::SAMPLE_MS,
};
use self::{state::Simulation, visitor_state::VisitorState};
pub(crate) use self::{
    state::{configuration, resolve},
    unix_time::START_MS,
};
use crate::{outcome::Outcome, scenario::Scenario};

/// The time limit of a run, in milliseconds of the simulation. A run that exceeds it is stuck.
const RUN_MS_MAX: u64 = 6 * 3_600_000;

/// Runs a scenario with these clients.
///
/// # Panics
/// The line refused a valid request, or the run did not end within six hours of its own time.
pub fn run_scenario(scenario: &Scenario, clients: Clients) -> Outcome {
    let mut simulation = Simulation::new(scenario, clients);
    for visitor in 0..scenario.visitors {
        let due_ms = simulation.visitors[visitor as usize].due_ms;
        simulation.event_queue.schedule(visitor, due_ms);
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
        let (visitors, now_ms, presence_ms) = (&self.visitors, self.now_ms, self.settings.presence_ms());
        let attendance = |visitor: u32| visitors[visitor as usize].attendance(now_ms, presence_ms);
        let turn_order = std::mem::take(&mut self.turn_order).finish(attendance);
        for number in 0..self.scenario.visitors {
            self.close_record(number);
        }
        let mut outcome = self.outcome;
        outcome.overshoot = self.checker.overshoot();
        outcome.out_of_order = turn_order.out_of_order;
        outcome.lost_turns = outcome.lost_places + turn_order.late_turns + turn_order.never_served;
        outcome.turn_order = turn_order;
        outcome.faults = Faults {
            overtaken: outcome.out_of_order,
            ..self.faults
        };
        outcome.traffic = self.front_door.map(|front_door| front_door.traffic);
        let view = resolve(self.line.queue_view(&self.queue)).expect("the queue exists");
        outcome.no_shows = view.totals.no_shows;
        outcome.served = view.totals.fast_tracked + view.totals.promoted;
        let is_unserved = |visitor: &&VisitorState| {
            let had_turn = visitor.outcome.waited_ms.is_some() || visitor.is_admitted;
            visitor.kind() == ConductKind::Honest && !had_turn
        };
        outcome.unserved = self.visitors.iter().filter(is_unserved).count() as u64;
        outcome.visitors = self.visitors.drain(..).map(|visitor| visitor.outcome).collect();
        outcome
    }

    /// Whether no visitor may still enter and no entry is waiting or ready.
    fn is_finished(&self) -> bool {
        self.to_enter == 0 && self.sample.waiting + self.sample.ready == 0
    }
}
