//! The guarantees that must hold after a run, whatever faults struck. The checker uses the acknowledged
//! answers, and the contents of the table and of Redis at the end.
//!
//! It allows only these exceptions:
//! - A change that was acknowledged as not durable may be lost once Redis has lost data.
//! - A Redis that restarts with stale data, or a promoted replica without the last changes, has lost the
//!   changes since the last watermark of the promoter (`stale_faults`). A place of that time may be overtaken
//!   until the next status request of its visitor. An end or a claim of that time may have to be repeated. One
//!   more batch may be promoted. Until the promoter detects the loss, a visitor may be shown an earlier visit.
//! - If the table has only some promotions of a tick when Redis is lost, the others are made again later.
//! - The answer to an end does not say whether it is durable. The end counts as not durable if a fault affected
//!   the table at that time.

mod capacity_and_pace;
mod equality;
mod order;
mod places;
mod single_admission;

use std::collections::BTreeMap;

use vestibule_domain::{fact::Step, record::EntryRecord};

use super::{
    compare::Difference,
    history::{Call, RequestKind},
    plan::Plan,
    watcher::Sample,
    world::FaultPeriod,
};

/// The promoter raises the watermark every 3 s. A killed promoter is replaced by the next one, and a machine
/// may be slow.
const WATERMARK_MS: u64 = 5_000;

/// The observations of a run.
#[derive(Debug)]
pub struct Findings {
    /// The plan.
    pub plan: Plan,
    /// All requests and their answers.
    pub calls: Vec<Call>,
    /// The faults that struck.
    pub fault_periods: Vec<FaultPeriod>,
    /// The samples of the line.
    pub samples: Vec<Sample>,
    /// The record in the table after each stay, by visitor and stay.
    pub records: BTreeMap<(usize, usize), EntryRecord>,
    /// Differences between line and table at a time without faults, without requests and with an empty journal.
    pub differences: Vec<Difference>,
    /// What did not happen within its time limit.
    pub stuck: Vec<String>,
}

/// A violation of a guarantee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The guarantee.
    pub guarantee: &'static str,
    /// The visitors concerned.
    pub visitors: Vec<usize>,
    /// What was observed.
    pub what: String,
}

/// The first acknowledged place of a stay that no fault may take away.
#[derive(Debug, Clone)]
pub(super) struct SafePlace<'a> {
    visitor: usize,
    stay: usize,
    token: &'a str,
    visit: u64,
    joined_at_ms: Option<u64>,
    /// When the visitor first sent the request to enter.
    requested_ms: u64,
    /// The time from which on the place must not be lost.
    from_ms: u64,
    /// Whether the table had the place at that time.
    is_durable: bool,
    /// All requests of the stay, in order.
    calls: Vec<&'a Call>,
    /// The record in the table when the stay had ended.
    record: Option<&'a EntryRecord>,
}

impl Findings {
    /// All violations of the guarantees.
    pub fn violations(&self) -> Vec<Violation> {
        let safe_places = self.safe_places();
        let mut violations: Vec<_> = self
            .stuck
            .iter()
            .map(|what| Violation::new("every visitor finishes", &[], what.clone()))
            .collect();
        violations.extend(
            safe_places
                .iter()
                .flat_map(|place| places::find_lost(self, place)),
        );
        violations.extend(
            safe_places
                .iter()
                .flat_map(|place| single_admission::find_repeated(self, place)),
        );
        violations.extend(order::find_overtaken(self, &safe_places));
        violations.extend(capacity_and_pace::find_exceeded(self));
        violations.extend(equality::find_unequal(self));
        violations
    }

    /// The number of answered requests.
    pub fn answers(&self) -> usize {
        self.calls.iter().filter(|call| call.answer.is_some()).count()
    }

