//! The settings of a queue: what operators edit. One table, [`FIELDS`], says every field's unit, range and default;
//! parsing, help and documentation read it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::pace::Pace;

/// The least `claim_seconds`: polls are paced to two thirds of it, and a shorter one would lose turns to a slow network.
pub const CLAIM_SECONDS_MIN: u32 = 10;

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
    /// Shown to those who wait.
    pub message: Option<String>,
    /// Where the waiting page sends a visitor who was let in.
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

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A whole number within a range, both ends included.
    Number {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A text of at most so many characters; `null` or an empty one clears it.
    Text {
        /// The most characters.
        max: usize,
    },
    /// An `https` address, or an `http` one of the loopback host; `null` or an empty one clears it.
    Url,
}

/// One setting: its name, unit, range, default and meaning.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The unit, or what it counts.
    pub unit: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// The default, as an operator would write it.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

const DAY_SECONDS: u32 = 86_400;

/// Every setting there is.
pub const FIELDS: [Field; 14] = [
    Field {
        name: "capacity",
        unit: "entries",
        takes: Takes::Number {
            min: 1,
            max: 10_000_000,
        },
        default: "100",
        meaning: "The most entries that may be ready and active at once.",
    },
    Field {
        name: "batch",
        unit: "entries",
        takes: Takes::Number {
            min: 1,
            max: 1_000_000,
        },
        default: "10",
        meaning: "How many are promoted each interval.",
    },
    Field {
        name: "interval_seconds",
        unit: "seconds",
        takes: Takes::Number { min: 1, max: 3_600 },
        default: "10",
        meaning: "The length of an interval.",
    },
    Field {
        name: "claim_seconds",
        unit: "seconds",
        takes: Takes::Number {
            min: CLAIM_SECONDS_MIN,
            max: 3_600,
        },
        default: "60",
        meaning: "How long a promoted visitor has to claim. A lower one takes effect when the old one has passed.",
    },
    Field {
        name: "session_seconds",
        unit: "seconds",
        takes: Takes::Number {
            min: 1,
            max: DAY_SECONDS,
        },
        default: "300",
        meaning: "How long a visitor who was let in may stay.",
    },
    Field {
        name: "session_max_seconds",
        unit: "seconds",
        takes: Takes::Number {
            min: 1,
            max: 7 * DAY_SECONDS,
        },
        default: "3600",
        meaning: "How long a stay may become by being extended, counted from the claim; never less than session_seconds.",
    },
    Field {
        name: "pass_seconds",
        unit: "seconds",
        takes: Takes::Number { min: 5, max: 3_600 },
        default: "60",
        meaning: "How long a pass is good for before it must be renewed.",
    },
    Field {
        name: "retain_hours",
        unit: "hours",
        takes: Takes::Number { min: 1, max: 720 },
        default: "24",
        meaning: "How long an entry that is gone is kept in the table.",
    },
    Field {
        name: "re_entry",
        unit: "word",
        takes: Takes::Word(&["keep", "requeue"]),
        default: "keep",
        meaning: "What becomes of a waiting visitor who enters again: the same place, or the back of the line.",
    },
    Field {
        name: "entrance",
        unit: "word",
        takes: Takes::Word(&["open", "draining", "closed"]),
        default: "open",
        meaning: "Who may enter: everybody; nobody new; or nobody, with promotion stopped as well.",
    },
    Field {
        name: "paused",
        unit: "flag",
        takes: Takes::Flag,
        default: "false",
        meaning: "Nobody is promoted and claim deadlines stand still; entering goes on.",
    },
    Field {
        name: "trust_client_visitor_id",
        unit: "flag",
        takes: Takes::Flag,
        default: "false",
        meaning: "Whether the X-Visitor-Id header is believed to name the visitor.",
    },
    Field {
        name: "message",
        unit: "text",
        takes: Takes::Text { max: 500 },
        default: "",
        meaning: "Shown to those who wait.",
    },
    Field {
        name: "target_url",
        unit: "address",
        takes: Takes::Url,
        default: "",
        meaning: "Where the waiting page sends a visitor who was let in.",
    },
];

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
            session_seconds: 300,
            session_max_seconds: 3_600,
            pass_seconds: 60,
            retain_hours: 24,
            re_entry: ReEntry::Keep,
            entrance: Entrance::Open,
            paused: false,
            trust_client_visitor_id: false,
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
            "session_seconds" => self.session_seconds = number(field, value)?,
            "session_max_seconds" => self.session_max_seconds = number(field, value)?,
            "pass_seconds" => self.pass_seconds = number(field, value)?,
            "retain_hours" => self.retain_hours = number(field, value)?,
            "re_entry" => self.re_entry = word(field, value)?,
            "entrance" => self.entrance = word(field, value)?,
            "paused" => self.paused = flag(field, value)?,
            "trust_client_visitor_id" => self.trust_client_visitor_id = flag(field, value)?,
            "message" => self.message = text(field, value)?,
            "target_url" => self.target_url = url(field, value)?,
            other => unreachable!("every name in FIELDS is set above: {other}"),
        }
        Ok(())
    }
}

fn refused(field: &str, reason: impl Into<String>) -> SettingsError {
    SettingsError {
        field: field.to_owned(),
        reason: reason.into(),
    }
}

