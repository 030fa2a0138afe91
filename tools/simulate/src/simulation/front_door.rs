//! The front door of a deployment: each request passes the throttle of its route, the limit of the account, the limit of
//! its function, and the hash slot of the queue. The first that is exhausted refuses the request.
//!
//! The bursts are what each part takes at once: the gateway as AWS says, a function one second of requests, and the slot
//! half a second of commands, after which the connection of a process gives up.

use vestibule_sizing::ceilings::{Ceilings, FUNCTIONS, Function, POLL_COST, Route};

use super::token_bucket::TokenBucket;
use crate::traffic::Traffic;

/// Why a request is not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The gateway or a function has no room. The answer is 429 of the gateway, whose `Retry-After` is static.
    Throttled,
    /// The line does not answer in time. The answer is 503, or for a status request the place without a position.
    LineUnavailable,
    /// No answer comes.
    Unreachable,
}

/// The limits of the front door, and what they have left.
#[derive(Debug)]
pub(super) struct FrontDoor {
    gateway: TokenBucket,
    functions: [TokenBucket; FUNCTIONS],
    slot: TokenBucket,
    pub(super) is_down: bool,
    pub(super) traffic: Traffic,
}

impl FrontDoor {
    pub(super) fn new(ceilings: &Ceilings) -> Self {
        let functions = [
            Function::Document,
            Function::Enter,
            Function::Status,
            Function::Claim,
            Function::Validate,
        ];
        let slot_per_second = u64::from(ceilings.slot_polls_per_second) * POLL_COST;
        Self {
            gateway: TokenBucket::new(ceilings.gateway_per_second.into(), ceilings.gateway_burst.into()),
            functions: functions.map(|function| {
                let per_second = ceilings.function_per_second(function).into();
                TokenBucket::new(per_second, per_second)
            }),
            slot: TokenBucket::new(slot_per_second, slot_per_second / 2),
            is_down: false,
            traffic: Traffic::default(),
        }
    }

    /// Lets a request through, or says why not.
    pub(super) fn admit(&mut self, now_ms: u64, route: Route) -> Result<(), Refusal> {
        if self.is_down {
            return Err(Refusal::Unreachable);
        }
        self.traffic.count_request(now_ms, route);
        let function = &mut self.functions[route.function() as usize];
        let limits = if route.has_own_throttle() {
            [function, &mut self.gateway]
        } else {
            [&mut self.gateway, function]
        };
        if !limits.into_iter().all(|limit| limit.take_if_enough(now_ms, 1)) {
            self.traffic.count_throttled(route.function());
            return Err(Refusal::Throttled);
        }
        let cost = route.slot_cost();
        if !self.slot.take_if_enough(now_ms, cost) {
            self.traffic.overloaded += 1;
            return Err(Refusal::LineUnavailable);
        }
        self.traffic.count_slot_cost(now_ms, cost);
        Ok(())
    }

    /// Counts what the slot does besides answering requests. It is never refused.
    pub(super) fn charge_slot(&mut self, now_ms: u64, cost: u64) {
        self.slot.take(now_ms, cost);
        self.traffic.count_slot_cost(now_ms, cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vestibule_sizing::facts::SERVERLESS_SLOT_POLLS;

    /// Sends this many requests per second for ten seconds and returns how many were served in a second.
    fn served_per_second(ceilings: &Ceilings, route: Route, per_second: u64) -> u64 {
        let mut front_door = FrontDoor::new(ceilings);
        let mut served = 0;
        for request in 0..per_second * 10 {
            let now_ms = request * 1_000 / per_second;
            let is_served = front_door.admit(now_ms, route).is_ok();
            // The first seconds use up what each part takes at once.
            served += u64::from(is_served && now_ms >= 5_000);
        }
        served / 5
    }

    #[test]
    fn each_route_is_served_up_to_its_lowest_ceiling() {
        let serverless = Ceilings::with_slot(SERVERLESS_SLOT_POLLS.whole());
        let node = Ceilings::with_slot(40_000);
        for (ceilings, route, expected) in [
            (&serverless, Route::Status, 2_843),
            (&node, Route::Status, 3_000),
            (&node, Route::Enter, 530),
            (&serverless, Route::Claim, 500),
            (&serverless, Route::Validate, 1_000),
            (&serverless, Route::Document, 1_000),
        ] {
            let served = served_per_second(ceilings, route, 20_000);
            assert!(served.abs_diff(expected) <= 2, "{route:?}: {served}");
        }
        let fast = node.with_concurrency(Function::Status, 4_000);
        let served = served_per_second(&fast, Route::Status, 20_000);
        assert!(served.abs_diff(10_000) <= 2, "the account: {served}");
    }

    #[test]
    fn a_throttled_entrance_leaves_the_account_to_the_others() {
        let mut front_door = FrontDoor::new(&Ceilings::with_slot(40_000));
        let mut claims = 0;
        for request in 0..1_000_000_u64 {
            let now_ms = request / 100;
            let _ = front_door.admit(now_ms, Route::Enter);
            if request.is_multiple_of(1_000) {
                claims += u64::from(front_door.admit(now_ms, Route::Claim).is_ok());
            }
        }
        assert_eq!(claims, 1_000);
        assert_eq!(front_door.traffic.origin_peak, 100_100);
    }
}
