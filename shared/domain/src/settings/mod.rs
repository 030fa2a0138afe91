//! The settings of a queue: what operators edit. One table, [`FIELDS`], says every field's unit, range and default;
//! parsing, help and documentation read it.

mod fields;
mod values;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::fields::{FIELDS, Field, Takes};
use self::values::{flag, number, refused, text, url, word};
use super::pace::Pace;

/// The least `claim_seconds`: polls are paced to two thirds of it, and a shorter one would lose turns to a slow network.
pub const CLAIM_SECONDS_MIN: u32 = 10;

/// The most `grace_seconds`: the record that the old place stands in is kept for an hour at least.
pub const GRACE_SECONDS_MAX: u32 = 3_600;

/// What becomes of a waiting visitor who enters again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReEntry {
    /// The same place.
    Keep,
    /// The back of the line.
    Requeue,
}

/// Who may enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entrance {
    /// Everybody.
    Open,
    /// Nobody new; those in line are still served.
    Draining,
    /// Nobody, and nobody is promoted; places are kept.
    Closed,
}

/// What `validate` says while the line cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnOutage {
    /// Nothing: nobody is let through unseen.
    Closed,
    /// Yes to whoever shows a pass that was good a while ago.
    Open,
}

/// The settings of a queue, each within its range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The most entries that may be ready and active at once.
    pub capacity: u32,
    /// How many are promoted each interval.
    pub batch: u32,
    /// The length of an interval.
    pub interval_seconds: u32,
    /// How long a promoted visitor has to claim.
    pub claim_seconds: u32,
    /// How long a visitor who missed the turn may enter again at the old place, once.
    pub grace_seconds: u32,
    /// How long a visitor who was let in may stay.
    pub session_seconds: u32,
    /// How long a stay may become by being extended, counted from the claim.
    pub session_max_seconds: u32,
    /// How long a pass is good for before it must be renewed.
    pub pass_seconds: u32,
    /// How long an entry that is gone is kept in the table.
    pub retain_hours: u32,
    /// What becomes of a waiting visitor who enters again.
    pub re_entry: ReEntry,
    /// Who may enter.
    pub entrance: Entrance,
    /// Nobody is promoted and claim deadlines stand still; entering goes on.
    pub paused: bool,
    /// Whether `X-Visitor-Id` is believed to name the visitor.
    pub trust_client_visitor_id: bool,
    /// What `validate` says while the line cannot be reached.
    pub on_outage: OnOutage,
    /// How long a pass is honoured past its end meanwhile, where the above is [`OnOutage::Open`].
    pub outage_grace_seconds: u32,
    /// Shown to those who wait.
    pub message: Option<String>,
    /// Where the waiting page sends a visitor who was let in, with the pass in the fragment (`#pass=…`).
    pub target_url: Option<String>,
}

/// A setting that was refused, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct SettingsError {
    /// The name as it was given.
    pub field: String,
    /// What would have been right.
    pub reason: String,
}

/// The settings that operations of their own stand for, the emergency brake among them: they act also where another
/// stored setting is wrong.
pub const SWITCHES: [&str; 2] = ["entrance", "paused"];

impl Default for Settings {
    /// Every field at the default that [`FIELDS`] gives.
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
    /// The defaults with the given fields in their place. Numbers and flags may be written as strings, as the AWS
    /// console tends to.
    ///
    /// # Errors
    /// The first field that is unknown, of the wrong type, or out of its range, by name.
    pub fn from_map(given: &Map<String, Value>) -> Result<Self, SettingsError> {
        Self::default().with(given)
    }

    /// These settings with the given fields changed.
    ///
    /// # Errors
    /// As [`Settings::from_map`].
    pub fn with(mut self, given: &Map<String, Value>) -> Result<Self, SettingsError> {
        for (name, value) in given {
            let field = FIELDS.iter().find(|field| field.name == name).ok_or_else(|| {
                let known: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
                refused(
                    name,
                    format!("there is no such setting; there are {}", known.join(", ")),
                )
            })?;
            self.set(field, value)?;
        }
        if self.session_max_seconds < self.session_seconds {
            // Whoever lengthens the session alone means it; whoever names both must make them fit.
            if given.contains_key("session_max_seconds") {
                let reason = format!("must not be less than session_seconds ({})", self.session_seconds);
                return Err(refused("session_max_seconds", reason));
            }
            self.session_max_seconds = self.session_seconds;
        }
        Ok(self)
    }

    /// These settings with the [`SWITCHES`] among the given fields changed, where they are right: whatever else is given
    /// is passed over.
    #[must_use]
    pub fn with_switches(mut self, given: &Map<String, Value>) -> Self {
        for field in FIELDS.iter().filter(|field| SWITCHES.contains(&field.name)) {
            if let Some(value) = given.get(field.name) {
                // A wrong one is named by whoever reads all of them: here the old one stays.
                let _ = self.set(field, value);
            }
        }
        self
    }

    /// As a map, every field present: what the table holds.
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            other => unreachable!("a struct of plain fields is an object: {other:?}"),
        }
    }

    /// Whether anybody may be promoted or let in on the fast track.
    pub fn promotes(&self) -> bool {
        !self.paused && self.entrance != Entrance::Closed
    }

    /// The pace that they ask for.
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

    fn set(&mut self, field: &Field, value: &Value) -> Result<(), SettingsError> {
        match field.name {
            "capacity" => self.capacity = number(field, value)?,
            "batch" => self.batch = number(field, value)?,
            "interval_seconds" => self.interval_seconds = number(field, value)?,
            "claim_seconds" => self.claim_seconds = number(field, value)?,
            "grace_seconds" => self.grace_seconds = number(field, value)?,
            "session_seconds" => self.session_seconds = number(field, value)?,
            "session_max_seconds" => self.session_max_seconds = number(field, value)?,
            "pass_seconds" => self.pass_seconds = number(field, value)?,
            "retain_hours" => self.retain_hours = number(field, value)?,
            "re_entry" => self.re_entry = word(field, value)?,
            "entrance" => self.entrance = word(field, value)?,
            "paused" => self.paused = flag(field, value)?,
            "trust_client_visitor_id" => self.trust_client_visitor_id = flag(field, value)?,
            "on_outage" => self.on_outage = word(field, value)?,
            "outage_grace_seconds" => self.outage_grace_seconds = number(field, value)?,
            "message" => self.message = text(field, value)?,
            "target_url" => self.target_url = url(field, value)?,
            other => unreachable!("every name in FIELDS is set above: {other}"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
