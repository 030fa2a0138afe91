//! Counts the requests that reach a deployment, and its busiest second.

use vestibule_sizing::ceilings::{FUNCTIONS, Function, POLL_COST, Route};

/// The requests of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    /// Requests that reached the gateway in the busiest second, also those that it refused.
    pub origin_peak: u64,
    /// What the slot did in its busiest second, in entry polls.
    pub slot_peak_polls: u64,
    /// Requests that reached the gateway.
    pub origin_requests: u64,
    /// Requests of the protected service.
    pub service_calls: u64,
    /// Requests of the CDN for the public document.
    pub origin_reads: u64,
    /// Requests that the gateway or a function refused with 429, by the function.
    pub throttled: [u64; FUNCTIONS],
    /// Requests that a function refused or answered without the line, because the slot was overloaded.
    pub overloaded: u64,
    /// What the slot did, in thousandths of an entry poll.
    pub slot_cost: u64,
    second: u64,
    in_second: u64,
    slot_cost_in_second: u64,
}

impl Traffic {
    /// Requests that the gateway or a function refused with 429.
    pub fn throttled_total(&self) -> u64 {
        self.throttled.iter().sum()
    }

    /// Counts a request that the gateway or a function refuses.
    pub(crate) fn count_throttled(&mut self, function: Function) {
        self.throttled[function as usize] += 1;
    }

    /// Counts a request that reaches the gateway.
    pub(crate) fn count_request(&mut self, now_ms: u64, route: Route) {
        self.begin_second(now_ms);
        self.in_second += 1;
        self.origin_peak = self.origin_peak.max(self.in_second);
        self.origin_requests += 1;
        self.service_calls += u64::from(route.is_of_service());
        self.origin_reads += u64::from(route == Route::Document);
    }

    /// Counts what the slot does.
    pub(crate) fn count_slot_cost(&mut self, now_ms: u64, cost: u64) {
        self.begin_second(now_ms);
        self.slot_cost += cost;
        self.slot_cost_in_second += cost;
        self.slot_peak_polls = self.slot_peak_polls.max(self.slot_cost_in_second / POLL_COST);
    }

    fn begin_second(&mut self, now_ms: u64) {
        let second = now_ms / 1_000;
        if second != self.second {
            (self.second, self.in_second, self.slot_cost_in_second) = (second, 0, 0);
        }
    }
}
