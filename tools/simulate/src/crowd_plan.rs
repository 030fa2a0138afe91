//! The pace at which a deployment can serve a crowd whose clients follow the public document: the highest pace that the
//! hash slot of the queue carries, or a lower one if visitors are to wait for longer.

use vestibule_domain::settings::Settings;
use vestibule_sizing::{
    ceilings::{Ceilings, Function},
    crowd_sizing::highest,
    facts::REQUESTS_PER_EXECUTION,
    load::{CrowdLoad, entering_cost},
    part_load::USED_SHARE,
};

/// The share of the slot that entering uses while the crowd arrives.
const ENTERING_SHARE: f64 = 0.25;
/// The most executions for entering. More let a crowd arrive faster than any sale needs.
const ENTER_CONCURRENCY_MAX: u32 = 200;
/// The pace is at most this share of the rate at which visitors enter. Otherwise there is no crowd.
const PACE_SHARE: f64 = 0.8;
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
        let entering_max = f64::from(ENTER_CONCURRENCY_MAX) * REQUESTS_PER_EXECUTION.value * USED_SHARE;
        let load = CrowdLoad {
            visitors: visitors.into(),
            checks,
            settings,
            entering_per_second: (slot * ENTERING_SHARE / entering_cost()).min(entering_max),
        };
        let arrives_in_seconds = load.arrives_in_seconds();
        let claims_max = f64::from(ceilings.function_per_second(Function::Claim)) * USED_SHARE;
        let by_wait = load.pace_for_mean_wait(wait_seconds);
        let most = claims_max.min(by_wait).min(load.entering_per_second * PACE_SHARE);
        let is_carried = |pace: f64| load.slot_polls_per_second(pace) <= slot * USED_SHARE;
        let per_second = highest(most, is_carried);

        let status_per_second = load.status_requests_per_second(per_second);
        let service_per_second = per_second * f64::from(checks + 1);
        let raised = ceilings
            .with_rate(Function::Enter, load.entering_per_second / USED_SHARE)
            .with_at_least_rate(Function::Status, status_per_second / USED_SHARE)
            .with_at_least_rate(Function::Validate, service_per_second / USED_SHARE);
        Self {
            per_second,
            arrives_in_seconds,
            ceilings: raised,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vestibule_sizing::facts::SERVERLESS_SLOT_POLLS;

    const WAIT_SECONDS: u32 = 1_800;

    fn plan(visitors: u32, slot: u32, checks: u32) -> CrowdPlan {
        let ceilings = Ceilings::with_slot(slot);
        CrowdPlan::for_crowd(visitors, &ceilings, checks, WAIT_SECONDS, &Settings::default())
    }

    #[test]
    fn the_pace_is_that_of_the_slot_unless_visitors_are_to_wait() {
        let serverless = plan(1_000_000, SERVERLESS_SLOT_POLLS.whole(), 0);
        let checked = plan(1_000_000, SERVERLESS_SLOT_POLLS.whole(), 6);
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
        let small = plan(20_000, SERVERLESS_SLOT_POLLS.whole(), 0);
        assert_eq!(
            small.ceilings,
            Ceilings::with_slot(SERVERLESS_SLOT_POLLS.whole()),
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
