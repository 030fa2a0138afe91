//! Prints the findings: a line for each, with the remedy below.

use serde_json::json;
use vestibule_aws::stack::DeployedStack;
use vestibule_domain::preflight::{Finding, Outcome};

/// The width of the names of the checks.
const CHECK_WIDTH: usize = 22;

/// Prints the findings as lines for people.
pub(crate) fn print_findings(stack: &DeployedStack, findings: &[Finding]) {
    println!("{} in {}", stack.name, stack.region);
    for finding in findings {
        println!(
            "{:<6} {:<CHECK_WIDTH$} {}",
            outcome_label(finding.outcome),
            finding.check,
            one_line(&finding.found)
        );
        if let Some(remedy) = &finding.remedy {
            println!("       {:<CHECK_WIDTH$} -> {remedy}", "");
        }
    }
    let count = |outcome| {
        findings
            .iter()
            .filter(|finding| finding.outcome == outcome)
            .count()
    };
    println!(
        "{} ok, {} faults, {} that could not be found out",
        count(Outcome::Ok),
        count(Outcome::Fault),
        count(Outcome::Unknown)
    );
}

/// Prints the findings as one JSON object.
pub(crate) fn print_json(stack: &DeployedStack, findings: &[Finding]) {
    let printed = json!({ "stack": stack.name, "region": stack.region, "findings": findings });
    println!("{printed:#}");
}

fn outcome_label(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Fault => "FAULT",
        Outcome::Unknown => "?",
    }
}

/// An answer of a server may have several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
