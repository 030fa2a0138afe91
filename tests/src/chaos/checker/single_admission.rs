//! No visitor is admitted twice: a visit has one session, and none after its acknowledged end.

use super::{Findings, SafePlace, Violation, places::is_stale_answer};
use crate::chaos::history::{Call, RequestKind};

const ONCE: &str = "no visitor is admitted twice";
/// A write to the table is not given up before this time.
const SLOW_MS: u64 = 1_400;
const OVER: &str = "an acknowledged end is final";

pub(super) fn find_repeated(findings: &Findings, place: &SafePlace<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    if let Some(claimed) = place
        .later_calls()
        .chain(&place.calls)
        .find(|call| is_lasting_admission(findings, place, call))
    {
        let end_ms = claimed.number("expires_at_ms");
        // While Redis cannot be reached, the table answers, and it does not know of an admission that only the journal has.
        let may_know = |call: &Call| claimed.is_durable() || !call.is_degraded();
        let again = calls_after(place, claimed)
            .filter(|call| place.is_about(call) && may_know(call) && is_another_session(call, end_ms));
        violations.extend(
            again.map(|call| place.violation(ONCE, &format!("admitted by {claimed}, and again by: {call}"))),
        );
    }
    if let Some(ended) = place.calls.iter().find(|call| {
        is_lasting_end(findings, call)
            && names_visit(findings, place, call)
            && !is_after_missed_turn(place, call)
    }) {
        let again = calls_of_visitor_after(findings, place, ended).filter(|call| {
            let is_answer_of_this_stay = call.stay == place.stay;
            call.is_acknowledged()
                && place.is_about(call)
                && call.text("state").is_some_and(is_live)
                // Before a stale Redis is noticed, a later stay may meet the visit there.
                && (is_answer_of_this_stay || !is_stale_answer(findings, place, call))
        });
        violations.extend(
            again.map(|call| place.violation(OVER, &format!("ended by {ended}, and live again in: {call}"))),
        );
    }
    violations
}

fn calls_after<'a>(place: &'a SafePlace<'_>, earlier: &'a Call) -> impl Iterator<Item = &'a &'a Call> {
    place
        .calls
        .iter()
        .filter(move |call| call.begun_ms >= earlier.ended_ms && !std::ptr::eq(**call, earlier))
}

fn calls_of_visitor_after<'a>(
    findings: &'a Findings,
    place: &SafePlace<'_>,
    earlier: &'a Call,
) -> impl Iterator<Item = &'a Call> {
    findings
        .calls_of(place.visitor)
        .filter(move |call| call.begun_ms >= earlier.ended_ms && !std::ptr::eq(*call, earlier))
}

/// Whether the answer shows an admission that cannot be lost. Redis may have lost a claim that an answer shows,
/// also an answer from the table alone. The start of the session decides.
fn is_lasting_admission(findings: &Findings, place: &SafePlace<'_>, call: &Call) -> bool {
    let session_ms = findings.plan.session_seconds * 1_000;
    call.is_acknowledged()
        && place.is_about(call)
        && call.text("state") == Some("active")
        && (call.is_durable() || !findings.is_data_lost_after(call.begun_ms))
        && call.number("expires_at_ms").is_some_and(|end_ms| {
            let began_ms = end_ms.saturating_sub(session_ms);
            !findings.is_stale(began_ms, call.ended_ms)
        })
}

/// No run extends a session, so a session that ends later is another one.
fn is_another_session(call: &Call, end_ms: Option<u64>) -> bool {
    match call.text("state") {
        Some("waiting" | "ready") => true,
        Some("active") => call.number("expires_at_ms") > end_ms,
        _ => false,
    }
}

/// Whether the visitor had missed the turn before this request, so that there was nothing to end, and entering within
/// the grace gives the old place back. An answer said so, or told a time to claim that had passed.
fn is_after_missed_turn(place: &SafePlace<'_>, call: &Call) -> bool {
    let has_passed = |earlier: &Call| {
        earlier
            .number("claim_by_ms")
            .is_some_and(|claim_by_ms| claim_by_ms <= call.ended_ms)
    };
    place.calls.iter().any(|earlier| {
        earlier.ended_ms <= call.begun_ms
            && (earlier.number("grace_until_ms").is_some() || has_passed(earlier))
    })
}

/// Whether the answer acknowledges an end that cannot be lost. On a slow machine, an end that took this long
/// may be in the journal only.
fn is_lasting_end(findings: &Findings, call: &Call) -> bool {
    let may_be_slow = call.ended_ms - call.begun_ms >= SLOW_MS;
    let may_be_undone = findings.is_data_lost_after(call.begun_ms)
        && (may_be_slow || findings.is_table_affected(call.begun_ms, call.ended_ms));
    matches!(call.kind, RequestKind::Leave | RequestKind::Complete)
        && call.is_acknowledged()
        && !may_be_undone
        && !findings.is_stale(call.begun_ms, call.ended_ms)
}

/// Whether the request named the visit of this stay. A request names the visit that was shown last. That is an earlier visit if
/// a line with stale data has shown it, or if another tab has not been told of the new one.
fn names_visit(findings: &Findings, place: &SafePlace<'_>, end: &Call) -> bool {
    let shown = findings
        .calls_of(place.visitor)
        .filter(|call| call.ended_ms <= end.begun_ms && call.number("visit").is_some());
    shown.last().is_none_or(|call| place.is_about(call))
}

fn is_live(state: &str) -> bool {
    ["waiting", "ready", "active"].contains(&state)
}
