//! Whoever missed the turn and is back in time has the old place.

use super::{Findings, Violation};
use crate::chaos::history::{Call, What};

const GRACE: &str = "a missed turn has a grace";

pub(super) fn refused(findings: &Findings) -> Vec<Violation> {
    let told = findings
        .calls
        .iter()
        .filter(|call| call.number("grace_until_ms").is_some());
    let wrong = told.filter_map(|gone| {
        let back = back(findings, gone)?;
        let is_old = back.number("visit") == gone.number("visit");
        let what = format!("told by {gone}, and then: {back}");
        (!is_old).then(|| Violation::new(GRACE, &[gone.visitor], what))
    });
    wrong.collect()
}

/// How they entered first after that, in time. Whoever was let in at once needs no place; and without the table nobody knows
/// the old one.
fn back<'a>(findings: &'a Findings, gone: &Call) -> Option<&'a Call> {
    let is_entering = |call: &&Call| call.what == What::Enter && call.begun_ms >= gone.ended_ms;
    let mut entering = findings.story(gone.visitor).filter(is_entering);
    let first = entering.find(|call| call.is_acknowledged())?;
    let in_time = gone
        .number("grace_until_ms")
        .is_some_and(|until_ms| first.ended_ms < until_ms);
    let is_judged = in_time
        && first.text("state") != Some("active")
        && first.is_durable()
        && !findings.table_harmed(gone.ended_ms, first.ended_ms);
    is_judged.then_some(first)
}
