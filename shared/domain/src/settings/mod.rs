//! The settings of a queue, which operators edit. `declaration` lists each of them once.

mod declaration;
mod field;
mod values;
mod words;

use serde_json::{Map, Value};

use self::values::setting_error;
pub use self::{
    declaration::{
        CLAIM_SECONDS_MIN, Entrance, FIELDS, GRACE_SECONDS_MAX, OnOutage, ReEntry, SWITCHES, Settings,
    },
    field::{Field, FieldType},
};
use super::pace::Pace;

/// A setting that was refused, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct SettingsError {
    /// The name of the setting, as the operator wrote it.
    pub field: String,
    /// What a valid value looks like.
    pub reason: String,
}

impl Settings {
    /// The defaults, overridden by the given fields. Numbers and flags may be strings, because the AWS
    /// console often stores them as such.
    ///
    /// # Errors
    /// The first field that is unknown, has the wrong type, or is out of its range.
    pub fn from_map(given: &Map<String, Value>) -> Result<Self, SettingsError> {
        Self::default().with_fields(given)
    }

    /// These settings, changed by the given fields.
    ///
    /// # Errors
    /// As [`Settings::from_map`].
    pub fn with_fields(mut self, given: &Map<String, Value>) -> Result<Self, SettingsError> {
        for (name, value) in given {
            let field = Field::find(name).ok_or_else(|| {
                let known: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
                setting_error(
                    name,
                    format!("this setting does not exist; use one of: {}", known.join(", ")),
                )
            })?;
            self.set_field(field, value)?;
        }
        if self.session_max_seconds < self.session_seconds {
            // If the operator raises `session_seconds` alone, the maximum follows it. If the operator sets
            // both, they must fit.
            if given.contains_key("session_max_seconds") {
                let reason = format!("must be at least session_seconds ({})", self.session_seconds);
                return Err(setting_error("session_max_seconds", reason));
            }
            self.session_max_seconds = self.session_seconds;
        }
        Ok(self)
    }

    /// These settings, changed by the valid [`SWITCHES`] among the given fields. All other fields are
    /// ignored.
    #[must_use]
    pub fn with_switches(mut self, given: &Map<String, Value>) -> Self {
        for field in FIELDS.iter().filter(|field| SWITCHES.contains(&field.name)) {
            if let Some(value) = given.get(field.name) {
                // An invalid switch keeps its old value here. `with`, which reads all fields, reports it.
                let _ = self.set_field(field, value);
            }
        }
        self
    }

    /// The settings as a map with every field: the form stored in the table.
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            other => unreachable!("a struct of plain fields is an object: {other:?}"),
        }
    }

    /// Whether entries may be promoted or admitted on the fast track.
    pub fn can_promote(&self) -> bool {
        !self.paused && self.entrance != Entrance::Closed
    }

    /// The pace that the settings define.
    pub fn pace(&self) -> Pace {
        Pace {
            batch: u64::from(self.batch),
            interval_ms: u64::from(self.interval_seconds) * 1_000,
        }
    }

    /// `claim_seconds` in milliseconds.
    pub fn claim_ms(&self) -> u64 {
        u64::from(self.claim_seconds) * 1_000
    }

    /// `session_seconds` in milliseconds.
    pub fn session_ms(&self) -> u64 {
        u64::from(self.session_seconds) * 1_000
    }
}

#[cfg(test)]
mod tests;
