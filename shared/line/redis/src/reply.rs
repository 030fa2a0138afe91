//! The replies of scripts, taken apart value by value.

use std::{collections::HashMap, vec};

use redis::Value;
use vestibule_domain::{
    change::Version,
    id::EntryId,
    score::{Visit, WaitScore},
    standing::Standing,
};
use vestibule_line::{LineError, Missing};

/// The reply of a script, read value by value.
pub(super) struct Reply {
    of: &'static str,
    outcome: String,
    values: vec::IntoIter<Value>,
}

impl Reply {
    /// Begins to read a reply: the word that says how it went, [`LineError::Unknown`] where there is no queue.
    pub(super) fn read(of: &'static str, values: Vec<Value>) -> Result<Self, LineError> {
        let mut reply = Self {
            of,
            outcome: String::new(),
            values: values.into_iter(),
        };
        reply.outcome = reply.word()?;
        if reply.outcome == "no-queue" {
            Err(LineError::Unknown)
        } else {
            Ok(reply)
        }
    }

    /// The word that every reply begins with.
    pub(super) fn outcome(&self) -> &str {
        &self.outcome
    }

    /// A word or a text.
    pub(super) fn word(&mut self) -> Result<String, LineError> {
        let value = self.next()?;
        redis::from_redis_value(value).map_err(|_| self.nonsense("a word"))
    }

    /// A whole number.
    pub(super) fn number(&mut self) -> Result<u64, LineError> {
        let value = self.next()?;
        redis::from_redis_value(value).map_err(|_| self.nonsense("a number"))
    }

    /// A whole number that may be below 0.
    pub(super) fn signed(&mut self) -> Result<i64, LineError> {
        let value = self.next()?;
        redis::from_redis_value(value).map_err(|_| self.nonsense("a number"))
    }

    /// A list of whole numbers.
    pub(super) fn numbers(&mut self) -> Result<Vec<u64>, LineError> {
        let value = self.next()?;
        redis::from_redis_value(value).map_err(|_| self.nonsense("numbers"))
    }

    /// A list of field, value, field, value.
    pub(super) fn fields(&mut self) -> Result<Fields, LineError> {
        let value = self.next()?;
        let fields = redis::from_redis_value(value).map_err(|_| self.nonsense("fields"))?;
        Ok(Fields { of: self.of, fields })
    }

    /// Where an entry stands: state, score or visit, position or deadline, line time.
    pub(super) fn standing(&mut self) -> Result<Standing, LineError> {
        Ok(self.standing_at()?.0)
    }

    /// The same, with the line time also of one that waits.
    pub(super) fn standing_at(&mut self) -> Result<(Standing, u64), LineError> {
        let (state, first, second, now_ms) = (self.word()?, self.number()?, self.number()?, self.number()?);
        let visit = || Visit::new(first).ok_or_else(|| self.nonsense("a visit"));
        let standing = match state.as_str() {
            "waiting" => Standing::Waiting {
                score: self.score_of(first)?,
                position: second,
            },
            "ready" => Standing::Ready {
                visit: visit()?,
                claim_by_ms: second,
                now_ms,
            },
            "active" => Standing::Active {
                visit: visit()?,
                session_end_ms: second,
                now_ms,
            },
            _ => return Err(self.nonsense("a state")),
        };
        Ok((standing, now_ms))
    }

    /// Why an entry stands nowhere.
    pub(super) fn missing(&mut self) -> Result<Missing, LineError> {
        match self.word()?.as_str() {
            "ended" => Ok(Missing::Ended),
            "unknown" => Ok(Missing::Unknown),
            _ => Err(self.nonsense("why it is gone")),
        }
    }

    /// A visit.
    pub(super) fn visit(&mut self) -> Result<Visit, LineError> {
        let number = self.number()?;
        Visit::new(number).ok_or_else(|| self.nonsense("a visit"))
    }

    /// A place.
    pub(super) fn score(&mut self) -> Result<WaitScore, LineError> {
        let raw = self.number()?;
        self.score_of(raw)
    }

    /// The version of a change; `None` where nothing changed.
    pub(super) fn version(&mut self) -> Result<Option<Version>, LineError> {
        let (epoch, v) = (self.number()?, self.number()?);
        let epoch = u32::try_from(epoch).map_err(|_| self.nonsense("an epoch"))?;
        Ok((v > 0).then_some(Version { epoch, v }))
    }

    /// The error for a reply that is none of those that the header lists.
    pub(super) fn nonsense(&self, wanted: &str) -> LineError {
        LineError::Nonsense(format!("the reply of {} lacks {wanted}", self.of))
    }

    fn score_of(&self, raw: u64) -> Result<WaitScore, LineError> {
        WaitScore::from_raw(raw).ok_or_else(|| self.nonsense("a score"))
    }

    fn next(&mut self) -> Result<Value, LineError> {
        self.values.next().ok_or_else(|| self.nonsense("a value"))
    }
}

/// The fields of a hash or of a journal record.
pub(super) struct Fields {
    of: &'static str,
    fields: HashMap<String, String>,
}

impl Fields {
    pub(super) fn new(of: &'static str, fields: HashMap<String, String>) -> Self {
        Self { of, fields }
    }

    /// Whether there is such a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, LineError> {
        let missing = || LineError::Nonsense(format!("{} has no field {name}", self.of));
        self.fields.get(name).map(String::as_str).ok_or_else(missing)
    }

    /// A whole number that may be below 0; 0 where the field is not there, since an earlier version did not write it.
    pub(super) fn signed(&self, name: &str) -> Result<i64, LineError> {
        let Some(text) = self.fields.get(name) else {
            return Ok(0);
        };
        let nonsense = || LineError::Nonsense(format!("{} has no number in field {name}", self.of));
        text.parse().map_err(|_| nonsense())
    }

    /// A whole number, as Redis may write one that went through a double: `1.7e+15`.
    pub(super) fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<T, LineError> {
        whole(self.text(name)?)
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| LineError::Nonsense(format!("{} has no number in field {name}", self.of)))
    }

    /// The same; 0 where there is no such field: a queue of an earlier release lacks it until somebody ticks it.
    pub(super) fn number_or_zero(&self, name: &str) -> Result<u64, LineError> {
        if self.has(name) { self.number(name) } else { Ok(0) }
    }
}

/// A whole number below 2^53, in digits or as a double writes it.
pub(super) fn whole(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let double: f64 = text.parse().ok()?;
    // The guard makes the cast exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    ((0.0..9_007_199_254_740_992.0).contains(&double) && double.fract() == 0.0).then_some(double as u64)
}

/// Reads members as entry ids.
pub(super) fn entry_id(member: &str) -> Result<EntryId, LineError> {
    EntryId::from_member(member).map_err(|error| LineError::Nonsense(format!("{member}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_as_redis_writes_them() {
        assert_eq!(whole("736949953421312"), Some(736_949_953_421_312));
        assert_eq!(whole("1.7e+15"), Some(1_700_000_000_000_000));
        for none in ["", "x", "-1", "0.5", "1e16", "nan"] {
            assert_eq!(whole(none), None, "{none}");
        }
    }
}
