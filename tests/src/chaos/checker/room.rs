//! Never over capacity, never over pace: by looks at the line itself, and by the times of promotion that answers and the table
//! tell.

use std::collections::BTreeSet;

use super::{Findings, Violation};
use crate::chaos::watcher::Sample;

const CAPACITY: &str = "never over capacity";
const PACE: &str = "never over pace";

pub(super) fn exceeded(findings: &Findings) -> Vec<Violation> {
    let over_capacity = over_capacity(findings);
    over_capacity
        .into_iter()
        .chain(over_pace_in_line(findings))
        .chain(over_pace_by_record(findings))
        .collect()
}

/// Until Redis has lost anything nobody is let out of the line beyond the capacity. What was lost and comes back may be more
/// than that: then nobody is let out.
fn over_capacity(findings: &Findings) -> Option<Violation> {
    let capacity = findings.plan.capacity;
    let has_lost = |at_ms| {
        let mut losses = findings.struck.iter().filter(|struck| struck.fault.loses());
        losses.any(|struck| struck.from_ms <= at_ms)
    };
    let is_wrong = |pair: &[Sample]| {
        let (before, after) = (&pair[0], &pair[1]);
        let let_out_beyond =
            before.taken() > capacity && before.server == after.server && after.let_out > before.let_out;
        after.taken() > capacity && (!has_lost(after.seen_ms) || let_out_beyond)
    };
    let wrong = findings.samples.windows(2).find(|pair| is_wrong(pair))?;
    Some(Violation::new(
        CAPACITY,
        &[],
        format!("{capacity} is the capacity: {wrong:?}"),
    ))
}

/// Between any two looks at one line, the bucket gave no more than was in it and what ran in meanwhile.
fn over_pace_in_line(findings: &Findings) -> Option<Violation> {
    let batch = findings.plan.batch;
    // A line that was put back counts from nothing again.
    let lines = findings
        .samples
        .chunk_by(|a, b| a.server == b.server && a.let_out <= b.let_out);
    for line in lines {
        for (n, from) in line.iter().enumerate() {
            for to in &line[n..] {
                let elapsed_ms = to.seen_ms - from.at_ms;
                if to.let_out - from.let_out > batch + 1 + batch * elapsed_ms / 1_000 {
                    let what = format!("{batch} each second is the pace: {from:?}, {to:?}");
                    return Some(Violation::new(PACE, &[], what));
                }
            }
        }
    }
    None
}

/// Over the whole run, with all that was promoted and forgotten again, as far as anybody saw it.
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
        Some((record.promoted_at_ms?, *visitor, record.visit.number().into()))
    });
    let promoted: BTreeSet<(u64, usize, u64)> = of_answers.chain(of_records).collect();
    let promoted: Vec<_> = promoted.into_iter().collect();
    for (n, (from_ms, ..)) in promoted.iter().enumerate() {
        for (count, (to_ms, ..)) in (1..).zip(&promoted[n..]) {
            let forgotten = findings
                .behind()
                .filter(|struck| struck.overlaps(*from_ms, *to_ms))
                .count() as u64;
            if count > batch * (1 + forgotten) + 1 + batch * (to_ms - from_ms) / 1_000 {
                let of_these = &promoted[n..][..usize::try_from(count).unwrap_or(usize::MAX)];
                let visitors: Vec<_> = of_these.iter().map(|(_, visitor, _)| *visitor).collect();
                let what = format!("{batch} each second is the pace: {count} from {from_ms} to {to_ms}");
                return Some(Violation::new(PACE, &visitors, what));
            }
        }
    }
    None
}
