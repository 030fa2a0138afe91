//! Parses the value of one setting as an operator may have written it.

use serde_json::Value;

use super::{
    error::SettingsError,
    field::{Field, FieldType, URL_CHARACTERS_MAX},
};

/// The loopback host, the only one to which a URL may lead without TLS.
const LOOPBACK: [&str; 3] = ["http://localhost", "http://127.0.0.1", "http://[::1]"];

/// A type that a setting can have. Numbers and flags may be strings, because the AWS console often
/// stores them as such.
pub(super) trait SettingValue: Sized {
    /// Parses a value of the field.
    ///
    /// # Errors
    /// The value is not one that the field accepts.
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError>;
}

impl SettingValue for u32 {
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError> {
        let FieldType::Number { min, max } = field.field_type else {
            unreachable!("{} takes a number", field.name)
        };
        let found = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        found
            .and_then(|found| Self::try_from(found).ok())
            .filter(|found| (min..=max).contains(found))
            .ok_or_else(|| field.refuse_value())
    }
}

impl SettingValue for bool {
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            Value::String(text) => text.trim().parse().map_err(|_| field.refuse_value()),
            _ => Err(field.refuse_value()),
        }
    }
}

/// A text or a URL. `null` and an empty text mean that the setting is absent.
impl SettingValue for Option<String> {
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError> {
        let is_valid = |text: &str| match field.field_type {
            FieldType::Text { max } => text.chars().count() <= max,
            FieldType::Url => is_valid_url(text),
            _ => unreachable!("{} takes a text or a URL", field.name),
        };
        match value {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() => Ok(None),
            Value::String(text) if is_valid(text) => Ok(Some(text.clone())),
            _ => Err(field.refuse_value()),
        }
    }
}

fn is_valid_url(text: &str) -> bool {
    if text.len() > URL_CHARACTERS_MAX || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return false;
    }
    // The host must end here: "http://localhost.example.com" belongs to another owner.
    let is_local = LOOPBACK.iter().any(|host| {
        text.strip_prefix(host)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '?']))
    });
    let is_secure = text
        .strip_prefix("https://")
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    is_local || is_secure
}
