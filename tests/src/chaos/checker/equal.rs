//! The table and Redis are equal, of all that was acknowledged.

use super::{Findings, Violation};
use crate::chaos::{
    compare::Difference,
    history::{Call, What},
};

const EQUAL: &str = "the line and the table are equal";

pub(super) fn differing(findings: &Findings) -> Vec<Violation> {
    let wrong = findings.differences.iter().filter_map(|difference| {
        let visitor = wronged(findings, difference)?;
        Some(Violation::new(EQUAL, &[visitor], difference.what.clone()))
    });
    wrong.collect()
}

/// The visitor to whom the entry was acknowledged as it is not everywhere. What Redis had forgotten comes back when it is
/// asked for; and where a function was killed between the line and the table, the visitor's next attempt mends it.
fn wronged(findings: &Findings, difference: &Difference) -> Option<usize> {
    let token = difference.id.to_string();
    let visitor = findings
        .calls
        .iter()
        .find(|call| call.text("token") == Some(&token))?
        .visitor;
    let has_forgotten = findings.behind().any(|struck| struck.from_ms <= difference.at_ms);
    let last = findings
        .story(visitor)
        .filter(|call| call.what != What::Status && call.begun_ms <= difference.at_ms)
        .last();
    (!has_forgotten && last.is_some_and(Call::is_acknowledged)).then_some(visitor)
}
