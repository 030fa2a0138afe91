//! The outage of a scenario: the API refuses all requests with 503, and each client tries again by the rule of
//! [`retry_after_seconds`] and [`client_backoff_ms`]. The line stands meanwhile, and deadlines to claim stand still
//! with it, as in a queue that is restored.

use rand::RngExt;
use vestibule_domain::poll_pacing::{
    RETRY_AFTER_MIN_SECONDS, RefusedQueue, client_backoff_ms, retry_after_seconds,
};

use super::{
    availability::Availability,
    clients::{Clients, FIXED_POLL_MS},
    state::Simulation,
    visitor_state::Step,
};

impl Simulation {
    /// When the outage next begins or ends.
    pub(super) fn next_outage_change_ms(&self) -> u64 {
        match (&self.scenario.outage_ms, self.availability) {
            (Some(outage_ms), Availability::BeforeOutage) => outage_ms.start,
            (Some(outage_ms), Availability::Outage) => outage_ms.end,
            (None, _) | (_, Availability::AfterOutage) => u64::MAX,
        }
    }

    /// Begins or ends the outage.
    pub(super) fn change_availability(&mut self) {
        self.availability = match self.availability {
            Availability::BeforeOutage => Availability::Outage,
            Availability::Outage | Availability::AfterOutage => Availability::AfterOutage,
        };
        let begins = self.availability == Availability::Outage;
        self.settings.paused = begins;
        self.apply_settings();
        if begins {
            // All held polls are answered at once.
            for visitor in 0..self.scenario.visitors {
                if self.visitors[visitor as usize].step == Step::EndHold {
                    self.event_queue.schedule(visitor, self.now_ms);
                }
            }
        }
    }

    /// Refuses the request of a step if the API is unavailable, and schedules the next attempt. Returns whether it
    /// did.
    pub(super) fn refuse_step(&mut self, visitor: u32) -> bool {
        let step = self.visitors[visitor as usize].step;
        if self.availability != Availability::Outage || matches!(step, Step::Vanish | Step::None) {
            self.record_return(visitor);
            return false;
        }
        let again = match step {
            Step::EndHold => {
                self.release_held_poll(visitor);
                Step::Poll
            }
            Step::Poll => {
                self.count_poll(visitor);
                Step::Poll
            }
            other => other,
        };
        let at_ms = self.now_ms + self.draw_refused_pause_ms(visitor, again);
        self.visitors[visitor as usize].refusals += 1;
        match again {
            Step::Poll => self.schedule_poll(visitor, at_ms),
            again => self.schedule(visitor, again, at_ms),
        }
        true
    }

    fn draw_refused_pause_ms(&mut self, visitor: u32, step: Step) -> u64 {
        if self.clients == Clients::Fixed {
            return FIXED_POLL_MS;
        }
        let is_of_crowd = matches!(step, Step::Enter | Step::Poll);
        // The last snapshot before the outage.
        let waiting = if is_of_crowd { self.view.waiting } else { 0 };
        let queue = RefusedQueue {
            waiting,
            last_eta_ms: self.forecast.eta_ms(waiting),
            claim_ms: self.view.configuration.settings.claim_ms(),
        };
        let seconds = retry_after_seconds(RETRY_AFTER_MIN_SECONDS, Some(&queue), self.rng.random());
        let refusals = self.visitors[visitor as usize].refusals;
        let backoff_ms = client_backoff_ms(queue.claim_ms, refusals, self.rng.random());
        seconds * 1_000 + backoff_ms + self.draw_poll_delay_ms()
    }

    /// Records that a visitor who was refused is served again.
    fn record_return(&mut self, visitor: u32) {
        let state = &mut self.visitors[visitor as usize];
        if let Some(outage_ms) = &self.scenario.outage_ms
            && state.refusals > 0
        {
            state.refusals = 0;
            self.outcome.refused_visitors += 1;
            let after_ms = self.now_ms.saturating_sub(outage_ms.end);
            self.outcome.return_ms_max = self.outcome.return_ms_max.max(after_ms);
        }
    }
}
