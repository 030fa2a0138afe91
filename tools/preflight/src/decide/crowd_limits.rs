//! What the expected crowd asks of each part, against what this account and this stack give.

use vestibule_domain::{preflight::Finding, settings::Settings};
use vestibule_sizing::{
    ceilings::FUNCTION_NAMES,
    crowd_sizing::{CrowdDemand, CrowdSizing},
    facts::REQUESTS_PER_EXECUTION,
    part_load::PartLoad,
};

use super::concurrency::concurrency_parameter;
use crate::account_answers::AccountAnswers;

/// What the names of these checks begin with.
pub(super) const CHECK_PREFIX: &str = "crowd-";

/// One finding for each part.
pub(super) fn crowd_findings(answers: &AccountAnswers, demand: &CrowdDemand) -> Vec<Finding> {
    match CrowdSizing::for_crowd(demand, &Settings::default()) {
        Ok(sizing) => sizing
            .parts
            .into_iter()
            .map(|part| part_finding(answers, part))
            .collect(),
        Err(error) => vec![Finding::fault(
            &format!("{CHECK_PREFIX}arrival"),
            error.to_string(),
            "let visitors enter before the opening and draw their places, or let them come over a longer time",
        )],
    }
}

fn part_finding(answers: &AccountAnswers, part: PartLoad) -> Finding {
    let part = PartLoad {
        ceiling: real_ceiling(answers, part.part).unwrap_or(part.ceiling),
        ..part
    };
    let check = format!("{CHECK_PREFIX}{}", part.part.to_lowercase().replace(' ', "-"));
    let found = format!("{:.0} of {:.0} {}", part.used.ceil(), part.ceiling, part.unit);
    if part.is_too_small() {
        Finding::fault(&check, found, part.remedy)
    } else {
        Finding::ok(&check, found)
    }
}

/// What the account or the stack gives of a part. `None` if only the plan knows.
fn real_ceiling(answers: &AccountAnswers, part: &str) -> Option<f64> {
    let stack = &answers.stack;
    let executions = answers
        .executions
        .as_ref()
        .ok()
        .map(|quota| f64::from(quota.limit));
    match part {
        "Lambda" => executions,
        "API Gateway" => answers.requests.as_ref().ok().map(|quota| quota.rate),
        "DynamoDB" => answers.entries_table.as_ref().ok()?.warm_writes.map(f64::from),
        function if FUNCTION_NAMES.contains(&function) => {
            let concurrency = match stack.number(&concurrency_parameter(function)) {
                0 => executions?,
                reserved => f64::from(reserved),
            };
            let rate = concurrency * REQUESTS_PER_EXECUTION.value;
            // Status requests have no limit of their own.
            Some(match stack.number(&format!("{function}ThrottleRate")) {
                0 => rate,
                throttle => rate.min(f64::from(throttle)),
            })
        }
        _ => None,
    }
}
