//! Nobody is admitted twice: one session for a visit, and none after its acknowledged end.

use super::{Findings, Kept, Violation};
use crate::chaos::history::{Call, What};

const ONCE: &str = "nobody is admitted twice";
/// Before that no write to the table is given up.
const SLOW_MS: u64 = 1_400;
const OVER: &str = "an acknowledged end is an end";

pub(super) fn twice(findings: &Findings, kept: &Kept<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    if let Some(claimed) = kept
        .later()
        .chain(&kept.calls)
        .find(|call| lets_in(findings, kept, call))
    {
        let end_ms = claimed.number("expires_at_ms");
        let again = since(kept, claimed).filter(|call| kept.is_of(call) && is_another_session(call, end_ms));
        violations.extend(
            again.map(|call| kept.violation(ONCE, &format!("let in by {claimed}, and then: {call}"))),
        );
    }
    if let Some(ended) = kept
        .calls
        .iter()
        .find(|call| ends(findings, call) && names_it(findings, kept, call))
    {
        let again = since(kept, ended).filter(|call| {
            call.is_acknowledged() && kept.is_of(call) && call.text("state").is_some_and(is_live)
        });
        violations
            .extend(again.map(|call| kept.violation(OVER, &format!("ended by {ended}, and then: {call}"))));
    }
    violations
}

fn since<'a>(kept: &'a Kept<'_>, earlier: &'a Call) -> impl Iterator<Item = &'a &'a Call> {
    kept.calls
        .iter()
        .filter(move |call| call.begun_ms >= earlier.ended_ms && !std::ptr::eq(**call, earlier))
}

/// Whether the visitor was let in by then for good. An answer from the table alone may be about a claim that Redis has
/// forgotten, and so may any other: what counts is when the session began.
fn lets_in(findings: &Findings, kept: &Kept<'_>, call: &Call) -> bool {
    let session_ms = findings.plan.session_seconds * 1_000;
    call.is_acknowledged()
        && kept.is_of(call)
        && call.text("state") == Some("active")
        && (call.is_durable() || !findings.loses_after(call.begun_ms))
        && call.number("expires_at_ms").is_some_and(|end_ms| {
            let began_ms = end_ms.saturating_sub(session_ms);
            !findings.is_behind(began_ms, call.ended_ms)
        })
}

/// Sessions are not extended here: one that ends later is another one.
fn is_another_session(call: &Call, end_ms: Option<u64>) -> bool {
    match call.text("state") {
        Some("waiting" | "ready") => true,
        Some("active") => call.number("expires_at_ms") > end_ms,
        _ => false,
    }
}

/// Whether the stay was ended by this for good. One that took so long may have gone by the journal, on a slow machine.
fn ends(findings: &Findings, call: &Call) -> bool {
    let may_be_slow = call.ended_ms - call.begun_ms >= SLOW_MS;
    let may_be_undone = findings.loses_after(call.begun_ms)
        && (may_be_slow || findings.table_harmed(call.begun_ms, call.ended_ms));
    matches!(call.what, What::Leave | What::Complete)
        && call.is_acknowledged()
        && !may_be_undone
        && !findings.is_behind(call.begun_ms, call.ended_ms)
}

/// Whether it named the visit of this stay: what is ended is the visit that was shown last. A line that has come back old may
/// have shown an earlier one, and that was over.
fn names_it(findings: &Findings, kept: &Kept<'_>, end: &Call) -> bool {
    let shown = findings.story(kept.visitor).filter(|call| {
        call.stay == kept.stay && call.ended_ms <= end.begun_ms && call.number("visit").is_some()
    });
    shown.last().is_none_or(|call| kept.is_of(call))
}

fn is_live(state: &str) -> bool {
    ["waiting", "ready", "active"].contains(&state)
}
