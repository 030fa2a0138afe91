//! First come, first served: whoever had an acknowledged place before another one asked stands before them, and is promoted
//! no later.

use vestibule_domain::{record::EntryRecord, state::EntryState};

use super::{Findings, Kept, MARK_MS, Violation};
use crate::chaos::{history::What, plan::CLAIM_SECONDS};

const ORDER: &str = "nobody is overtaken";

pub(super) fn overtaken(findings: &Findings, kept: &[Kept<'_>]) -> Vec<Violation> {
    let standing: Vec<_> = kept
        .iter()
        .filter(|kept| !goes_on(findings, kept))
        .filter_map(|kept| Some((kept, last_record(findings, kept)?)))
        .collect();
    let mut violations = Vec::new();
    for &(first, a) in &standing {
        for &(second, b) in standing
            .iter()
            .filter(|(second, _)| first.from_ms < second.asked_ms)
        {
            if let Some(what) = wrong(findings, first, a, b) {
                let what = format!("{what}: {a:?} before {b:?}");
                violations.push(Violation::new(ORDER, &[first.visitor, second.visitor], what));
            }
        }
    }
    violations
}

/// What the table had of the visit at last: also of a later stay, where it went on in that one.
fn last_record<'a>(findings: &'a Findings, kept: &Kept<'_>) -> Option<&'a EntryRecord> {
    let first = kept.own_record()?;
    findings
        .records
        .range((kept.visitor, kept.stay)..=(kept.visitor, usize::MAX))
        .map(|(_, record)| record)
        // Of 4,096 visits two have the same number: the place tells.
        .rfind(|record| (record.visit, record.score) == (first.visit, first.score))
}

/// Whether it is a visit of an earlier stay whose end was lost, and that goes on now that its visitor comes again: it has the
/// place of its beginning, be that stay one that could be lost or not.
fn goes_on(findings: &Findings, kept: &Kept<'_>) -> bool {
    findings.story(kept.visitor).any(|call| {
        let joined_at_ms = call.number("joined_at_ms").or(kept.joined_at_ms);
        call.stay < kept.stay && kept.is_of(call) && joined_at_ms == kept.joined_at_ms
    })
}

fn wrong(findings: &Findings, first: &Kept<'_>, a: &EntryRecord, b: &EntryRecord) -> Option<&'static str> {
    if let (Some(one), Some(other)) = (a.score, b.score)
        && one >= other
    {
        return Some("the later place is the better one");
    }
    let promoted_ms = b.promoted_at_ms?;
    if may_be_overtaken(findings, first, promoted_ms) {
        return None;
    }
    match first_promoted_ms(first, a) {
        Some(at_ms) if at_ms > promoted_ms && !is_made_again(findings, promoted_ms, at_ms) => {
            Some("promoted later")
        }
        None if a.state == EntryState::Waiting && !has_left(first) => Some("never promoted"),
        _ => None,
    }
}

/// Whether its holder said goodbye and was heard: the table may have had that from the journal later than it was looked at.
fn has_left(kept: &Kept<'_>) -> bool {
    let calls = kept.calls.iter();
    calls
        .filter(|call| call.what == What::Leave)
        .any(|call| call.is_acknowledged())
}

/// When it was promoted first: a promotion that was lost with Redis is made again, and the record has the last one.
fn first_promoted_ms(kept: &Kept<'_>, record: &EntryRecord) -> Option<u64> {
    let told = kept.calls.iter().filter(|call| call.is_acknowledged());
    let claim_by_ms = told.filter_map(|call| call.number("claim_by_ms")).min();
    let told_ms = claim_by_ms.map(|ms| ms - CLAIM_SECONDS * 1_000);
    record
        .promoted_at_ms
        .map(|at_ms| at_ms.min(told_ms.unwrap_or(at_ms)))
}

/// Of a Redis that has forgotten what was last: that this place was given, until its holder looks again; or that the other
/// one was promoted, and so was this one.
fn may_be_overtaken(findings: &Findings, first: &Kept<'_>, promoted_ms: u64) -> bool {
    findings.behind().any(|struck| {
        let given_then = struck.from_ms <= first.from_ms && first.asked_ms <= struck.until_ms;
        let looked_ms = first
            .calls
            .iter()
            // One that was answered from the table does not put it back.
            .find(|call| call.begun_ms > struck.until_ms && call.is_acknowledged() && !call.is_degraded())
            .map_or(u64::MAX, |call| call.ended_ms);
        let promoted_then = (struck.from_ms..=struck.until_ms).contains(&promoted_ms);
        (given_then && promoted_ms <= looked_ms) || promoted_then
    })
}

/// Whether Redis was lost between the two, while the journal may still have had one promotion and the table the other: the one
/// that it had not is made again.
fn is_made_again(findings: &Findings, first_ms: u64, again_ms: u64) -> bool {
    let losses = findings.struck.iter().filter(|struck| struck.fault.loses());
    let is_near =
        |lost_ms: u64| findings.is_harmed(first_ms, first_ms) || lost_ms.saturating_sub(first_ms) < MARK_MS;
    losses
        .map(|struck| struck.until_ms)
        .filter(|lost_ms| (first_ms..=again_ms).contains(lost_ms))
        .any(is_near)
}
