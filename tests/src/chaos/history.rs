//! The record that the checker keeps: each request of a run and its answer. The times are by the clock of this
//! machine, which its servers share.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use vestibule_domain::record::EntryRecord;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Enter the queue.
    Enter,
    /// Read the status of the entry.
    Status,
    /// Claim the turn.
    Claim,
    /// Validate the entry, by the protected service.
    Validate,
    /// Leave the queue.
    Leave,
    /// Complete the visit, by the protected service.
    Complete,
}

/// A request and its answer.
#[derive(Debug, Clone)]
pub struct Call {
    /// The number of the visitor in the plan.
    pub visitor: usize,
    /// The number of the stay of this visitor.
    pub stay: usize,
    /// The kind of the request.
    pub kind: RequestKind,
    /// When the request was sent, in Unix milliseconds.
    pub begun_ms: u64,
    /// When the answer arrived or the client gave up, in Unix milliseconds.
    pub ended_ms: u64,
    /// The status and the JSON body. `None` if there was no answer.
    pub answer: Option<(u16, Value)>,
}

/// All requests of a run.
#[derive(Debug, Default)]
pub struct History {
    calls: Mutex<Vec<Call>>,
    records: Mutex<BTreeMap<(usize, usize), EntryRecord>>,
}

impl Call {
    /// The status, or 0 if there was no answer.
    pub fn status(&self) -> u16 {
        self.answer.as_ref().map_or(0, |(status, _)| *status)
    }

    /// Whether the answer acknowledges the request.
    pub fn is_acknowledged(&self) -> bool {
        (200..300).contains(&self.status())
    }

    /// A number in the body.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.answer.as_ref()?.1[name].as_u64()
    }

    /// A text in the body.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.answer.as_ref()?.1[name].as_str()
    }

    /// Whether the answer was given without the line.
    pub fn is_degraded(&self) -> bool {
        self.answer
            .as_ref()
            .is_some_and(|(_, body)| body["degraded"] == true)
    }

    /// Whether the answer says that the change is durable.
    pub fn is_durable(&self) -> bool {
        self.answer
            .as_ref()
            .is_some_and(|(_, body)| body["durable"] == true)
    }
}

impl History {
    /// Adds a request that has ended.
    pub fn add_call(&self, call: Call) {
        lock(&self.calls).push(call);
    }

    /// Adds the record that the table has of a visitor when a stay has ended. The next stay replaces it in the
    /// table.
    pub fn add_record(&self, visitor: usize, stay: usize, record: EntryRecord) {
        lock(&self.records).insert((visitor, stay), record);
    }

    /// The records, by visitor and stay.
    pub fn records(&self) -> BTreeMap<(usize, usize), EntryRecord> {
        lock(&self.records).clone()
    }

    /// All requests, in the order in which they were sent.
    pub fn calls(&self) -> Vec<Call> {
        let mut calls = lock(&self.calls).clone();
        calls.sort_by_key(|call| call.begun_ms);
        calls
    }
}

/// One line without the pass.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} +{:<5} stay {} {:<8}",
            self.begun_ms,
            self.ended_ms - self.begun_ms,
            self.stay,
            format!("{:?}", self.kind),
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
