//! The pace at which a deployment can serve a crowd whose clients follow the public document: the highest pace that the
//! hash slot of the queue carries, or a lower one if visitors are to wait for longer.

use vestibule_domain::{
    lane::{LaneSpeed, window_entries},
    poll_pacing::{HOLD_HORIZON_MS, look_after_ms, retry_after_ms, retry_cap_ms},
    settings::Settings,
};

use crate::ceilings::{
    Ceilings, Function, HELD_BUDGET, LANE_COST, POLL_COST, PROMOTION_COST, REQUESTS_PER_EXECUTION, Route,
    TICK_COST,
};

/// The share of a ceiling that is used. The rest is for what comes unevenly.
const USED_SHARE: f64 = 0.85;
/// The share of the slot that entering uses while the crowd arrives.
const ENTERING_SHARE: f64 = 0.25;
/// The most executions for entering. More let a crowd arrive faster than any sale needs.
const ENTER_CONCURRENCY_MAX: u32 = 200;
/// The pace is at most this share of the rate at which visitors enter. Otherwise there is no crowd.
const PACE_SHARE: f64 = 0.8;
/// The looks of a crowd are counted in steps of this length, and for this long.
const STEP_SECONDS: f64 = 10.0;
const RUN_SECONDS_MAX: f64 = 6.0 * 3_600.0;
/// The most polls that are counted of a visitor who is called.
const POLLS_MAX: u32 = 1_000;
/// The mean time that a request is late in the network, in milliseconds.
const REQUEST_DELAY_MS: u64 = 200;

/// How a deployment serves a crowd.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrowdPlan {
    /// Visitors who get their turns, per second.
    pub per_second: f64,
    /// The time in which the crowd arrives, in seconds.
    pub arrives_in_seconds: f64,
    /// The ceilings of the deployment. The concurrency of the function for entering is what leaves the slot to those who
    /// wait: the default for a serverless cache. That of the functions for status requests and for the protected service
    /// is raised if the crowd needs more than the default.
    pub ceilings: Ceilings,
}

/// What a crowd asks of a deployment.
#[derive(Debug, Clone, Copy)]
struct Demand<'a> {
    visitors: f64,
    checks: u32,
    settings: &'a Settings,
    entering_per_second: f64,
}

impl CrowdPlan {
    /// Plans for a crowd of this many visitors, in a deployment with these ceilings. The protected service validates each
    /// active visitor `checks` times, and visitors wait for `wait_seconds` on average, or longer if the slot is too slow.
    /// `settings` tell how clients are called and paced.
    pub fn for_crowd(
        visitors: u32,
        ceilings: &Ceilings,
        checks: u32,
        wait_seconds: u32,
        settings: &Settings,
    ) -> Self {
        let slot = f64::from(ceilings.slot_polls_per_second);
        let entering_max = f64::from(ENTER_CONCURRENCY_MAX * REQUESTS_PER_EXECUTION) * USED_SHARE;
        let demand = Demand {
            visitors: visitors.into(),
            checks,
            settings,
            entering_per_second: (slot * ENTERING_SHARE / entering_cost()).min(entering_max),
        };
        let arrives_in_seconds = demand.arrives_in_seconds();
        let claims_max = f64::from(ceilings.function_per_second(Function::Claim)) * USED_SHARE;
        let by_wait = demand.visitors / (2.0 * f64::from(wait_seconds) + arrives_in_seconds);
        let most = claims_max
            .min(by_wait)
            .min(demand.entering_per_second * PACE_SHARE);
        let is_carried = |pace: f64| demand.slot_polls_per_second(pace) <= slot * USED_SHARE;
        let per_second = highest(most, is_carried);

        let status_per_second = demand.status_requests_per_second(per_second);
        let service_per_second = per_second * f64::from(checks + 1);
        let raised = ceilings
            .with_concurrency(
                Function::Enter,
                executions(demand.entering_per_second / USED_SHARE),
            )
            .with_at_least(Function::Status, status_per_second / USED_SHARE)
            .with_at_least(Function::Validate, service_per_second / USED_SHARE);
        Self {
            per_second,
            arrives_in_seconds,
            ceilings: raised,
        }
    }
}

