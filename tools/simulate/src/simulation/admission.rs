//! Passes the requests of a run through the front door of its deployment, if it has one.

use super::{front_door::Refusal, state::Simulation};
use vestibule_sizing::ceilings::Route;

impl Simulation {
    /// Lets a request through, or says why not.
    pub(super) fn admit_request(&mut self, route: Route) -> Result<(), Refusal> {
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
