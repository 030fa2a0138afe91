//! The settings of a queue, which operators edit. The table [`FIELDS`] has the unit, range and default of
//! every field. Parsing, help and documentation use it.

mod fields;
mod values;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::fields::{FIELDS, Field, FieldType};
use self::values::{parse_flag, parse_number, parse_text, parse_url, parse_word, setting_error};
use super::pace::Pace;

/// The lowest `claim_seconds`. Visitors poll within two thirds of it, so a lower value would lose turns on a
/// slow network.
pub const CLAIM_SECONDS_MIN: u32 = 10;

/// The highest `grace_seconds`. The record with the old place is kept for at least an hour.
pub const GRACE_SECONDS_MAX: u32 = 3_600;

/// What happens if a waiting visitor enters again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReEntry {
    /// The visitor keeps the place.
    Keep,
    /// The visitor moves to the back of the line.
    Requeue,
}

/// Who may enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entrance {
    /// All visitors may enter.
    Open,
    /// No new visitor may enter. Entries in line are still served.
    Draining,
    /// No new visitor may enter and no entry is promoted. Entries keep their places.
    Closed,
}

/// How `validate` answers while the line is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnOutage {
    /// It refuses every visitor, because no entry can be verified.
    Closed,
    /// It accepts a pass that was valid a short time ago.
    Open,
}

/// The settings of a queue, each within its range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The most entries that may be ready and active at once.
    pub capacity: u32,
    /// How many entries are promoted per interval.
    pub batch: u32,
    /// The length of a promotion interval.
    pub interval_seconds: u32,
    /// How long a promoted visitor has to claim.
    pub claim_seconds: u32,
    /// How long a visitor who missed the turn may enter again at the old place, once; 0 switches this off.
    pub grace_seconds: u32,
    /// How long the session of an admitted visitor lasts.
    pub session_seconds: u32,
    /// The longest session after extensions, counted from the claim.
    pub session_max_seconds: u32,
    /// How long a pass is valid before it must be renewed.
    pub pass_seconds: u32,
    /// How long the record of an ended entry is kept in the table.
    pub retain_hours: u32,
    /// What happens if a waiting visitor enters again.
    pub re_entry: ReEntry,
    /// Who may enter.
    pub entrance: Entrance,
    /// While true, no entry is promoted and claim deadlines stand still; visitors may still enter.
    pub paused: bool,
    /// Whether the queue trusts the `X-Visitor-Id` header to identify the visitor.
    pub trust_client_visitor_id: bool,
    /// How `validate` answers while the line is unavailable.
    pub on_outage: OnOutage,
    /// With [`OnOutage::Open`]: how long a pass is accepted after its end while the line is unavailable.
    pub outage_grace_seconds: u32,
    /// A message for waiting visitors.
    pub message: Option<String>,
    /// Where the waiting page sends an admitted visitor, with the pass in the fragment (`#pass=…`).
    pub target_url: Option<String>,
}

/// A setting that was refused, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct SettingsError {
    /// The name of the setting, as the operator wrote it.
    pub field: String,
    /// What a valid value looks like.
    pub reason: String,
}

/// The settings that have operations of their own, such as `pause`, the emergency stop. These operations work
/// even if another stored setting is invalid.
pub const SWITCHES: [&str; 2] = ["entrance", "paused"];

impl Default for Settings {
    /// Every field has the default that [`FIELDS`] names.
    fn default() -> Self {
        Self {
            capacity: 100,
            batch: 10,
            interval_seconds: 10,
            claim_seconds: 60,
            grace_seconds: 600,
            session_seconds: 300,
            session_max_seconds: 3_600,
            pass_seconds: 60,
            retain_hours: 24,
            re_entry: ReEntry::Keep,
            entrance: Entrance::Open,
            paused: false,
            trust_client_visitor_id: false,
            on_outage: OnOutage::Closed,
            outage_grace_seconds: 300,
            message: None,
            target_url: None,
        }
    }
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
            let field = FIELDS.iter().find(|field| field.name == name).ok_or_else(|| {
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

    fn set_field(&mut self, field: &Field, value: &Value) -> Result<(), SettingsError> {
        match field.name {
            "capacity" => self.capacity = parse_number(field, value)?,
            "batch" => self.batch = parse_number(field, value)?,
            "interval_seconds" => self.interval_seconds = parse_number(field, value)?,
            "claim_seconds" => self.claim_seconds = parse_number(field, value)?,
            "grace_seconds" => self.grace_seconds = parse_number(field, value)?,
            "session_seconds" => self.session_seconds = parse_number(field, value)?,
            "session_max_seconds" => self.session_max_seconds = parse_number(field, value)?,
            "pass_seconds" => self.pass_seconds = parse_number(field, value)?,
            "retain_hours" => self.retain_hours = parse_number(field, value)?,
            "re_entry" => self.re_entry = parse_word(field, value)?,
            "entrance" => self.entrance = parse_word(field, value)?,
            "paused" => self.paused = parse_flag(field, value)?,
            "trust_client_visitor_id" => self.trust_client_visitor_id = parse_flag(field, value)?,
            "on_outage" => self.on_outage = parse_word(field, value)?,
            "outage_grace_seconds" => self.outage_grace_seconds = parse_number(field, value)?,
            "message" => self.message = parse_text(field, value)?,
            "target_url" => self.target_url = parse_url(field, value)?,
            other => unreachable!("every name in FIELDS is set above: {other}"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
