//! First come, first served: a visitor with an acknowledged place is ahead of each visitor who enters later,
//! and is promoted no later.

use vestibule_domain::{record::EntryRecord, state::EntryState};

use super::{Findings, SafePlace, Violation, WATERMARK_MS};
use crate::chaos::{history::RequestKind, plan::CLAIM_SECONDS};

const ORDER: &str = "no visitor is overtaken";
/// After so long without a poll, who has entered is passed by: see `pass_silent_newcomers` in the scripts.
const NEWCOMER_SILENCE_MS: u64 = 3_000;

pub(super) fn find_overtaken(findings: &Findings, places: &[SafePlace<'_>]) -> Vec<Violation> {
    let recorded: Vec<_> = places
        .iter()
        .filter(|place| !continues_earlier_visit(findings, place))
        .filter(|place| !findings.has_taken_back(place.visitor, place.visit))
        .filter_map(|place| Some((place, last_record(findings, place)?)))
        .collect();
    let mut violations = Vec::new();
    for &(first, a) in &recorded {
        for &(second, b) in recorded
            .iter()
            .filter(|(second, _)| first.from_ms < second.requested_ms)
        {
            if let Some(what) = describe_overtaking(findings, first, a, b) {
                let what = format!("{what}: {a:?} before {b:?}");
                violations.push(Violation::new(ORDER, &[first.visitor, second.visitor], what));
            }
        }
    }
    violations
}

/// The last record of the visit in the table. It may be of a later stay in which the visit continued.
fn last_record<'a>(findings: &'a Findings, place: &SafePlace<'_>) -> Option<&'a EntryRecord> {
    let first = place.own_record()?;
    findings
        .records
        .range((place.visitor, place.stay)..=(place.visitor, usize::MAX))
        .map(|(_, record)| record)
        .rfind(|record| record.visit() == first.visit())
}

/// Whether the stay continues a visit of an earlier stay whose end was lost. It then has the place of the
/// beginning of that visit, whether that place could be lost or not.
fn continues_earlier_visit(findings: &Findings, place: &SafePlace<'_>) -> bool {
    findings.calls_of(place.visitor).any(|call| {
        let joined_at_ms = call.number("joined_at_ms").or(place.joined_at_ms);
        call.stay < place.stay && place.is_about(call) && joined_at_ms == place.joined_at_ms
    })
}

fn describe_overtaking(
    findings: &Findings,
    first: &SafePlace<'_>,
    a: &EntryRecord,
    b: &EntryRecord,
) -> Option<&'static str> {
    if let (Some(one), Some(other)) = (a.score, b.score)
        && one >= other
    {
        return Some("the later visitor has the better place");
    }
    let promoted_ms = b.promoted_at_ms?;
    if may_be_overtaken(findings, first, promoted_ms) || is_silent_newcomer(findings, first, promoted_ms) {
        return None;
    }
    match first_promoted_ms(findings, first, a) {
        Some(at_ms) if at_ms > promoted_ms && !is_repeated_promotion(findings, promoted_ms, at_ms) => {
            Some("promoted later")
        }
        None if a.state == EntryState::Waiting && !has_left(first) => Some("never promoted"),
        _ => None,
    }
}

/// Whether the visitor left and was acknowledged. The table may have received that from the journal after it
/// was read.
fn has_left(place: &SafePlace<'_>) -> bool {
    let calls = place.calls.iter();
    calls
        .filter(|call| call.kind == RequestKind::Leave)
        .any(|call| call.is_acknowledged())
}

/// When the entry was promoted first. A promotion that was lost with Redis is made again, and so is one whose turn the visitor
/// missed without having been told of it. The last record has the last one.
fn first_promoted_ms(findings: &Findings, place: &SafePlace<'_>, record: &EntryRecord) -> Option<u64> {
    let acknowledged = place.calls.iter().filter(|call| call.is_acknowledged());
    let claim_by_ms = acknowledged.filter_map(|call| call.number("claim_by_ms"));
    let told_ms = claim_by_ms.map(|ms| ms - CLAIM_SECONDS * 1_000);
    let recorded_ms = findings.records_of(place.visitor);
    let recorded_ms = recorded_ms.filter(|record| record.visit().number() == place.visit);
    let recorded_ms = recorded_ms.filter_map(|record| record.promoted_at_ms);
    let last_ms = record.promoted_at_ms?;
    Some(told_ms.chain(recorded_ms).fold(last_ms, u64::min))
}

/// Whether it is not certain that a poll of the visitor has reached the line in time after entering, as in an outage. One that
/// was on its way at the promotion may have reached it later. A Redis with stale data has lost the polls of that time.
fn is_silent_newcomer(findings: &Findings, place: &SafePlace<'_>, promoted_ms: u64) -> bool {
    let is_lost = |at_ms| {
        let mut periods = findings.stale_faults();
        periods.any(|period| (period.from_ms..=period.until_ms).contains(&at_ms))
    };
    let polls = place.calls.iter().filter(|call| call.kind != RequestKind::Enter);
    // A visitor whose earlier visit was lost in this stay has polled for that one.
    let polls = polls.filter(|call| place.is_about(call) && !is_lost(call.begun_ms));
    let polled_ms = polls
        .filter(|call| call.is_acknowledged() && !call.is_degraded())
        .map(|call| call.ended_ms)
        .min();
    let is_silent = place
        .joined_at_ms
        .is_some_and(|joined_at_ms| joined_at_ms + NEWCOMER_SILENCE_MS <= promoted_ms);
    is_silent && polled_ms.is_none_or(|polled_ms| polled_ms >= promoted_ms)
}

/// Whether a Redis with stale data allows the overtaking. Either it lost the first place, until the visitor's
/// next request, or it lost the promotions of that time.
fn may_be_overtaken(findings: &Findings, first: &SafePlace<'_>, promoted_ms: u64) -> bool {
    findings.stale_faults().any(|period| {
        let given_then = period.from_ms <= first.from_ms && first.requested_ms <= period.until_ms;
        let looked_ms = first
            .calls
            .iter()
            // An answer from the table alone does not restore the place.
            .find(|call| call.begun_ms > period.until_ms && call.is_acknowledged() && !call.is_degraded())
            .map_or(u64::MAX, |call| call.ended_ms);
        let promoted_then = (period.from_ms..=period.until_ms).contains(&promoted_ms);
        (given_then && promoted_ms <= looked_ms) || promoted_then
    })
}

/// Whether Redis was lost between the two promotions while the table had only one of them. The other one is
/// then made again.
fn is_repeated_promotion(findings: &Findings, first_ms: u64, repeated_ms: u64) -> bool {
    let losses = findings
        .fault_periods
        .iter()
        .filter(|period| period.fault.may_lose_changes());
    let is_near = |lost_ms: u64| {
        findings.is_affected(first_ms, first_ms) || lost_ms.saturating_sub(first_ms) < WATERMARK_MS
    };
    losses
        .map(|period| period.until_ms)
        .filter(|lost_ms| (first_ms..=repeated_ms).contains(lost_ms))
        .any(is_near)
}
