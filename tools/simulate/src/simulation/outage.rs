//! The outages of a scenario.
//!
//! - The API refuses all requests with 503. The line stands meanwhile, and deadlines to claim stand still with it, as in
//!   a queue that is restored.
//! - The front door is down: no request arrives, and the promoter goes on.

use super::{availability::Availability, state::Simulation, visitor_state::Step};

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
            self.end_holds();
        }
    }

    /// When the front door next goes down or comes back.
    pub(super) fn next_front_door_change_ms(&self) -> u64 {
        match (&self.scenario.deployment.front_door_down_ms, &self.front_door) {
            (Some(down_ms), Some(front_door)) if front_door.is_down => down_ms.end,
            (Some(down_ms), Some(_)) if self.now_ms < down_ms.end => down_ms.start,
            _ => u64::MAX,
        }
    }

    /// Takes the front door down, or brings it back. The promoter goes on.
    pub(super) fn change_front_door(&mut self) {
        if let Some(front_door) = &mut self.front_door {
            front_door.is_down = !front_door.is_down;
        }
        self.end_holds();
    }

    /// Ends all holds.
    fn end_holds(&mut self) {
        for visitor in 0..self.scenario.visitors {
            if self.visitors[visitor as usize].step == Step::EndHold {
                self.event_queue.schedule(visitor, self.now_ms);
            }
        }
    }
}