    /// All requests of one visitor.
    pub fn calls_of(&self, visitor: usize) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.visitor == visitor)
    }

    /// The last token that a visitor was given.
    pub fn token(&self, visitor: usize) -> Option<&str> {
        self.calls_of(visitor)
            .filter_map(|call| call.text("token"))
            .last()
    }

    /// The records of one visitor after each stay.
    fn records_of(&self, visitor: usize) -> impl Iterator<Item = &EntryRecord> {
        let records = self.records.range((visitor, 0)..=(visitor, usize::MAX));
        records.map(|(_, record)| record)
    }

    /// Whether the visit began with a slot that the visitor had left and that was still held. It then has the session end
    /// of an earlier visit, overtakes no visitor, and takes nothing of the pace.
    fn has_taken_back(&self, visitor: usize, visit: u64) -> bool {
        let session_ends = || {
            let calls = self.calls_of(visitor);
            let told = calls.filter_map(|call| Some((call.number("visit")?, call.number("expires_at_ms")?)));
            let recorded = self.records_of(visitor);
            told.chain(recorded.filter_map(|record| Some((record.visit().number(), session_end_ms(record)?))))
        };
        session_ends()
            .filter(|(of, _)| *of == visit)
            .any(|(_, end_ms)| session_ends().any(|(of, earlier_ms)| of < visit && earlier_ms == end_ms))
    }

    fn safe_places(&self) -> Vec<SafePlace<'_>> {
        let mut stays: Vec<(usize, usize)> =
            self.calls.iter().map(|call| (call.visitor, call.stay)).collect();
        stays.sort_unstable();
        stays.dedup();
        stays
            .into_iter()
            .filter_map(|(visitor, stay)| self.find_safe_place(visitor, stay))
            .collect()
    }

    fn find_safe_place(&self, visitor: usize, stay: usize) -> Option<SafePlace<'_>> {
        let calls: Vec<_> = self.calls_of(visitor).filter(|call| call.stay == stay).collect();
        let requested_ms = calls
            .iter()
            .find(|call| call.kind == RequestKind::Enter)?
            .begun_ms;
        let mut entered = calls.iter().filter(|call| {
            call.kind == RequestKind::Enter
                && call.is_acknowledged()
                && (call.is_durable() || !self.is_data_lost_after(call.begun_ms))
        });
        let first = entered.next()?;
        let token = first.text("token")?;
        Some(SafePlace {
            visitor,
            stay,
            token,
            visit: first.number("visit")?,
            joined_at_ms: first.number("joined_at_ms"),
            requested_ms,
            from_ms: first.ended_ms,
            is_durable: first.is_durable(),
            record: self.records.get(&(visitor, stay)),
            calls,
        })
    }

    /// Whether Redis lost data after this time.
    fn is_data_lost_after(&self, at_ms: u64) -> bool {
        self.fault_periods
            .iter()
            .any(|period| period.fault.may_lose_changes() && period.until_ms >= at_ms)
    }

    /// Whether changes of that time may have been lost although they were written.
    fn is_stale(&self, from_ms: u64, until_ms: u64) -> bool {
        self.stale_faults()
            .any(|period| period.overlaps(from_ms, until_ms))
    }

    /// The faults that left Redis with stale data, with the time whose changes are lost. Changes before the
    /// last watermark are not lost if the promoter could write the watermark to the table: a Redis without them
    /// is restored from the table.
    fn stale_faults(&self) -> impl Iterator<Item = FaultPeriod> {
        self.fault_periods.iter().filter_map(|period| {
            let killed_ms = period.from_ms + period.fault.stale_ms()?;
            let watermark_ms = killed_ms - WATERMARK_MS;
            let from_ms = if self.is_table_affected(watermark_ms - WATERMARK_MS, killed_ms) {
                period.from_ms
            } else {
                period.from_ms.max(watermark_ms)
            };
            Some(FaultPeriod {
                from_ms,
                ..period.clone()
            })
        })
    }

    /// Whether a fault affected the table in that time.
    fn is_table_affected(&self, from_ms: u64, until_ms: u64) -> bool {
        self.fault_periods
            .iter()
            .any(|period| period.fault.affects_table() && period.overlaps(from_ms, until_ms))
    }

    /// Whether any fault struck in that time.
    fn is_affected(&self, from_ms: u64, until_ms: u64) -> bool {
        self.fault_periods
            .iter()
            .any(|period| period.overlaps(from_ms, until_ms))
    }
}

/// When the session ends. A visitor who left while a claim was on its way has no session, and the slot is held until its end.
fn session_end_ms(record: &EntryRecord) -> Option<u64> {
    let is_held = record.fact.step == Step::Held;
    record.expires_at_ms.or(is_held.then_some(record.fact.step_ms))
}

impl SafePlace<'_> {
    /// The record at the end, if it is of this visit.
    fn own_record(&self) -> Option<&EntryRecord> {
        self.record.filter(|record| record.visit().number() == self.visit)
    }

    /// Requests that were sent after the place became safe.
    fn later_calls(&self) -> impl Iterator<Item = &&Call> {
        self.calls.iter().filter(|call| call.begun_ms >= self.from_ms)
    }

    /// Whether an answer is about this visit.
    fn is_about(&self, call: &Call) -> bool {
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
