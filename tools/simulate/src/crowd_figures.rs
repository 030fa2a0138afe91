//! The figures of a crowd in a deployment with ceilings.

use crate::{estimate_accuracy::AccuracySums, outcome::Outcome, run_figures::RunFigures, traffic::Traffic};
use vestibule_sizing::ceilings::POLL_COST;

/// The figures of one run.
#[derive(Debug, Clone)]
pub struct CrowdFigures {
    /// The figures that every run has.
    pub run: RunFigures,
    /// The requests that reached the deployment.
    pub traffic: Traffic,
    /// Places that ended before their visitors could claim.
    pub lost_places: u64,
    /// Turns of present visitors that came later than due.
    pub late_turns: u64,
    /// Visitors who follow the protocol, were passed over and never had a turn.
    pub never_served: u64,
    /// Visitors who follow the protocol and for whom the line waited to check in.
    pub awaited_turns: u64,
    /// The 99th percentile of the time for which it waited, in milliseconds.
    pub awaited_delay_p99_ms: u64,
    /// Visitors who follow the protocol and never had a turn.
    pub unserved: u64,
    /// Requests per visitor, by the visitor. Fakes do not count.
    pub calls_per_visitor: f64,
    /// The 99th percentile of the requests of a visitor.
    pub calls_p99: u32,
    /// Requests per visitor, by the protected service.
    pub service_calls_per_visitor: f64,
    /// Reads of the public document per visitor, from the CDN.
    pub document_reads_per_visitor: f64,
    /// Visitors who got their turns, per hour from the first to the last turn.
    pub visitors_per_hour: f64,
    /// Visitors who follow the protocol and were passed over.
    pub passed_over_present: u64,
    /// The 99th percentile of the time from being passed over until the turn, in milliseconds.
    pub passed_over_present_delay_p99_ms: u64,
    /// Visitors who came back after they were passed over, and got a turn.
    pub returned: u64,
    /// Visitors whose phones slept for too long.
    pub overslept: u64,
    /// The mean and the 99th percentile of the time from the turn until the visitor claimed it, in milliseconds.
    pub promotion_to_claim_mean_ms: f64,
    /// See [`CrowdFigures::promotion_to_claim_mean_ms`].
    pub promotion_to_claim_p99_ms: u32,
    /// What the slot did on average, in entry polls per second.
    pub slot_mean_polls: f64,
    /// The accuracy of the wait estimates in answers about entries.
    pub estimates: AccuracySums,
    /// The accuracy of those by the public document.
    pub document_estimates: AccuracySums,
    /// The longest time from the end of an outage until a visitor was served again, in milliseconds.
    pub return_ms_max: u64,
}

impl CrowdFigures {
    /// Computes the figures of a run.
    #[allow(clippy::cast_precision_loss)]
    pub fn from_outcome(outcome: &Outcome) -> Self {
        let is_real = |(_, is_fake): &(_, &bool)| !**is_fake;
        let visitors: Vec<_> = outcome
            .visitors
            .iter()
            .zip(&outcome.is_fake)
            .filter(is_real)
            .map(|(visitor, _)| visitor)
            .collect();
        let mut calls: Vec<u32> = visitors.iter().map(|visitor| visitor.calls).collect();
        calls.sort_unstable();
        let mut claims: Vec<u32> = visitors
            .iter()
            .filter_map(|visitor| visitor.claimed_after_ms)
            .collect();
        claims.sort_unstable();
        let count = visitors.len().max(1) as f64;
        let sum = |numbers: &mut dyn Iterator<Item = u32>| numbers.map(u64::from).sum::<u64>() as f64;
        let traffic = outcome.traffic.unwrap_or_default();
        let served_ms = outcome
            .served_until_ms
            .saturating_sub(outcome.served_from_ms)
            .max(1);
        let mut delays = outcome.turn_order.passed_over_delays_ms.clone();
        delays.sort_unstable();
        let mut awaited_delays = outcome.turn_order.awaited_delays_ms.clone();
        awaited_delays.sort_unstable();
        Self {
            run: RunFigures::from_outcome(outcome),
            traffic,
            lost_places: outcome.lost_places,
            late_turns: outcome.turn_order.late_turns,
            never_served: outcome.turn_order.never_served,
            awaited_turns: awaited_delays.len() as u64,
            awaited_delay_p99_ms: percentile_99(&awaited_delays),
            unserved: outcome.unserved,
            calls_per_visitor: sum(&mut calls.iter().copied()) / count,
            calls_p99: percentile_99(&calls),
            service_calls_per_visitor: traffic.service_calls as f64 / count,
            document_reads_per_visitor: sum(&mut visitors.iter().map(|visitor| visitor.document_reads))
                / count,
            visitors_per_hour: outcome.served as f64 * 3_600_000.0 / served_ms as f64,
            passed_over_present: outcome.turn_order.passed_over_present,
            passed_over_present_delay_p99_ms: percentile_99(&delays),
            returned: outcome.turn_order.returned,
            overslept: outcome.overslept,
            promotion_to_claim_mean_ms: sum(&mut claims.iter().copied()) / claims.len().max(1) as f64,
            promotion_to_claim_p99_ms: percentile_99(&claims),
            slot_mean_polls: traffic.slot_cost as f64 / POLL_COST as f64 * 1_000.0 / served_ms as f64,
            estimates: outcome.estimates.total(),
            document_estimates: outcome.document_estimates.total(),
            return_ms_max: outcome.return_ms_max,
        }
    }
}

/// The 99th percentile of numbers in ascending order, or 0.
fn percentile_99<T: Copy + Default>(sorted: &[T]) -> T {
    sorted.get(sorted.len() * 99 / 100).copied().unwrap_or_default()
}
