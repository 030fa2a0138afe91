//! What must hold after a run, whatever went wrong in it, judged by the answers that were acknowledged and by what stands in
//! the table and in Redis at the end.
//!
//! Stated exceptions, and nothing else, are let pass:
//! - what was acknowledged as not durable may be gone once Redis has lost anything since;
//! - a Redis that comes back old, or a replica that takes its place and has missed the last changes, has forgotten what was
//!   done since the promoter last marked it (`behind`): a place of that time may be overtaken until its holder's next look, an end or a claim of
//!   that time may have to be made again, one more batch may go, and in the moment before it is noticed somebody may be shown an
//!   earlier visit of theirs;
//! - a tick of which the table had only some promotions when Redis was lost: the others are made again, later than those;
//! - an end has no flag that says whether it is durable: it counts as not durable where the table was harmed meanwhile.

mod equal;
mod once;
mod order;
mod places;
mod room;

use std::collections::BTreeMap;

use vestibule_domain::record::EntryRecord;

use super::{
    compare::Difference,
    history::{Call, What},
    plan::Plan,
    watcher::Sample,
    world::Struck,
};

/// The promoter marks the line every 3 s; one that was killed is followed by the next, and a machine may be slow.
const MARK_MS: u64 = 5_000;

/// All that is known of a run.
#[derive(Debug)]
pub struct Findings {
    /// What was to happen.
    pub plan: Plan,
    /// Every request and its answer.
    pub calls: Vec<Call>,
    /// What went wrong, and when.
    pub struck: Vec<Struck>,
    /// Looks at the line.
    pub samples: Vec<Sample>,
    /// What the table had after each stay, by visitor and stay.
    pub records: BTreeMap<(usize, usize), EntryRecord>,
    /// Where the line and the table differ when nothing is wrong any more, nobody asks, and the journal is empty.
    pub differences: Vec<Difference>,
    /// What did not come about in time.
    pub stuck: Vec<String>,
}

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What it is against.
    pub guarantee: &'static str,
    /// Whom it concerns.
    pub visitors: Vec<usize>,
    /// What was seen.
    pub what: String,
}

/// The first acknowledged place of a stay that no fault may take away.
#[derive(Debug, Clone)]
pub(super) struct Kept<'a> {
    visitor: usize,
    stay: usize,
    token: &'a str,
    visit: u64,
    joined_at_ms: Option<u64>,
    /// When the visitor first asked for it.
    asked_ms: u64,
    /// Since when it cannot be lost.
    from_ms: u64,
    /// Whether the table had it then.
    is_durable: bool,
    /// Every request of that stay, in order.
    calls: Vec<&'a Call>,
    /// What the table had when the stay was over.
    record: Option<&'a EntryRecord>,
}

impl Findings {
    /// Everything that must not be, and is.
    pub fn violations(&self) -> Vec<Violation> {
        let kept = self.kept();
        let mut violations: Vec<_> = self
            .stuck
            .iter()
            .map(|what| Violation::new("everybody gets through", &[], what.clone()))
            .collect();
        violations.extend(kept.iter().flat_map(|kept| places::lost(self, kept)));
        violations.extend(kept.iter().flat_map(|kept| once::twice(self, kept)));
        violations.extend(order::overtaken(self, &kept));
        violations.extend(room::exceeded(self));
        violations.extend(equal::differing(self));
        violations
    }

    /// How many requests were answered.
    pub fn answers(&self) -> usize {
        self.calls.iter().filter(|call| call.answer.is_some()).count()
    }

    /// Every request of one visitor.
    pub fn story(&self, visitor: usize) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.visitor == visitor)
    }

    /// The last token that a visitor was given.
    pub fn token(&self, visitor: usize) -> Option<&str> {
        self.story(visitor).filter_map(|call| call.text("token")).last()
    }

    fn kept(&self) -> Vec<Kept<'_>> {
        let mut stays: Vec<(usize, usize)> =
            self.calls.iter().map(|call| (call.visitor, call.stay)).collect();
        stays.sort_unstable();
        stays.dedup();
        stays
            .into_iter()
            .filter_map(|(visitor, stay)| self.kept_of(visitor, stay))
            .collect()
    }

    fn kept_of(&self, visitor: usize, stay: usize) -> Option<Kept<'_>> {
        let calls: Vec<_> = self.story(visitor).filter(|call| call.stay == stay).collect();
        let asked_ms = calls.iter().find(|call| call.what == What::Enter)?.begun_ms;
        let mut entered = calls.iter().filter(|call| {
            call.what == What::Enter
                && call.is_acknowledged()
                && (call.is_durable() || !self.loses_after(call.begun_ms))
        });
        let first = entered.next()?;
        let token = first.text("token")?;
        Some(Kept {
            visitor,
            stay,
            token,
            visit: first.number("visit")?,
            joined_at_ms: first.number("joined_at_ms"),
            asked_ms,
            from_ms: first.ended_ms,
            is_durable: first.is_durable(),
            record: self.records.get(&(visitor, stay)),
            calls,
        })
    }

    /// Whether Redis lost anything after that.
    fn loses_after(&self, at_ms: u64) -> bool {
        self.struck
            .iter()
            .any(|struck| struck.fault.loses() && struck.until_ms >= at_ms)
    }

    /// Whether what was done in that time may have been forgotten, though it was written.
    fn is_behind(&self, from_ms: u64, until_ms: u64) -> bool {
        self.behind().any(|struck| struck.overlaps(from_ms, until_ms))
    }

    /// The times of which Redis had forgotten what was done in them. What came before the last mark of the promoter is not
    /// among them, where it could write that to the table: a Redis that lacks it is put back from the table.
    fn behind(&self) -> impl Iterator<Item = Struck> {
        self.struck.iter().filter_map(|struck| {
            let killed_ms = struck.from_ms + struck.fault.behind_ms()?;
            let marked_ms = killed_ms - MARK_MS;
            let from_ms = if self.table_harmed(marked_ms - MARK_MS, killed_ms) {
                struck.from_ms
            } else {
                struck.from_ms.max(marked_ms)
            };
            Some(Struck {
                from_ms,
                ..struck.clone()
            })
        })
    }

    /// Whether the table was harmed in that time.
    fn table_harmed(&self, from_ms: u64, until_ms: u64) -> bool {
        self.struck
            .iter()
            .any(|struck| struck.fault.is_of_table() && struck.overlaps(from_ms, until_ms))
    }

    /// Whether anything was wrong in that time.
    fn is_harmed(&self, from_ms: u64, until_ms: u64) -> bool {
        self.struck
            .iter()
            .any(|struck| struck.overlaps(from_ms, until_ms))
    }
}

impl Kept<'_> {
    /// The record at the end, where it is of this visit.
    fn own_record(&self) -> Option<&EntryRecord> {
        self.record
            .filter(|record| u64::from(record.visit.number()) == self.visit)
    }

    /// Requests that began when the place could not be lost any more.
    fn later(&self) -> impl Iterator<Item = &&Call> {
        self.calls.iter().filter(|call| call.begun_ms >= self.from_ms)
    }

    /// Whether an answer is about this visit.
    fn is_of(&self, call: &Call) -> bool {
        call.number("visit") == Some(self.visit)
    }

    fn violation(&self, guarantee: &'static str, what: &str) -> Violation {
        let what = format!("stay {}, visit {}: {what}", self.stay, self.visit);
        Violation::new(guarantee, &[self.visitor], what)
    }
}

impl Violation {
    fn new(guarantee: &'static str, visitors: &[usize], what: String) -> Self {
        Self {
            guarantee,
            visitors: visitors.to_vec(),
            what,
        }
    }
}
