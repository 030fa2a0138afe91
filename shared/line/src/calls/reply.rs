//! Reads the replies of scripts, one value after the other.

use std::vec;

use redis::Value;
use serde_json::Value as JsonValue;
use vestibule_domain::{
    change::{Change, Event, Version},
    entry_status::EntryStatus,
    fact::{Fact, Step},
    id::EntryId,
    score::{Visit, WaitScore},
};

use super::{end::read_end_fact, fields::Fields, places::parse_place};
use crate::{LineError, NotFound};

/// The reply of a script. Each reading method takes the next value.
pub(super) struct ScriptReply {
    of: &'static str,
    outcome: String,
    values: vec::IntoIter<Value>,
}

impl ScriptReply {
    /// Begins to read a reply with its first value, the outcome. It is a list, or one text with the same values: the
    /// outcome, a zero byte, and integers of 8 bytes.
    ///
    /// # Errors
    /// [`LineError::QueueNotFound`] if the outcome is `no-queue`.
    pub(super) fn read(of: &'static str, reply: Value) -> Result<Self, LineError> {
        let values = match reply {
            Value::BulkString(packed) => unpack_values(&packed),
            Value::Array(values) => Some(values),
            _ => None,
        };
        let mut reply = Self {
            of,
            outcome: String::new(),
            values: Vec::new().into_iter(),
        };
        reply.values = values
            .ok_or_else(|| reply.protocol_error("a list of values"))?
            .into_iter();
        reply.outcome = reply.read_text()?;
        if reply.outcome == "no-queue" {
            Err(LineError::QueueNotFound)
        } else {
            Ok(reply)
        }
    }

    /// The outcome: the word that every reply begins with.
    pub(super) fn outcome(&self) -> &str {
        &self.outcome
    }

    /// Reads a text.
    pub(super) fn read_text(&mut self) -> Result<String, LineError> {
        let value = self.next_value()?;
        redis::from_redis_value(value).map_err(|_| self.protocol_error("a text value"))
    }

    /// Reads an integer of 0 or more.
    pub(super) fn read_number(&mut self) -> Result<u64, LineError> {
        let value = self.next_value()?;
        redis::from_redis_value(value).map_err(|_| self.protocol_error("an integer"))
    }

    /// Reads an integer that may be negative.
    pub(super) fn read_signed(&mut self) -> Result<i64, LineError> {
        let value = self.next_value()?;
        redis::from_redis_value(value).map_err(|_| self.protocol_error("an integer"))
    }

    /// Reads a list of texts.
    pub(super) fn read_texts(&mut self) -> Result<Vec<String>, LineError> {
        let value = self.next_value()?;
        redis::from_redis_value(value).map_err(|_| self.protocol_error("a list of texts"))
    }

    /// Reads a list of texts, some of which may be missing.
    pub(super) fn read_optional_texts(&mut self) -> Result<Vec<Option<String>>, LineError> {
        let value = self.next_value()?;
        redis::from_redis_value(value).map_err(|_| self.protocol_error("a list of texts"))
    }

    /// Reads a list of integers of 0 or more.
    pub(super) fn read_numbers(&mut self) -> Result<Vec<u64>, LineError> {
        let value = self.next_value()?;
        redis::from_redis_value(value).map_err(|_| self.protocol_error("a list of integers"))
    }

    /// Reads a list of `field, value, field, value, …`.
    pub(super) fn read_fields(&mut self) -> Result<Fields, LineError> {
        let value = self.next_value()?;
        let fields = redis::from_redis_value(value).map_err(|_| self.protocol_error("a list of fields"))?;
        Ok(Fields::new(self.of, fields))
    }

    /// Reads a JSON list, and begins to read what it holds.
    pub(super) fn read_json_values(mut self) -> Result<Self, LineError> {
        let json = self.read_text()?;
        let list = serde_json::from_str::<Vec<JsonValue>>(&json);
        let list = list.map_err(|_| self.protocol_error("a JSON list"))?;
        let values: Option<Vec<Value>> = list.into_iter().map(redis_value_from_json).collect();
        let values = values.ok_or_else(|| self.protocol_error("a JSON list of integers, texts and lists"))?;
        Ok(Self {
            values: values.into_iter(),
            ..self
        })
    }

    /// Reads the status of an entry: four values, which are the state, the score or visit, the
    /// position or deadline, and the line time.
    pub(super) fn read_status(&mut self) -> Result<EntryStatus, LineError> {
        Ok(self.read_status_with_time()?.0)
    }

    /// Reads the status of an entry and the line time in Unix milliseconds, which the status of a
    /// waiting entry does not contain.
    pub(super) fn read_status_with_time(&mut self) -> Result<(EntryStatus, u64), LineError> {
        let state = self.read_text()?;
        if state == "waiting" {
            let (score, position, now_ms) = (self.read_score()?, self.read_number()?, self.read_number()?);
            return Ok((EntryStatus::Waiting { score, position }, now_ms));
        }
        let (visit, deadline_ms, now_ms) = (self.read_visit()?, self.read_number()?, self.read_number()?);
        let status = match state.as_str() {
            "ready" => EntryStatus::Ready {
                visit,
                claim_by_ms: deadline_ms,
                now_ms,
            },
            "active" => EntryStatus::Active {
                visit,
                session_end_ms: deadline_ms,
                now_ms,
            },
            _ => return Err(self.protocol_error("a known state")),
        };
        Ok((status, now_ms))
    }

