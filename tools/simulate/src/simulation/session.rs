//! What happens while a visitor is active: the protected service validates the visitor, the client renews the pass, and
//! the service completes the visit.

use vestibule_domain::poll_pacing::renew_after_ms;
use vestibule_line::{LeaveReason, Validation};

use super::{
    state::{Simulation, resolve},
    visitor_state::Step,
};

impl Simulation {
    /// Schedules what happens next in the session of a visitor.
    pub(super) fn schedule_session_step(&mut self, visitor: u32) {
        let state = &self.visitors[visitor as usize];
        let (session, stay_ms) = (state.session, state.drawn.stay_ms);
        let session_ms = self.settings.session_ms();
        let stays_ms = stay_ms.unwrap_or(u64::MAX).min(session_ms);
        // A longer stay ends with the session.
        let ends_at_ms = stay_ms
            .filter(|ms| *ms < session_ms)
            .map(|ms| session.since_ms + ms);
        let mut next = ends_at_ms.map(|at_ms| (at_ms, Step::Complete));
        let mut add = |after_ms: u64, step| {
            if after_ms < stays_ms && next.is_none_or(|(at_ms, _)| session.since_ms + after_ms < at_ms) {
                next = Some((session.since_ms + after_ms, step));
            }
        };
        let checks = u64::from(self.scenario.deployment.checks);
        if u64::from(session.checks) < checks {
            // They are spread evenly over the stay.
            let after_ms = stays_ms * (2 * u64::from(session.checks) + 1) / (2 * checks);
            add(after_ms, Step::Validate);
        }
        if self.front_door.is_some() {
            let pass_ms = self.settings.pass_ms(session_ms);
            let after_ms = renew_after_ms(pass_ms, session_ms) * (u64::from(session.renewals) + 1);
            add(after_ms, Step::Renew);
        }
        match next {
            Some((at_ms, step)) => self.schedule(visitor, step, at_ms.max(self.now_ms)),
            None => self.visitors[visitor as usize].step = Step::None,
        }
    }

    /// Renews the pass by a status request.
    pub(super) fn renew(&mut self, visitor: u32) {
        self.read_entry(visitor);
        self.visitors[visitor as usize].session.renewals += 1;
        self.serve_request(visitor);
        self.schedule_session_step(visitor);
    }

    /// Validates the visitor for the protected service.
    pub(super) fn validate(&mut self, visitor: u32) {
        let id = self.visitors[visitor as usize].id;
        let validation = Validation {
            visit: None,
            claims: false,
            consumes: false,
            use_id: None,
            reactivate_until_ms: None,
        };
        resolve(self.line.validate(&self.queue, id, validation)).expect("the queue exists");
        self.visitors[visitor as usize].session.checks += 1;
        self.schedule_session_step(visitor);
    }

    pub(super) fn complete(&mut self, visitor: u32) {
        self.visitors[visitor as usize].step = Step::None;
        self.end_visit(visitor, LeaveReason::Complete);
    }
}
