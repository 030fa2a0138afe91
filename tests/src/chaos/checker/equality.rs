//! The table and Redis agree about all acknowledged changes.

use super::{Findings, Violation};
use crate::chaos::{compare::Difference, history::RequestKind};

const EQUAL: &str = "the line and the table are equal";

pub(super) fn find_unequal(findings: &Findings) -> Vec<Violation> {
    let wrong = findings.differences.iter().filter_map(|difference| {
        let visitor = find_affected_visitor(findings, difference)?;
        Some(Violation::new(EQUAL, &[visitor], difference.what.clone()))
    });
    wrong.collect()
}

/// The visitor whose acknowledged change is not in both places. Two cases are not a violation. What Redis lost
/// with stale data is restored when the visitor sends a request. If a function was killed between the line and
/// the table, the next attempt of the visitor repairs the entry.
fn find_affected_visitor(findings: &Findings, difference: &Difference) -> Option<usize> {
    let token = difference.id.to_string();
    let visitor = findings
        .calls
        .iter()
        .find(|call| call.text("token") == Some(&token))?
        .visitor;
    let last = findings
        .calls_of(visitor)
        .filter(|call| call.kind != RequestKind::Status && call.begun_ms <= difference.at_ms)
        .last()?;
    let is_forgotten = difference
        .changed_ms
        .is_some_and(|at_ms| findings.is_stale(at_ms, at_ms))
        || findings.is_stale(last.begun_ms, last.ended_ms);
    (!is_forgotten && last.is_acknowledged()).then_some(visitor)
}
