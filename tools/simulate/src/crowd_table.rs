//! The printed figures of a crowd in a deployment with ceilings, as `name=value` lines.

use crate::{crowd_figures::CrowdFigures, scenario::Scenario};
use vestibule_sizing::ceilings::Function;

/// Formats the figures of one run. `suffix` is added to each name.
pub fn format_crowd(figures: &CrowdFigures, suffix: &str) -> String {
    let CrowdFigures { run, traffic, .. } = figures;
    let lines: [(&str, String); 39] = [
        ("wait_mean_seconds", format!("{:.0}", run.wait_mean_seconds)),
        ("wait_max_seconds", format!("{:.0}", run.wait_max_seconds)),
        ("no_shows", format!("{:.0}", run.no_shows)),
        ("held_max", run.held_max.to_string()),
        ("origin_requests", traffic.origin_requests.to_string()),
        ("origin_reads", traffic.origin_reads.to_string()),
        ("requests_throttled", traffic.throttled_total().to_string()),
        (
            "status_requests_throttled",
            traffic.throttled[Function::Status as usize].to_string(),
        ),
        (
            "claims_throttled",
            traffic.throttled[Function::Claim as usize].to_string(),
        ),
        ("requests_without_line", traffic.overloaded.to_string()),
        (
            "slot_mean_polls_per_second",
            format!("{:.0}", figures.slot_mean_polls),
        ),
        (
            "promotion_to_claim_mean_ms",
            format!("{:.0}", figures.promotion_to_claim_mean_ms),
        ),
        (
            "promotion_to_claim_p99_ms",
            figures.promotion_to_claim_p99_ms.to_string(),
        ),
        ("slot_peak_polls_per_second", traffic.slot_peak_polls.to_string()),
        ("calls_p99", figures.calls_p99.to_string()),
        ("lost_places", figures.lost_places.to_string()),
        ("late_turns", figures.late_turns.to_string()),
        ("never_served", figures.never_served.to_string()),
        ("awaited_turns", figures.awaited_turns.to_string()),
        ("awaited_delay_p99_ms", figures.awaited_delay_p99_ms.to_string()),
        ("out_of_order", run.out_of_order.to_string()),
        ("unserved", figures.unserved.to_string()),
        ("returned", figures.returned.to_string()),
        ("overslept", figures.overslept.to_string()),
        ("return_ms_max", figures.return_ms_max.to_string()),
        (
            "estimate_coverage_80",
            format!("{:.3}", figures.estimates.coverage()),
        ),
        (
            "estimate_mean_relative_width",
            format!("{:.3}", figures.estimates.mean_width()),
        ),
        (
            "estimate_coverage_80_of_documents",
            format!("{:.3}", figures.document_estimates.coverage()),
        ),
        (
            "estimate_mean_relative_width_of_documents",
            format!("{:.3}", figures.document_estimates.mean_width()),
        ),
        (
            "estimate_mean_relative_error",
            format!("{:.3}", figures.estimates.mean_error()),
        ),
        ("visitors_per_hour", format!("{:.0}", figures.visitors_per_hour)),
        ("lost_turns", run.lost_turns.to_string()),
        ("overshoot", run.overshoot.to_string()),
        ("calls_per_visitor", format!("{:.1}", figures.calls_per_visitor)),
        (
            "service_calls_per_visitor",
            format!("{:.1}", figures.service_calls_per_visitor),
        ),
        (
            "document_reads_per_visitor",
            format!("{:.1}", figures.document_reads_per_visitor),
        ),
        ("origin_peak_rps", traffic.origin_peak.to_string()),
        ("passed_over_present", figures.passed_over_present.to_string()),
        (
            "passed_over_present_delay_p99_ms",
            figures.passed_over_present_delay_p99_ms.to_string(),
        ),
    ];
    let format_line = |(name, value): &(&str, String)| format!("{name}{suffix}={value}\n");
    lines.iter().map(format_line).collect()
}

/// Formats the ceilings and the settings of a scenario.
pub fn format_crowd_scenario(scenario: &Scenario) -> String {
    let Scenario {
        name,
        visitors,
        settings,
        deployment,
        ..
    } = scenario;
    let Some(ceilings) = deployment.ceilings else {
        return String::new();
    };
    format!(
        "scenario={name}\nvisitors={visitors}\nceiling={}\nchecks={}\ngateway_ceiling_rps={}\n\
         enter_concurrency={}\nstatus_concurrency={}\nvalidate_concurrency={}\nbatch={}\ninterval_seconds={}\ncapacity={}\n",
        ceilings.slot_polls_per_second,
        deployment.checks,
        ceilings.gateway_per_second,
        ceilings.concurrency[Function::Enter as usize],
        ceilings.concurrency[Function::Status as usize],
        ceilings.concurrency[Function::Validate as usize],
        settings.batch,
        settings.interval_seconds,
        settings.capacity,
    )
}