impl Ceilings {
    /// Raises the concurrency of a function so that it serves this many requests per second.
    fn with_at_least(self, function: Function, per_second: f64) -> Self {
        let needed = executions(per_second);
        self.with_concurrency(function, needed.max(self.concurrency[function as usize]))
    }
}

/// The executions that serve this many requests per second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn executions(per_second: f64) -> u32 {
    (per_second / f64::from(REQUESTS_PER_EXECUTION)).ceil() as u32
}

impl Demand<'_> {
    /// Looks per second over time, in steps of [`STEP_SECONDS`]. Each visitor looks after the entry until the turn.
    fn looks_per_second(&self, pace: f64) -> Vec<f64> {
        let (entering, arrives_in_seconds) = (self.entering_per_second, self.arrives_in_seconds());
        let ends_at_seconds = self.visitors / pace.max(f64::MIN_POSITIVE);
        let mut looks = vec![0.0; steps(ends_at_seconds.min(RUN_SECONDS_MAX)) + 1];
        for step in 0..steps(arrives_in_seconds) {
            let entered_at_seconds = seconds_of(step);
            let turn_at_seconds = (entered_at_seconds * entering / pace).min(RUN_SECONDS_MAX);
            let mut at_seconds = entered_at_seconds;
            loop {
                let waiting = entering * at_seconds.min(arrives_in_seconds) - pace * at_seconds;
                at_seconds += look_seconds(waiting);
                match looks.get_mut(steps(at_seconds)) {
                    Some(count) if at_seconds < turn_at_seconds => *count += entering,
                    _ => break,
                }
            }
        }
        looks
    }

    /// What the slot does in the busiest time, in entry polls per second.
    fn slot_polls_per_second(&self, pace: f64) -> f64 {
        let look_cost = in_polls(Route::Status.slot_cost());
        let entering_steps = steps(self.arrives_in_seconds());
        let looks = self.looks_per_second(pace);
        let of_step = |(step, looks): (usize, &f64)| {
            let is_entering = step < entering_steps;
            let entering = if is_entering {
                self.entering_per_second
            } else {
                0.0
            };
            entering * entering_cost() + looks * look_cost
        };
        let busiest = looks.iter().enumerate().map(of_step).fold(0.0, f64::max);
        // A held poll reads its entry once a second.
        #[allow(clippy::cast_precision_loss)]
        let held_polls = (HELD_BUDGET as f64).min(pace * HOLD_HORIZON_MS as f64 / 1_000.0);
        busiest + pace * self.turn_cost(pace) + held_polls + in_polls(TICK_COST)
    }

    /// Status requests in the busiest time, per second.
    fn status_requests_per_second(&self, pace: f64) -> f64 {
        let busiest = self.looks_per_second(pace).into_iter().fold(0.0, f64::max);
        busiest + pace * f64::from(polls_when_called(pace, self.settings))
    }

    fn arrives_in_seconds(&self) -> f64 {
        self.visitors / self.entering_per_second
    }

    /// What a visitor costs the slot from being called until the end, in entry polls.
    fn turn_cost(&self, pace: f64) -> f64 {
        let once = Route::Claim.slot_cost() + Route::Complete.slot_cost() + PROMOTION_COST;
        in_polls(once)
            + f64::from(polls_when_called(pace, self.settings)) * in_polls(Route::Status.slot_cost())
            + f64::from(self.checks) * in_polls(Route::Validate.slot_cost())
    }
}

