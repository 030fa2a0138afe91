//! What the declaration says of one setting.

use super::error::{SettingsError, setting_error};

/// The most characters of a URL.
pub(super) const URL_CHARACTERS_MAX: usize = 2_000;

/// The first and the last moment that a setting may name, in Unix milliseconds. A time in seconds or
/// microseconds is out of this range.
pub(super) const TIME_MS_MIN: u64 = 1_000_000_000_000;
pub(super) const TIME_MS_MAX: u64 = 9_999_999_999_999;

/// The values that a field accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A whole number within a range, both ends included.
    Number {
        /// The smallest value.
        min: u32,
        /// The largest value.
        max: u32,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A moment, in Unix milliseconds. `null` or an empty text clears it.
    Time,
    /// A text of limited length, or an object of such texts by language. `null` or an empty text clears it.
    Message {
        /// The most characters of each text.
        max: usize,
    },
    /// A list of blocks, each an object with `token` or `source`, and perhaps with `until_ms`.
    Blocks {
        /// The most blocks.
        max: usize,
    },
    /// An `https` URL, or an `http` URL of the loopback host. `null` or an empty text clears it.
    Url,
    /// A JWK set of public keys, or a JSON text of one. `null` or an empty text clears it.
    PublicKeys,
}

/// One setting: its name, unit, range and meaning.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name of the setting.
    pub name: &'static str,
    /// The unit, or what the value counts.
    pub unit: &'static str,
    /// The values that the setting accepts.
    pub field_type: FieldType,
    /// Whether Redis scripts read the setting. If so, the hash `config` has a field for it beside
    /// the JSON of all settings.
    pub is_read_by_scripts: bool,
    /// The effect of the setting.
    pub meaning: &'static str,
}

impl Field {
    /// Returns the error for a value that the setting does not accept. It says what a valid value
    /// looks like.
    pub(super) fn refuse_value(&self) -> SettingsError {
        let reason = match self.field_type {
            FieldType::Number { min, max } => {
                format!("must be a whole number of {} from {min} to {max}", self.unit)
            }
            FieldType::Word(words) => format!("must be one of: {}", words.join(", ")),
            FieldType::Flag => "must be true or false".to_owned(),
            FieldType::Time => {
                format!(
                    "must be a time in Unix milliseconds from {TIME_MS_MIN} to {TIME_MS_MAX}, or null; or give {} as a text, such \
                     as \"2026-12-24T20:00:00+09:00\"",
                    self.text_name()
                )
            }
            FieldType::Message { max } => format!("must be a text of at most {max} characters"),
            FieldType::Blocks { max } => format!(
                "must be a list of at most {max} objects with a token or a source, each given once, and perhaps with until_ms"
            ),
            FieldType::Url => format!(
                "must be an https URL of at most {URL_CHARACTERS_MAX} characters, or an http URL of localhost, without a \
                 login; {{pass}} and {{return}} may stand in its path, query or fragment"
            ),
            FieldType::PublicKeys => "must be a JWK set of public keys".to_owned(),
        };
        setting_error(self.name, reason)
    }
}
