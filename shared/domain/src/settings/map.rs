//! Reads settings from a map and writes them to one.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    declaration::{FIELDS, SWITCHES, Settings},
    error::{SettingsError, setting_error},
    field::{Field, FieldType},
    words::{BeforeOpening, Visitors},
};
use crate::iso_time::{IsoTimeError, parse_iso, to_iso};

impl Settings {
    /// The defaults, overridden by the given fields. Numbers and flags may be strings, because the AWS
    /// console often stores them as such.
    ///
    /// # Errors
    /// The first field that is unknown, has the wrong type, or is out of its range.
    pub fn from_map(given: &Map<String, Value>) -> Result<Self, SettingsError> {
        Self::default().with_fields(given)
    }

    /// These settings, changed by the given fields. `null` returns a field to its default.
    ///
    /// # Errors
    /// As [`Settings::from_map`].
    pub fn with_fields(mut self, given: &Map<String, Value>) -> Result<Self, SettingsError> {
        let given = &*times_in_ms(given)?;
        for (name, value) in given {
            let field = Field::find(name).ok_or_else(|| {
                let known: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
                setting_error(
                    name,
                    format!("this setting does not exist; use one of: {}", known.join(", ")),
                )
            })?;
            if value.is_null() {
                let defaults = Self::default().to_map();
                self.set_field(field, defaults.get(name).unwrap_or(value))?;
            } else {
                self.set_field(field, value)?;
            }
        }
        if self.session_max_seconds < self.session_seconds {
            // If the operator raises `session_seconds` alone, the maximum follows it. If the
            // operator sets both, they must fit.
            if given
                .get("session_max_seconds")
                .is_some_and(|most| !most.is_null())
            {
                let reason = format!("must be at least session_seconds ({})", self.session_seconds);
                return Err(setting_error("session_max_seconds", reason));
            }
            self.session_max_seconds = self.session_seconds;
        }
        self.check_order_of_times(given)?;
        self.check_chances(given)?;
        self.check_adaptive_bounds(given)?;
        Ok(self)
    }

    /// Refuses times that contradict each other. The error names both.
    fn check_order_of_times(&self, given: &Map<String, Value>) -> Result<(), SettingsError> {
        let times = [
            ("opens_at_ms", self.opens_at_ms),
            ("closes_at_ms", self.closes_at_ms),
            ("ends_at_ms", self.ends_at_ms),
        ];
        let times = times.iter().filter_map(|(name, at_ms)| Some((*name, (*at_ms)?)));
        let times: Vec<_> = times.collect();
        for pair in times.windows(2) {
            let [(earlier, earlier_ms), (later, later_ms)] = [pair[0], pair[1]];
            // A queue that closes or ends when it opens would never be open.
            let is_opening = earlier == "opens_at_ms";
            if later_ms > earlier_ms || (later_ms == earlier_ms && !is_opening) {
                continue;
            }
            let (after, before) = if is_opening {
                ("must be after", "must be before")
            } else {
                ("must not be before", "must not be after")
            };
            return Err(if given.contains_key(later) {
                setting_error(
                    later,
                    format!("{after} {earlier} ({earlier_ms}, {})", to_iso(earlier_ms)),
                )
            } else {
                setting_error(
                    earlier,
                    format!("{before} {later} ({later_ms}, {})", to_iso(later_ms)),
                )
            });
        }
        Ok(())
    }

    /// Refuses an adaptive pace whose bounds contradict each other. The error names both.
    fn check_adaptive_bounds(&self, given: &Map<String, Value>) -> Result<(), SettingsError> {
        let bounds = [
            (
                "load_low",
                self.load_low,
                "load_high",
                self.load_high,
                self.load_low < self.load_high,
            ),
            (
                "batch_min",
                self.batch_min,
                "batch_max",
                self.batch_max,
                self.batch_min <= self.batch_max,
            ),
        ];
        for (lower, least, upper, most, fits) in bounds {
            if !self.adaptive || fits {
                continue;
            }
            return Err(if given.contains_key(lower) && !given.contains_key(upper) {
                setting_error(
                    lower,
                    format!("must be below {upper} ({most}) while adaptive is true"),
                )
            } else {
                setting_error(
                    upper,
                    format!("must be above {lower} ({least}) while adaptive is true"),
                )
            });
        }
        Ok(())
    }

    /// Refuses a draw in which a person has as many chances as browsers, unless that is meant. The error names both
    /// settings.
    fn check_chances(&self, given: &Map<String, Value>) -> Result<(), SettingsError> {
        let is_draw = self.before_opening == BeforeOpening::Draw;
        if !is_draw || self.visitors != Visitors::Anyone || self.draw_anyone {
            return Ok(());
        }
        Err(
            if given.contains_key("before_opening") || !given.contains_key("visitors") {
                let reason = "draw gives each browser a chance while visitors is anyone: set visitors to known or ticket, or \
                          draw_anyone to true";
                setting_error("before_opening", reason.to_owned())
            } else {
                let reason = "anyone gives each browser a chance while before_opening is draw: set draw_anyone to true if you \
                          mean it";
                setting_error("visitors", reason.to_owned())
            },
        )
    }

    /// These settings, changed by the valid [`SWITCHES`] among the given fields. All other fields are
    /// ignored.
    #[must_use]
    pub fn with_switches(mut self, given: &Map<String, Value>) -> Self {
        for field in FIELDS.iter().filter(|field| SWITCHES.contains(&field.name)) {
            if let Some(value) = given.get(field.name) {
                // An invalid switch keeps its old value here. `with_fields`, which reads all
                // fields, reports it.
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
}

/// Puts in place of each time that is a text, such as `opens_at`, the setting in Unix milliseconds, `opens_at_ms`. Operators
/// may write either, in commands and in the table. Vestibule stores the milliseconds, and `null` for a time that is not set, so
/// a text beside `null` counts.
///
/// # Errors
/// The first time that is no text with an offset, or that is set in both forms.
pub fn times_in_ms(given: &Map<String, Value>) -> Result<Cow<'_, Map<String, Value>>, SettingsError> {
    let mut replaced = Cow::Borrowed(given);
    for field in FIELDS.iter().filter(|field| field.field_type == FieldType::Time) {
        let name = field.text_name();
        let Some(value) = given.get(name) else {
            continue;
        };
        let refuse = |reason: String| setting_error(name, reason);
        if given.get(field.name).is_some_and(|at_ms| !at_ms.is_null()) {
            return Err(refuse(format!(
                "must not be given together with {}; remove one of the two",
                field.name
            )));
        }
        let at_ms = match value {
            Value::Null => Value::Null,
            Value::String(text) if text.trim().is_empty() => Value::Null,
            Value::String(text) => parse_iso(text).map_err(|error| refuse(error.to_string()))?.into(),
            _ => return Err(refuse(IsoTimeError::NoTime.to_string())),
        };
        let map = replaced.to_mut();
        map.remove(name);
        map.insert(field.name.to_owned(), at_ms);
    }
    Ok(replaced)
}

impl Field {
    /// The name under which a time may be given as a text: that of the setting without its unit.
    pub fn text_name(&self) -> &'static str {
        self.name.trim_end_matches("_ms")
    }

    /// Returns the default as an operator would write it. It is empty if the setting is absent by
    /// default.
    pub fn default_text(&self) -> String {
        match &Settings::default().to_map()[self.name] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }
}
