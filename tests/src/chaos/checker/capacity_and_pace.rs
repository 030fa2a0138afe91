//! The capacity and the pace are never exceeded. The checker uses the samples of the line, and the times of
//! promotion in answers and records.

use std::collections::BTreeSet;

use super::{Findings, Violation};
use crate::chaos::watcher::Sample;

const CAPACITY: &str = "never over capacity";
const PACE: &str = "never over pace";

pub(super) fn find_exceeded(findings: &Findings) -> Vec<Violation> {
    let over_capacity = over_capacity(findings);
    over_capacity
        .into_iter()
        .chain(over_pace_in_line(findings))
        .chain(over_pace_by_record(findings))
        .collect()
}

/// Until Redis has lost data, the entries never exceed the capacity. Restored entries may exceed it, and then
/// no entry is promoted.
fn over_capacity(findings: &Findings) -> Option<Violation> {
    let capacity = findings.plan.capacity;
    let has_lost = |at_ms| {
        let mut losses = findings
            .fault_periods
            .iter()
            .filter(|period| period.fault.may_lose_changes());
        losses.any(|period| period.from_ms <= at_ms)
    };
    let is_wrong = |pair: &[Sample]| {
        let (before, after) = (&pair[0], &pair[1]);
        let admitted_beyond = before.slots_taken() > capacity
            && before.server == after.server
            && after.admitted > before.admitted;
        after.slots_taken() > capacity && (!has_lost(after.read_ms) || admitted_beyond)
    };
    let wrong = findings.samples.windows(2).find(|pair| is_wrong(pair))?;
    Some(Violation::new(
        CAPACITY,
        &[],
        format!("{capacity} is the capacity: {wrong:?}"),
    ))
}

/// Between two samples of a line, the token bucket gives no more than its content and its refill.
fn over_pace_in_line(findings: &Findings) -> Option<Violation> {
    let batch = findings.plan.batch;
    // A restored line counts its promotions from zero.
    let lines = findings
        .samples
        .chunk_by(|a, b| a.server == b.server && a.admitted <= b.admitted);
    for line in lines {
        for (n, from) in line.iter().enumerate() {
            for to in &line[n..] {
                let elapsed_ms = to.read_ms - from.at_ms;
                if to.admitted - from.admitted > batch + 1 + batch * elapsed_ms / 1_000 {
                    let what = format!("{batch} each second is the pace: {from:?}, {to:?}");
                    return Some(Violation::new(PACE, &[], what));
                }
            }
        }
    }
    None
}

/// The same over the whole run, with all promotions that answers or records show, also the lost ones.
fn over_pace_by_record(findings: &Findings) -> Option<Violation> {
    let batch = findings.plan.batch;
    let of_answers = findings.calls.iter().filter_map(|call| {
        Some((
            call.number("promoted_at_ms")?,
            call.visitor,
            call.number("visit")?,
        ))
    });
    let of_records = findings.records.iter().filter_map(|((visitor, _), record)| {
        Some((record.promoted_at_ms?, *visitor, record.visit().number()))
    });
    let promoted: BTreeSet<(u64, usize, u64)> = of_answers
        .chain(of_records)
        .filter(|(_, visitor, visit)| !findings.has_taken_back(*visitor, *visit))
        .collect();
    let promoted: Vec<_> = promoted.into_iter().collect();
    for (n, (from_ms, ..)) in promoted.iter().enumerate() {
        for (count, (to_ms, ..)) in (1..).zip(&promoted[n..]) {
            let stale_faults = findings
                .stale_faults()
                .filter(|period| period.overlaps(*from_ms, *to_ms))
                .count() as u64;
            if count > batch * (1 + stale_faults) + 1 + batch * (to_ms - from_ms) / 1_000 {
                let of_these = &promoted[n..][..usize::try_from(count).unwrap_or(usize::MAX)];
                let visitors: Vec<_> = of_these.iter().map(|(_, visitor, _)| *visitor).collect();
                let what = format!("{batch} each second is the pace: {count} from {from_ms} to {to_ms}");
                return Some(Violation::new(PACE, &visitors, what));
            }
        }
    }
    None
}
