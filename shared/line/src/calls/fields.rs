//! The fields of a hash, as a script or a plain command returns them.

use std::collections::HashMap;

use crate::LineError;

/// The fields of a hash or of a journal record.
pub(super) struct Fields {
    of: &'static str,
    fields: HashMap<String, String>,
}

impl Fields {
    pub(super) fn new(of: &'static str, fields: HashMap<String, String>) -> Self {
        Self { of, fields }
    }

    /// Adds fields. They replace those of the same name.
    pub(super) fn with(mut self, further: Self) -> Self {
        self.fields.extend(further.fields);
        self
    }

    /// The names of all fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Whether the field exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, LineError> {
        let missing = || LineError::Protocol(format!("field `{name}` is missing (source: {})", self.of));
        self.fields.get(name).map(String::as_str).ok_or_else(missing)
    }

    /// An integer that may be negative. A missing field is 0.
    pub(super) fn signed_or_zero(&self, name: &str) -> Result<i64, LineError> {
        let Some(text) = self.fields.get(name) else {
            return Ok(0);
        };
        let nonsense =
            || LineError::Protocol(format!("field `{name}` is not an integer (source: {})", self.of));
        text.parse().map_err(|_| nonsense())
    }

    /// An integer of 0 or more. Redis may write one that went through a double as `1.7e+15`.
    pub(super) fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<T, LineError> {
        parse_integer(self.text(name)?)
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| {
                LineError::Protocol(format!("field `{name}` is not an integer (source: {})", self.of))
            })
    }

    /// An integer of 0 or more. A missing field is 0.
    pub(super) fn number_or_zero(&self, name: &str) -> Result<u64, LineError> {
        if self.has(name) { self.number(name) } else { Ok(0) }
    }
}

/// Parses an integer of 0 or more. Digits may be any `u64`; the notation of a double must be below 2^53.
pub(super) fn parse_integer(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let double: f64 = text.parse().ok()?;
    // The cast is exact, because the guard admits only integers below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    ((0.0..9_007_199_254_740_992.0).contains(&double) && double.fract() == 0.0).then_some(double as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_parse_from_digits_and_double_notation() {
        assert_eq!(parse_integer("736949953421312"), Some(736_949_953_421_312));
        assert_eq!(parse_integer("1.7e+15"), Some(1_700_000_000_000_000));
        for none in ["", "x", "-1", "0.5", "1e16", "nan"] {
            assert_eq!(parse_integer(none), None, "{none}");
        }
    }
}