    /// Reads what the line knows of an entry that is not live.
    pub(super) fn read_not_found(&mut self, id: EntryId) -> Result<NotFound, LineError> {
        match self.read_text()?.as_str() {
            "ended" => Ok(NotFound::Ended(self.read_end(id)?)),
            "unknown" => Ok(NotFound::Unknown {
                at_ms: self.read_number()?,
            }),
            _ => Err(self.protocol_error("a known reason why the entry has no place")),
        }
    }

    /// Reads the end of an entry: seven values, which are the epoch, `v`, the visit, the step, the
    /// time of the step, the way in which the visit ended, and when.
    pub(super) fn read_end(&mut self, id: EntryId) -> Result<Change, LineError> {
        let version = self.read_new_version()?;
        let (visit, step, step_ms) = (self.read_number()?, self.read_number()?, self.read_number()?);
        let (fact, how) = read_end_fact(visit, step, step_ms, &self.read_text()?)
            .ok_or_else(|| self.protocol_error("a valid end"))?;
        Ok(Change {
            id,
            version,
            at_ms: self.read_number()?,
            event: Event::Ended { fact, how },
            source: None,
        })
    }

    /// Reads the step of a visit.
    pub(super) fn read_step(&mut self) -> Result<Step, LineError> {
        let number = self.read_number()?;
        Step::new(number).ok_or_else(|| self.protocol_error("a valid step"))
    }

    /// Reads the number of a visit.
    pub(super) fn read_visit(&mut self) -> Result<Visit, LineError> {
        let number = self.read_number()?;
        Visit::new(number).ok_or_else(|| self.protocol_error("a valid visit"))
    }

    /// Reads the number of a visit; `None` for 0, which is no visit.
    pub(super) fn read_optional_visit(&mut self) -> Result<Option<Visit>, LineError> {
        Ok(Some(self.read_visit()?).filter(|visit| visit.number() > 0))
    }

    /// Reads a place in line: an integer, or a text as [`parse_place`] reads it.
    pub(super) fn read_score(&mut self) -> Result<WaitScore, LineError> {
        let place = match self.next_value()? {
            Value::Int(raw) => u64::try_from(raw).ok().and_then(WaitScore::from_raw),
            Value::BulkString(text) => str::from_utf8(&text).ok().and_then(parse_place),
            _ => None,
        };
        place.ok_or_else(|| self.protocol_error("a valid place"))
    }

    /// Reads the version of a change; `None` if the script changed nothing.
    pub(super) fn read_version(&mut self) -> Result<Option<Version>, LineError> {
        let (epoch, v) = (self.read_number()?, self.read_number()?);
        let epoch = u32::try_from(epoch).map_err(|_| self.protocol_error("a valid epoch"))?;
        Ok((v > 0).then_some(Version { epoch, v }))
    }

    /// Reads the version of a change that the script made.
    pub(super) fn read_new_version(&mut self) -> Result<Version, LineError> {
        self.read_version()?
            .ok_or_else(|| self.protocol_error("a version"))
    }

    /// The error for a reply that the header of the script does not list. `wanted` is what the
    /// reply lacks.
    pub(super) fn protocol_error(&self, wanted: &str) -> LineError {
        LineError::Protocol(format!("the reply of script `{}` lacks {wanted}", self.of))
    }

    pub(super) fn next_value(&mut self) -> Result<Value, LineError> {
        self.values
            .next()
            .ok_or_else(|| self.protocol_error("a further value"))
    }
}

/// The value that a script would return for this one; `None` if it could not. Lua's `cjson` writes an
/// empty list as an empty object.
fn redis_value_from_json(json: JsonValue) -> Option<Value> {
    match json {
        JsonValue::Number(number) => number.as_i64().map(Value::Int),
        JsonValue::String(text) => Some(Value::BulkString(text.into_bytes())),
        JsonValue::Array(list) => {
            let values = list.into_iter().map(redis_value_from_json);
            values.collect::<Option<_>>().map(Value::Array)
        }
        JsonValue::Object(fields) if fields.is_empty() => Some(Value::Array(Vec::new())),
        _ => None,
    }
}

/// The event that [repeats](Event::repeat) what is known of a live entry: its status, the step of its
/// visit, and if it waits when it was moved to another lane (0 for never), in Unix milliseconds.
pub(super) fn repeat_status(
    status: &EntryStatus,
    step: Step,
    is_fast_tracked: bool,
    moved_at_ms: u64,
) -> Option<Event> {
    let (place, step_ms) = match *status {
        EntryStatus::Waiting { score, .. } => (Some(score), moved_at_ms),
        EntryStatus::Ready { claim_by_ms, .. } => (None, claim_by_ms),
        EntryStatus::Active {
            visit,
            session_end_ms,
            ..
        } => (is_fast_tracked.then(|| visit.place()), session_end_ms),
    };
    let fact = Fact {
        visit: status.visit(),
        step,
        step_ms,
        is_over: false,
    };
    Event::repeat(fact, place)
}

fn unpack_values(packed: &[u8]) -> Option<Vec<Value>> {
    let end = packed.iter().position(|byte| *byte == 0)?;
    let (outcome, packed) = packed.split_at(end);
    let (integers, []) = packed[1..].as_chunks::<8>() else {
        return None;
    };
    let integers = integers
        .iter()
        .map(|bytes| Value::Int(i64::from_le_bytes(*bytes)));
    let outcome = Value::BulkString(outcome.to_vec());
    Some(std::iter::once(outcome).chain(integers).collect())
}

/// Parses a member of a sorted set or hash as an entry id.
pub(super) fn parse_entry_id(member: &str) -> Result<EntryId, LineError> {
    EntryId::from_member(member)
        .map_err(|error| LineError::Protocol(format!("the member {member} is not an entry id: {error}")))
}
