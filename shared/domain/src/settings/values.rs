//! Parses the value of one setting as an operator may have written it.

use serde_json::Value;

use super::{Field, FieldType, SettingsError};

pub(super) fn setting_error(field: &str, reason: impl Into<String>) -> SettingsError {
    SettingsError {
        field: field.to_owned(),
        reason: reason.into(),
    }
}

pub(super) fn parse_number(field: &Field, value: &Value) -> Result<u32, SettingsError> {
    let FieldType::Number { min, max } = field.field_type else {
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
            setting_error(
                field.name,
                format!("must be a whole number of {} from {min} to {max}", field.unit),
            )
        })
}

pub(super) fn parse_word<T: serde::de::DeserializeOwned>(
    field: &Field,
    value: &Value,
) -> Result<T, SettingsError> {
    let FieldType::Word(words) = field.field_type else {
        unreachable!("{} takes a word", field.name)
    };
    serde_json::from_value(value.clone())
        .map_err(|_| setting_error(field.name, format!("must be one of: {}", words.join(", "))))
}

pub(super) fn parse_flag(field: &Field, value: &Value) -> Result<bool, SettingsError> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) => text
            .trim()
            .parse()
            .map_err(|_| setting_error(field.name, "must be true or false")),
        _ => Err(setting_error(field.name, "must be true or false")),
    }
}

pub(super) fn parse_text(field: &Field, value: &Value) -> Result<Option<String>, SettingsError> {
    let FieldType::Text { max } = field.field_type else {
        unreachable!("{} takes a text", field.name)
    };
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.chars().count() <= max => Ok((!text.is_empty()).then(|| text.clone())),
        _ => Err(setting_error(
            field.name,
            format!("must be a text of at most {max} characters"),
        )),
    }
}

pub(super) fn parse_url(field: &Field, value: &Value) -> Result<Option<String>, SettingsError> {
    const MAX: usize = 2_000;
    let loopback = ["http://localhost", "http://127.0.0.1", "http://[::1]"];
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text)
            if text.len() <= MAX && !text.chars().any(|c| c.is_control() || c.is_whitespace()) =>
        {
            // The host must end here: "http://localhost.example.com" belongs to another owner.
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
                Err(url_error(field))
            }
        }
        _ => Err(url_error(field)),
    }
}

fn url_error(field: &Field) -> SettingsError {
    setting_error(
        field.name,
        "must be an https URL of at most 2000 characters, or an http URL of localhost",
    )
}
