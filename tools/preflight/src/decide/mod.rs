//! What the answers mean for a sale: one finding for each check. These rules are pure.

mod api;
mod claims;
mod concurrency;
mod crowd_limits;
mod openapi_routes;
mod size;
mod start;
mod tables;
#[cfg(test)]
mod tests;
mod unanswered;
mod zones;

use vestibule_domain::preflight::Finding;
use vestibule_sizing::crowd_sizing::{Cache, CrowdDemand};

use crate::account_answers::{AccountAnswers, StackAnswer};

/// What an emulator answers for itself, and not as an account does: it has quotas, zones and starts of its own, and does not
/// apply all of a template.
const EMULATED: [&str; 7] = [
    "table-protection",
    "restore-time",
    "concurrency",
    "function-concurrency",
    "api-requests",
    "zones",
    "cold-start",
];

/// Decides what the answers mean. `crowd` makes the crowd that is expected, for the cache of the stack, and whether the stack
/// has a CDN.
pub(crate) fn decide_findings(
    answers: &AccountAnswers,
    crowd: impl Fn(Cache, bool) -> Option<CrowdDemand>,
) -> Vec<Finding> {
    let mut findings = vec![
        stack_finding(&answers.stack),
        size::size_finding(&answers.stack),
        tables::protection_finding(&answers.stack, &answers.queues_table, &answers.entries_table),
        tables::restore_finding(&answers.entries_table),
        concurrency::quota_finding(&answers.stack, &answers.executions),
        concurrency::functions_finding(&answers.stack, &answers.functions),
        concurrency::held_polls_finding(&answers.stack),
        api::requests_finding(&answers.stack, &answers.requests),
        api::import_finding(&answers.routes),
        zones::zones_finding(&answers.zones),
        claims::claim_finding(&answers.stack, &answers.functions, &answers.claims),
    ];
    findings.extend(start::start_findings(&answers.starts));
    if let Some(demand) = crowd(cache_of(&answers.stack), has_cdn(&answers.stack)) {
        findings.extend(crowd_limits::crowd_findings(answers, &demand));
    }
    if answers.stack.is_on_emulator() {
        findings = findings.into_iter().map(doubt_emulator).collect();
    }
    findings
}

/// Says of an answer of an emulator that an account may answer otherwise.
fn doubt_emulator(finding: Finding) -> Finding {
    let is_emulated =
        EMULATED.contains(&finding.check.as_str()) || finding.check.starts_with(crowd_limits::CHECK_PREFIX);
    if !is_emulated {
        return finding;
    }
    let found = format!(
        "an emulator cannot answer for an account; it says: {}",
        finding.found
    );
    Finding::unknown(
        &finding.check,
        found,
        "run the preflight against the stack in the account",
    )
}

fn stack_finding(stack: &StackAnswer) -> Finding {
    const CHECK: &str = "stack";
    if stack.status.ends_with("_COMPLETE") && !stack.status.contains("ROLLBACK") {
        Finding::ok(CHECK, format!("the last deployment ended with {}", stack.status))
    } else {
        Finding::fault(
            CHECK,
            format!("the last deployment is in the state {}", stack.status),
            "read the events of the stack, and deploy until it ends with CREATE_COMPLETE or UPDATE_COMPLETE",
        )
    }
}

/// Whether a distribution answers the reads of the public document.
fn has_cdn(stack: &StackAnswer) -> bool {
    stack.text("Distribution") == "yes"
}

/// The cache of the line. A Redis of the owner counts as a node.
fn cache_of(stack: &StackAnswer) -> Cache {
    if stack.text("CacheNodeType").is_empty() && stack.text("RedisUrl").is_empty() {
        Cache::Serverless
    } else {
        Cache::Node
    }
}