fn number(field: &Field, value: &Value) -> Result<u32, SettingsError> {
    let Takes::Number { min, max } = field.takes else {
        unreachable!("{} takes a number", field.name)
    };
    let found = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    found
        .and_then(|found| u32::try_from(found).ok())
        .filter(|found| (min..=max).contains(found))
        .ok_or_else(|| {
            refused(
                field.name,
                format!("must be a whole number of {} from {min} to {max}", field.unit),
            )
        })
}

fn word<T: serde::de::DeserializeOwned>(field: &Field, value: &Value) -> Result<T, SettingsError> {
    let Takes::Word(words) = field.takes else {
        unreachable!("{} takes a word", field.name)
    };
    serde_json::from_value(value.clone())
        .map_err(|_| refused(field.name, format!("must be one of: {}", words.join(", "))))
}

fn flag(field: &Field, value: &Value) -> Result<bool, SettingsError> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) => text
            .trim()
            .parse()
            .map_err(|_| refused(field.name, "must be true or false")),
        _ => Err(refused(field.name, "must be true or false")),
    }
}

fn text(field: &Field, value: &Value) -> Result<Option<String>, SettingsError> {
    let Takes::Text { max } = field.takes else {
        unreachable!("{} takes a text", field.name)
    };
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.chars().count() <= max => Ok((!text.is_empty()).then(|| text.clone())),
        _ => Err(refused(
            field.name,
            format!("must be a text of at most {max} characters"),
        )),
    }
}

fn url(field: &Field, value: &Value) -> Result<Option<String>, SettingsError> {
    const MAX: usize = 2_000;
    let loopback = ["http://localhost", "http://127.0.0.1", "http://[::1]"];
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text)
            if text.len() <= MAX && !text.chars().any(|c| c.is_control() || c.is_whitespace()) =>
        {
            // The host must end there: "http://localhost.example.com" is somebody else's.
            let local = loopback.iter().any(|host| {
                text.strip_prefix(host)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '?']))
            });
            let secure = text
                .strip_prefix("https://")
                .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
            if local || secure {
                Ok(Some(text.clone()))
            } else {
                Err(bad_url(field))
            }
        }
        _ => Err(bad_url(field)),
    }
}

fn bad_url(field: &Field) -> SettingsError {
    refused(
        field.name,
        "must be an https address of at most 2000 characters, or an http one of localhost",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: &Value) -> Result<Settings, SettingsError> {
        Settings::from_map(value.as_object().expect("an object"))
    }

    #[test]
    fn the_table_and_the_struct_agree() {
        let defaults = Settings::default();
        let map = defaults.to_map();
        assert_eq!(map.len(), FIELDS.len());
        for field in FIELDS {
            let shown = match &map[field.name] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            assert_eq!(shown, field.default, "{}", field.name);
            let written = json!({ field.name: field.default });
            assert_eq!(
                parse(&written).as_ref(),
                Ok(&defaults),
                "{} as a string",
                field.name
            );
        }
        assert_eq!(
            Settings::from_map(&map),
            Ok(defaults),
            "what is stored reads back"
        );
    }

    #[test]
    fn a_wrong_field_is_refused_by_name() {
        for field in FIELDS {
            for wrong in [
                json!([]),
                json!({}),
                json!(-1),
                json!(1.5),
                json!("\u{7}nonsense".repeat(400)),
            ] {
                let error = parse(&json!({ field.name: wrong })).expect_err("out of range");
                assert_eq!(error.field, field.name, "{wrong}");
            }
            if let Takes::Number { min, max } = field.takes {
                for wrong in [u64::from(min) - 1, u64::from(max) + 1, u64::MAX] {
                    let error = parse(&json!({ field.name: wrong })).expect_err("out of range");
                    assert!(
                        error.to_string().contains(&format!("from {min} to {max}")),
                        "{error}"
                    );
                }
            }
        }
        assert_eq!(parse(&json!({ "batsh": 1 })).expect_err("unknown").field, "batsh");
    }

    #[test]
    fn a_change_leaves_the_other_fields_alone() {
        let before = parse(&json!({ "capacity": 7, "message": "soon" })).expect("valid");
        let after = before
            .clone()
            .with(json!({ "batch": "3" }).as_object().expect("an object"))
            .expect("valid");
        assert_eq!(after, Settings { batch: 3, ..before });
    }

    #[test]
    fn the_longest_session_is_never_shorter_than_a_session() {
        assert_eq!(
            parse(&json!({ "session_seconds": 7200 }))
                .expect("valid")
                .session_max_seconds,
            7200
        );
        let both = json!({ "session_seconds": 7200, "session_max_seconds": 60 });
        assert_eq!(
            parse(&both).expect_err("does not fit").field,
            "session_max_seconds"
        );
    }

    #[test]
    fn a_target_is_https_or_loopback() {
        for good in [
            "https://shop.example/x",
            "http://localhost:3000/",
            "http://127.0.0.1",
        ] {
            assert!(parse(&json!({ "target_url": good })).is_ok(), "{good}");
        }
        for bad in [
            "http://shop.example",
            "javascript:alert(1)",
            "http://localhost.example",
            "https://",
            "https:///x",
        ] {
            assert_eq!(
                parse(&json!({ "target_url": bad })).expect_err(bad).field,
                "target_url"
            );
        }
    }
}
