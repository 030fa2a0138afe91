//! The table and Redis are equal, of all that was acknowledged.

use super::{Findings, Violation};
use crate::chaos::{compare::Difference, history::What};

const EQUAL: &str = "the line and the table are equal";

pub(super) fn differing(findings: &Findings) -> Vec<Violation> {
    let wrong = findings.differences.iter().filter_map(|difference| {
        let visitor = wronged(findings, difference)?;
        Some(Violation::new(EQUAL, &[visitor], difference.what.clone()))
    });
    wrong.collect()
}

/// The visitor to whom the entry was acknowledged as it is not everywhere. What Redis had forgotten, of what was done while it
/// was behind, comes back when it is asked for; and where a function was killed between the line and the table, the visitor's
/// next attempt mends it.
fn wronged(findings: &Findings, difference: &Difference) -> Option<usize> {
    let token = difference.id.to_string();
    let visitor = findings
        .calls
        .iter()
        .find(|call| call.text("token") == Some(&token))?
        .visitor;
    let last = findings
        .story(visitor)
        .filter(|call| call.what != What::Status && call.begun_ms <= difference.at_ms)
        .last()?;
    let is_forgotten = difference
        .changed_ms
        .is_some_and(|at_ms| findings.is_behind(at_ms, at_ms))
        || findings.is_behind(last.begun_ms, last.ended_ms);
    (!is_forgotten && last.is_acknowledged()).then_some(visitor)
}
