//! No durable acknowledged entry is lost: the same token, the same visit, the same place, until it ends for a reason.

use vestibule_domain::state::EntryState;

use super::{Findings, Kept, Violation};
use crate::chaos::{
    history::{Call, What},
    plan::CLAIM_SECONDS,
};

/// The promoter looks at its mark with each tick; a machine may be slow.
const NOTICED_MS: u64 = 2_000;

const GUARANTEE: &str = "no durable place is lost";

pub(super) fn lost(findings: &Findings, kept: &Kept<'_>) -> Vec<Violation> {
    let mut violations: Vec<_> = kept
        .later()
        .filter(|call| kept.is_durable || !is_of_table(findings, call))
        .filter_map(|call| wrong(findings, kept, call))
        .map(|what| kept.violation(GUARANTEE, &what))
        .collect();
    if let Some(what) = wrong_at_the_end(findings, kept) {
        violations.push(kept.violation(GUARANTEE, &what));
    }
    violations
}

/// Whether it may have been answered from the table alone, which need not have what is not durable.
fn is_of_table(findings: &Findings, call: &Call) -> bool {
    call.is_degraded() || (call.status() == 404 && findings.is_harmed(call.begun_ms, call.ended_ms))
}

fn wrong(findings: &Findings, kept: &Kept<'_>, call: &Call) -> Option<String> {
    if call.text("token").is_some_and(|token| token != kept.token) {
        return Some(format!("another token: {call}"));
    }
    let code = call.text("code").unwrap_or_default();
    match call.status() {
        404 => Some(format!("nobody knows of it: {call}")),
        // Over, as they wished; that it names an earlier visit, whose place the table heard of late, is no loss.
        410 if !kept.is_of(call) && may_end(findings, kept, call.ended_ms) => None,
        410 if code == "expired" && !may_expire(findings, kept, call.ended_ms) => {
            Some(format!("expired, and it never was their turn: {call}"))
        }
        410 if ["left", "completed"].contains(&code) && !may_end(findings, kept, call.ended_ms) => {
            Some(format!("ended, and nobody asked for that: {call}"))
        }
        200 | 201 if !kept.is_of(call) => {
            let is_let_pass =
                has_reason(findings, kept, call.ended_ms) || is_out_of_the_past(findings, kept, call);
            (!is_let_pass).then(|| format!("another visit: {call}"))
        }
        200 | 201 => {
            let (was, is) = (kept.joined_at_ms?, call.number("joined_at_ms")?);
            (was != is).then(|| format!("moved from {was}: {call}"))
        }
        _ => None,
    }
}

fn wrong_at_the_end(findings: &Findings, kept: &Kept<'_>) -> Option<String> {
    let comes_again = findings.story(kept.visitor).any(|call| call.stay > kept.stay);
    if comes_again && !kept.is_durable {
        // The record was read while the journal may still have had it.
        return None;
    }
    let Some(record) = kept.record else {
        return Some("the table has no record".to_owned());
    };
    let end_ms = findings.calls.iter().map(|call| call.ended_ms).max()?;
    if kept.own_record().is_none() && !has_reason(findings, kept, end_ms) {
        return Some(format!("the table has another visit: {record:?}"));
    }
    let record = kept.own_record()?;
    let joined = (kept.joined_at_ms, record.joined_at_ms());
    if let (Some(was), Some(is)) = joined
        && was != is
    {
        return Some(format!("moved in the table from {was}: {record:?}"));
    }
    let ended_ms = record.ended_at_ms.unwrap_or(end_ms);
    let is_right = match record.state {
        EntryState::Left | EntryState::Completed => may_end(findings, kept, end_ms),
        EntryState::Expired => may_expire(findings, kept, ended_ms),
        EntryState::Waiting | EntryState::Ready | EntryState::Active => true,
    };
    (!is_right).then(|| format!("ended without a reason: {record:?}"))
}

/// Whether the line answered as it stood in an earlier stay, and had come back old just then: until somebody notices, it says
/// what it has.
fn is_out_of_the_past(findings: &Findings, kept: &Kept<'_>, call: &Call) -> bool {
    let visit = call.number("visit");
    let mut before = findings
        .story(kept.visitor)
        .filter(|earlier| earlier.stay < kept.stay);
    findings.is_behind(call.begun_ms.saturating_sub(NOTICED_MS), call.ended_ms)
        && before.any(|earlier| earlier.number("visit") == visit)
}

/// Whether there is a reason for an end by then.
fn has_reason(findings: &Findings, kept: &Kept<'_>, by_ms: u64) -> bool {
    may_end(findings, kept, by_ms) || may_expire(findings, kept, by_ms)
}

/// Whether somebody had asked to end it by then, answered or not: be it in an earlier stay, and the line had forgotten that.
fn may_end(findings: &Findings, kept: &Kept<'_>, by_ms: u64) -> bool {
    let is_of_visit = |stay| {
        let mut story = findings.story(kept.visitor);
        story.any(|call| call.stay == stay && kept.is_of(call))
    };
    findings
        .story(kept.visitor)
        .filter(|call| call.stay == kept.stay || (call.stay < kept.stay && is_of_visit(call.stay)))
        .any(|call| matches!(call.what, What::Leave | What::Complete) && call.begun_ms <= by_ms)
}

/// Whether a deadline may have come by then: one that an answer named, that the record shows, or of a session that a request
/// without an answer may have begun.
fn may_expire(findings: &Findings, kept: &Kept<'_>, by_ms: u64) -> bool {
    let session_ms = findings.plan.session_seconds * 1_000;
    let of_requests = kept
        .calls
        .iter()
        .filter(|call| matches!(call.what, What::Claim | What::Validate))
        .map(|call| call.begun_ms + session_ms);
    let of_record = kept.own_record().and_then(|record| {
        let claim_by_ms = record.promoted_at_ms.map(|ms| ms + CLAIM_SECONDS * 1_000);
        match record.claimed_at_ms {
            Some(_) => record.expires_at_ms,
            None => claim_by_ms,
        }
    });
    kept.calls
        .iter()
        .filter(|call| kept.is_of(call))
        .filter_map(|call| call.number("claim_by_ms").or(call.number("expires_at_ms")))
        .chain(of_record)
        .chain(of_requests)
        .any(|deadline_ms| deadline_ms <= by_ms)
}
