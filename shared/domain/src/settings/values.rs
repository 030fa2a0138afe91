//! Parses the value of one setting as an operator may have written it.

use serde_json::Value;
use url::{Host, Url};

use super::{
    error::{SettingsError, setting_error},
    field::{Field, FieldType, TIME_MS_MAX, TIME_MS_MIN, URL_CHARACTERS_MAX},
    ticket_keys::TicketKeys,
};
use crate::number::whole_number;

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
            Value::Number(_) => whole_number(value),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        found
            .and_then(|found| Self::try_from(found).ok())
            .filter(|found| (min..=max).contains(found))
            .ok_or_else(|| field.refuse_value())
    }
}

/// A moment. `null` and an empty text mean that the setting is absent.
impl SettingValue for Option<u64> {
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError> {
        let found = match value {
            Value::Null => return Ok(None),
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::Number(_) => whole_number(value),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        found
            .filter(|at_ms| (TIME_MS_MIN..=TIME_MS_MAX).contains(at_ms))
            .map(Some)
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

/// A URL. `null` and an empty text mean that the setting is absent.
impl SettingValue for Option<String> {
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError> {
        if field.field_type != FieldType::Url {
            unreachable!("{} takes a URL", field.name);
        }
        match value {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() => Ok(None),
            Value::String(text) if is_valid_target(text) => Ok(Some(text.clone())),
            _ => Err(field.refuse_value()),
        }
    }
}

/// A JWK set. `null` and an empty text mean that the setting is absent.
impl SettingValue for Option<TicketKeys> {
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) if text.trim().is_empty() => Ok(None),
            set => TicketKeys::parse(set)
                .map(Some)
                .map_err(|reason| setting_error(field.name, reason)),
        }
    }
}

/// Whether the text is the template of an address: an https URL, or an http URL of this machine, in whose
/// path, query or fragment `{pass}` and `{return}` may stand.
fn is_valid_target(text: &str) -> bool {
    let is_too_long = text.len() > URL_CHARACTERS_MAX;
    if is_too_long
        || text
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return false;
    }
    // The parser skips further slashes.
    let has_host = text
        .split_once("://")
        .is_some_and(|(_, rest)| !rest.starts_with('/'));
    let fill = |value: &str| {
        let filled = text.replace("{pass}", value).replace("{return}", value);
        Url::parse(&filled).ok().filter(|_| !filled.contains(['{', '}']))
    };
    let (Some(one), Some(other)) = (fill("a"), fill("b")) else {
        return false;
    };
    let is_local = match one.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_secure = one.scheme() == "https" || (one.scheme() == "http" && is_local);
    let has_login = !one.username().is_empty() || one.password().is_some();
    has_host && is_secure && !has_login && one.origin() == other.origin()
}
