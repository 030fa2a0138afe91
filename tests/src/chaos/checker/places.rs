//! No durable acknowledged entry is lost: it keeps token, visit and place until it ends for a reason.

use vestibule_domain::state::EntryState;

use super::{Findings, SafePlace, Violation};
use crate::chaos::{
    history::{Call, RequestKind},
    plan::CLAIM_SECONDS,
};

/// The promoter reads its watermark with each tick. A machine may be slow.
const DETECTION_MS: u64 = 2_000;

const GUARANTEE: &str = "no durable place is lost";

pub(super) fn find_lost(findings: &Findings, place: &SafePlace<'_>) -> Vec<Violation> {
    let mut violations: Vec<_> = place
        .later_calls()
        .filter(|call| place.is_durable || !may_come_from_table(findings, call))
        .filter_map(|call| describe_loss(findings, place, call))
        .map(|what| place.violation(GUARANTEE, &what))
        .collect();
    if let Some(what) = describe_loss_at_end(findings, place) {
        violations.push(place.violation(GUARANTEE, &what));
    }
    violations
}

/// Whether the answer may come from the table alone, which need not have a change that is not durable.
fn may_come_from_table(findings: &Findings, call: &Call) -> bool {
    call.is_degraded() || (call.status() == 404 && findings.is_affected(call.begun_ms, call.ended_ms))
}

fn describe_loss(findings: &Findings, place: &SafePlace<'_>, call: &Call) -> Option<String> {
    if call.text("token").is_some_and(|token| token != place.token) {
        return Some(format!("another token: {call}"));
    }
    let code = call.text("code").unwrap_or_default();
    match call.status() {
        404 => Some(format!("the entry is not found: {call}")),
        // The entry ended as the visitor asked. The answer may name an earlier visit if the table received its
        // place late.
        410 if !place.is_about(call) && may_end(findings, place, call.ended_ms) => None,
        410 if code == "expired" && !may_expire(findings, place, call.ended_ms) => {
            Some(format!("expired without a turn: {call}"))
        }
        410 if ["left", "completed"].contains(&code) && !may_end(findings, place, call.ended_ms) => {
            Some(format!("ended without a request to end: {call}"))
        }
        200 | 201 if !place.is_about(call) => {
            let is_let_pass = has_reason(findings, place, call.ended_ms)
                || is_stale_answer(findings, place, call)
                || continues_earlier_visit(place, call);
            (!is_let_pass).then(|| format!("another visit: {call}"))
        }
        200 | 201 => {
            let (was, is) = (place.joined_at_ms?, call.number("joined_at_ms")?);
            (was != is).then(|| format!("moved from {was}: {call}"))
        }
        _ => None,
    }
}

fn describe_loss_at_end(findings: &Findings, place: &SafePlace<'_>) -> Option<String> {
    let comes_again = findings
        .calls_of(place.visitor)
        .any(|call| call.stay > place.stay);
    if comes_again && !place.is_durable {
        // The record was read while the journal may still have had the change.
        return None;
    }
    let Some(record) = place.record else {
        return Some("the table has no record".to_owned());
    };
    let end_ms = findings.calls.iter().map(|call| call.ended_ms).max()?;
    if place.own_record().is_none() && !has_reason(findings, place, end_ms) {
        return Some(format!("the table has another visit: {record:?}"));
    }
    let record = place.own_record()?;
    let joined = (place.joined_at_ms, record.joined_at_ms());
    if let (Some(was), Some(is)) = joined
        && was != is
    {
        return Some(format!("moved in the table from {was}: {record:?}"));
    }
    let ended_ms = record.ended_at_ms.unwrap_or(end_ms);
    let is_right = match record.state {
        EntryState::Left | EntryState::Completed => may_end(findings, place, end_ms),
        EntryState::Expired => may_expire(findings, place, ended_ms),
        // No run evicts, and none finishes a queue.
        EntryState::Evicted | EntryState::Dismissed => false,
        EntryState::Waiting | EntryState::Ready | EntryState::Active => true,
    };
    (!is_right).then(|| format!("ended without a reason: {record:?}"))
}

/// Whether the answer is about an earlier visit of the same stay, and the place was provisional: the table had that
/// visit, of which the visitor has had no answer, and the line lost it.
fn continues_earlier_visit(place: &SafePlace<'_>, call: &Call) -> bool {
    let began_unanswered = place.calls.iter().any(|earlier| {
        earlier.kind == RequestKind::Enter && !earlier.is_acknowledged() && earlier.begun_ms < place.from_ms
    });
    let is_earlier = call.number("visit").is_some_and(|visit| visit < place.visit);
    !place.is_durable && is_earlier && began_unanswered && call.stay == place.stay
}

/// Whether the line answered with a visit of an earlier stay because it had just restarted with stale data.
/// Until the promoter detects that, the line answers with its data.
pub(super) fn is_stale_answer(findings: &Findings, place: &SafePlace<'_>, call: &Call) -> bool {
    let visit = call.number("visit");
    let mut before = findings
        .calls_of(place.visitor)
        .filter(|earlier| earlier.stay < call.stay.max(place.stay));
    findings.is_stale(call.begun_ms.saturating_sub(DETECTION_MS), call.ended_ms)
        && before.any(|earlier| earlier.number("visit") == visit)
}

/// Whether the entry may have ended by then.
fn has_reason(findings: &Findings, place: &SafePlace<'_>, by_ms: u64) -> bool {
    may_end(findings, place, by_ms) || may_expire(findings, place, by_ms)
}

/// Whether a request to end the visit was sent by then, answered or not. The request may be of an earlier stay
/// if the line lost that end.
fn may_end(findings: &Findings, place: &SafePlace<'_>, by_ms: u64) -> bool {
    let is_of_visit = |stay| {
        let mut calls_of = findings.calls_of(place.visitor);
        calls_of.any(|call| call.stay == stay && place.is_about(call))
    };
    findings
        .calls_of(place.visitor)
        .filter(|call| call.stay == place.stay || (call.stay < place.stay && is_of_visit(call.stay)))
        .any(|call| matches!(call.kind, RequestKind::Leave | RequestKind::Complete) && call.begun_ms <= by_ms)
}

/// Whether a deadline may have passed by then: a deadline that an answer or the record shows, or the end of a
/// session that a request without an answer may have started.
fn may_expire(findings: &Findings, place: &SafePlace<'_>, by_ms: u64) -> bool {
    let session_ms = findings.plan.session_seconds * 1_000;
    let of_requests = place
        .calls
        .iter()
        .filter(|call| matches!(call.kind, RequestKind::Claim | RequestKind::Validate))
        .map(|call| call.begun_ms + session_ms);
    let of_record = place.own_record().and_then(|record| {
        let claim_by_ms = record.promoted_at_ms.map(|ms| ms + CLAIM_SECONDS * 1_000);
        match record.claimed_at_ms {
            Some(_) => record.expires_at_ms,
            None => claim_by_ms,
        }
    });
    place
        .calls
        .iter()
        .filter(|call| place.is_about(call))
        .filter_map(|call| call.number("claim_by_ms").or(call.number("expires_at_ms")))
        .chain(of_record)
        .chain(of_requests)
        .any(|deadline_ms| deadline_ms <= by_ms)
}
