//! Requests that are refused, and when their clients try again: by the rules of [`retry_after_seconds`] and
//! [`client_backoff_ms`].

use rand::RngExt;
use vestibule_domain::poll_pacing::{
    RETRY_AFTER_MIN_SECONDS, RefusedQueue, client_backoff_ms, degraded_retry_after_ms, retry_after_seconds,
};

use super::{
    availability::Availability,
    clients::{Clients, FIXED_POLL_MS},
    follower::Follower,
    front_door::Refusal,
    state::Simulation,
    visitor_state::Step,
};

impl Simulation {
    /// Refuses the request of a step if a part of the deployment does not serve it, and schedules the next attempt.
    /// Returns whether it did.
    pub(super) fn refuse_step(&mut self, visitor: u32) -> bool {
        let step = self.visitors[visitor as usize].step;
        let Some(refusal) = self.find_refusal(step) else {
            self.record_return(visitor);
            return false;
        };
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
        let is_degraded =
            again == Step::Poll && refusal == Refusal::LineUnavailable && self.front_door.is_some();
        let pause_ms = if is_degraded {
            self.answer_degraded(visitor)
        } else {
            self.visitors[visitor as usize].refusals += 1;
            self.draw_refused_pause_ms(visitor, again, refusal)
        };
        let at_ms = self.now_ms + pause_ms + self.draw_poll_delay_ms();
        match again {
            Step::Poll if self.is_far(visitor) => {
                // Meanwhile the client goes on reading the document.
                let now_ms = self.now_ms;
                self.followers[visitor as usize].postpone_status(&self.documents, at_ms, now_ms);
                self.schedule_far_request(visitor);
            }
            Step::Poll => self.schedule_request(visitor, Step::Poll, at_ms),
            again => self.schedule(visitor, again, at_ms),
        }
        true
    }

    fn find_refusal(&mut self, step: Step) -> Option<Refusal> {
        if self.availability == Availability::Outage {
            return (!matches!(step, Step::Vanish | Step::None)).then_some(Refusal::LineUnavailable);
        }
        if let Some(route) = step.route() {
            return self.admit_request(route).err();
        }
        // A held poll breaks off with the front door.
        let is_down = self.front_door.as_ref().is_some_and(|door| door.is_down);
        (is_down && step == Step::EndHold).then_some(Refusal::Unreachable)
    }

    fn is_far(&self, visitor: u32) -> bool {
        let follower = self.followers.get(visitor as usize);
        follower.is_some_and(Follower::is_far)
    }

    /// Answers a status request from the backup, without a position and without a place that the client could follow.
    /// Returns the time until the next poll, in milliseconds.
    fn answer_degraded(&mut self, visitor: u32) -> u64 {
        let now_ms = self.now_ms;
        if let Some(follower) = self.followers.get_mut(visitor as usize) {
            follower.receive_entry(None, &self.documents, now_ms, 0.0);
        }
        self.record_return(visitor);
        let claim_ms = self.view.configuration.settings.claim_ms();
        degraded_retry_after_ms(claim_ms, self.rng.random())
    }

    /// The time until a client repeats a refused request, in milliseconds.
    fn draw_refused_pause_ms(&mut self, visitor: u32, step: Step, refusal: Refusal) -> u64 {
        if self.clients == Clients::Fixed {
            return FIXED_POLL_MS;
        }
        let is_of_crowd = matches!(step, Step::Enter | Step::Poll);
        // The last snapshot before the outage.
        let waiting = if is_of_crowd { self.view.in_line() } else { 0 };
        let queue = RefusedQueue {
            waiting,
            last_eta_ms: self.last_eta_ms,
            claim_ms: self.view.configuration.settings.claim_ms(),
        };
        let seconds = match refusal {
            Refusal::LineUnavailable => {
                retry_after_seconds(RETRY_AFTER_MIN_SECONDS, Some(&queue), self.rng.random())
            }
            // The gateway's own answers are static.
            Refusal::Throttled => RETRY_AFTER_MIN_SECONDS,
            Refusal::Unreachable => 0,
        };
        let refusals = self.visitors[visitor as usize].refusals.saturating_sub(1);
        seconds * 1_000 + client_backoff_ms(queue.claim_ms, refusals, self.rng.random())
    }

    /// Records that a visitor who was refused is served again.
    fn record_return(&mut self, visitor: u32) {
        let state = &mut self.visitors[visitor as usize];
        if state.refusals == 0 {
            return;
        }
        state.refusals = 0;
        let front_door_down_ms = &self.scenario.deployment.front_door_down_ms;
        if let Some(outage_ms) = self.scenario.outage_ms.as_ref().or(front_door_down_ms.as_ref()) {
            self.outcome.refused_visitors += 1;
            let after_ms = self.now_ms.saturating_sub(outage_ms.end);
            self.outcome.return_ms_max = self.outcome.return_ms_max.max(after_ms);
        }
    }
}