/// The highest number up to this one that is possible. Every lower number is possible, too.
fn highest(up_to: f64, is_possible: impl Fn(f64) -> bool) -> f64 {
    if is_possible(up_to) {
        return up_to;
    }
    let (mut low, mut high) = (0.0, up_to);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if is_possible(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The time until the client of a visitor far from the head looks after the entry, in seconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]
fn look_seconds(waiting: f64) -> f64 {
    look_after_ms(waiting as u64, 0.5) as f64 / 1_000.0
}

/// The number of whole steps in this time.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn steps(seconds: f64) -> usize {
    (seconds / STEP_SECONDS) as usize
}

#[allow(clippy::cast_precision_loss)]
fn seconds_of(step: usize) -> f64 {
    step as f64 * STEP_SECONDS
}

fn entering_cost() -> f64 {
    in_polls(Route::Enter.slot_cost() + LANE_COST)
}

/// The polls of a visitor from being called until the turn.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]
fn polls_when_called(pace: f64, settings: &Settings) -> u32 {
    let speed = LaneSpeed {
        per_1000_seconds: (pace * 1_000.0) as u64,
        ..LaneSpeed::default()
    };
    let room = settings.window_entries_max();
    let called = window_entries(speed, None, 1, room, settings) as f64;
    let (mut left_ms, mut polls) = ((called / pace * 1_000.0) as u64, 0);
    // A line that hardly moves has no end of polls.
    while left_ms > 0 && polls < POLLS_MAX {
        polls += 1;
        let pause_ms = retry_after_ms(left_ms, retry_cap_ms(settings, true), 0, 0.5) + REQUEST_DELAY_MS;
        left_ms = left_ms.saturating_sub(pause_ms);
    }
    polls
}

#[allow(clippy::cast_precision_loss)]
fn in_polls(cost: u64) -> f64 {
    cost as f64 / POLL_COST as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceilings::SERVERLESS_SLOT_POLLS;

    const WAIT_SECONDS: u32 = 1_800;

    fn plan(visitors: u32, slot: u32, checks: u32) -> CrowdPlan {
        let ceilings = Ceilings::with_slot(slot);
        CrowdPlan::for_crowd(visitors, &ceilings, checks, WAIT_SECONDS, &Settings::default())
    }

    #[test]
    fn the_pace_is_that_of_the_slot_unless_visitors_are_to_wait() {
        let serverless = plan(1_000_000, SERVERLESS_SLOT_POLLS, 0);
        let checked = plan(1_000_000, SERVERLESS_SLOT_POLLS, 6);
        let node = plan(1_000_000, 40_000, 6);
        let wait = |plan: CrowdPlan| (1_000_000.0 / plan.per_second - plan.arrives_in_seconds) / 2.0;
        assert!(checked.per_second < serverless.per_second * 0.8, "{checked:?}");
        assert!(serverless.per_second < node.per_second, "{serverless:?}");
        let ceilings = Ceilings::with_slot(40_000);
        let fastest = CrowdPlan::for_crowd(1_000_000, &ceilings, 6, 0, &Settings::default());
        assert!(fastest.per_second > node.per_second * 1.2, "{fastest:?}");
        assert!((wait(node) - f64::from(WAIT_SECONDS)).abs() < 1.0, "{node:?}");
    }

    #[test]
    fn functions_get_the_concurrency_that_the_crowd_needs() {
        let concurrency = |plan: CrowdPlan, function| plan.ceilings.concurrency[function as usize];
        let small = plan(20_000, SERVERLESS_SLOT_POLLS, 0);
        assert_eq!(
            small.ceilings,
            Ceilings::with_slot(SERVERLESS_SLOT_POLLS),
            "the defaults"
        );
        assert_eq!(concurrency(plan(20_000, 40_000, 0), Function::Enter), 200);
        let large = concurrency(plan(1_000_000, 40_000, 6), Function::Validate);
        assert!((150..250).contains(&large), "{large}");
    }

    #[test]
    fn a_slot_that_cannot_answer_the_crowd_carries_no_pace() {
        assert!(plan(1_000_000, 100, 0).per_second < 1e-3);
        assert!(plan(20_000, 300, 0).per_second > 1.0);
    }
}
