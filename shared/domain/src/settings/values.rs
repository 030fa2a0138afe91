//! Parses the value of one setting as an operator may have written it.

use serde_json::Value;

use super::{Field, SettingsError, Takes};

pub(super) fn refused(field: &str, reason: impl Into<String>) -> SettingsError {
    SettingsError {
        field: field.to_owned(),
        reason: reason.into(),
    }
}

pub(super) fn number(field: &Field, value: &Value) -> Result<u32, SettingsError> {
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

pub(super) fn word<T: serde::de::DeserializeOwned>(field: &Field, value: &Value) -> Result<T, SettingsError> {
    let Takes::Word(words) = field.takes else {
        unreachable!("{} takes a word", field.name)
    };
    serde_json::from_value(value.clone())
        .map_err(|_| refused(field.name, format!("must be one of: {}", words.join(", "))))
}

pub(super) fn flag(field: &Field, value: &Value) -> Result<bool, SettingsError> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) => text
            .trim()
            .parse()
            .map_err(|_| refused(field.name, "must be true or false")),
        _ => Err(refused(field.name, "must be true or false")),
    }
}

pub(super) fn text(field: &Field, value: &Value) -> Result<Option<String>, SettingsError> {
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

pub(super) fn url(field: &Field, value: &Value) -> Result<Option<String>, SettingsError> {
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
                Err(bad_url(field))
            }
        }
        _ => Err(bad_url(field)),
    }
}

fn bad_url(field: &Field) -> SettingsError {
    refused(
        field.name,
        "must be an https URL of at most 2000 characters, or an http URL of localhost",
    )
}
