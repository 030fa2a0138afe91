//! The checker's own record: every request of a run and every answer to it, by the clock of this machine, which is that of
//! its servers as well.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use vestibule_domain::record::EntryRecord;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// To enter.
    Enter,
    /// Where the entry stands.
    Status,
    /// To be let in.
    Claim,
    /// To be let in, by the protected service.
    Validate,
    /// To leave.
    Leave,
    /// To be done, by the protected service.
    Complete,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Call {
    /// Whose: the number of the visitor in the plan.
    pub visitor: usize,
    /// In which of their stays.
    pub stay: usize,
    /// What.
    pub what: What,
    /// When it was sent, in Unix milliseconds.
    pub begun_ms: u64,
    /// When the answer was there, or was given up.
    pub ended_ms: u64,
    /// The status, and the body in JSON; `None` where no answer came.
    pub answer: Option<(u16, Value)>,
}

/// Every request of a run.
#[derive(Debug, Default)]
pub struct History {
    calls: Mutex<Vec<Call>>,
    records: Mutex<BTreeMap<(usize, usize), EntryRecord>>,
}

impl Call {
    /// The status; 0 where there was no answer.
    pub fn status(&self) -> u16 {
        self.answer.as_ref().map_or(0, |(status, _)| *status)
    }

    /// Whether it was answered as it should be.
    pub fn is_acknowledged(&self) -> bool {
        (200..300).contains(&self.status())
    }

    /// A number of the body.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.answer.as_ref()?.1[name].as_u64()
    }

    /// A text of the body.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.answer.as_ref()?.1[name].as_str()
    }

    /// Whether it was answered without the line.
    pub fn is_degraded(&self) -> bool {
        self.answer
            .as_ref()
            .is_some_and(|(_, body)| body["degraded"] == true)
    }

    /// Whether it says that what it changed is durable.
    pub fn is_durable(&self) -> bool {
        self.answer
            .as_ref()
            .is_some_and(|(_, body)| body["durable"] == true)
    }
}

impl History {
    /// Notes a request that is over.
    pub fn note(&self, call: Call) {
        lock(&self.calls).push(call);
    }

    /// Notes what the table has of a visitor when a stay of theirs is over: the next one takes its place there.
    pub fn note_record(&self, visitor: usize, stay: usize, record: EntryRecord) {
        lock(&self.records).insert((visitor, stay), record);
    }

    /// The records that were noted, by visitor and stay.
    pub fn records(&self) -> BTreeMap<(usize, usize), EntryRecord> {
        lock(&self.records).clone()
    }

    /// All that was noted, in the order of beginning.
    pub fn calls(&self) -> Vec<Call> {
        let mut calls = lock(&self.calls).clone();
        calls.sort_by_key(|call| call.begun_ms);
        calls
    }
}

/// On one line, without the pass.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} +{:<5} stay {} {:<8}",
            self.begun_ms,
            self.ended_ms - self.begun_ms,
            self.stay,
            format!("{:?}", self.what),
        )?;
        match &self.answer {
            None => write!(f, " no answer"),
            Some((status, body)) => {
                write!(f, " {status}")?;
                for name in [
                    "code",
                    "state",
                    "visit",
                    "position",
                    "joined_at_ms",
                    "promoted_at_ms",
                    "claim_by_ms",
                    "expires_at_ms",
                    "grace_until_ms",
                    "durable",
                    "degraded",
                    "valid",
                ] {
                    match &body[name] {
                        Value::Null => {}
                        value => write!(f, " {name}={value}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
