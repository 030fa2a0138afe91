//! Queues as items of the table, and back.
//!
//! ```text
//! queue   S   partition key: the queue id
//! part    S   sort key: "settings" or "line"
//! settings                  M   in part "settings", which operators edit: plain values, by the names of the settings
//! settings_order            N   in part "settings": how often Vestibule replaced them; absent means 0
//! epoch, generation, salt       in part "line", which is Vestibule's own
//! ```

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Map, Number, Value};

use super::items::{Item, nonsense, number, required, text};
use crate::{
    backup::{BackupError, LinePart, StoredQueue},
    domain::id::{QueueId, Salt},
};

pub(super) const QUEUE: &str = "queue";
pub(super) const PART: &str = "part";
pub(super) const SETTINGS: &str = "settings";
const SETTINGS_ORDER: &str = "settings_order";
pub(super) const SETTINGS_PART: &str = "settings";
const LINE_PART: &str = "line";
const EPOCH: &str = "epoch";
const GENERATION: &str = "generation";
const SALT: &str = "salt";

/// The key of one part of a queue.
pub(super) fn key(queue: &str, part: &str) -> Item {
    HashMap::from([
        (QUEUE.to_owned(), AttributeValue::S(queue.to_owned())),
        (PART.to_owned(), AttributeValue::S(part.to_owned())),
    ])
}

/// Both parts of a queue.
pub(super) fn parts(queue: &QueueId, stored: &StoredQueue) -> [Item; 2] {
    let mut settings = key(queue.as_str(), SETTINGS_PART);
    settings.insert(SETTINGS.to_owned(), from_settings(&stored.settings));
    settings.insert(SETTINGS_ORDER.to_owned(), number(stored.settings_order));
    let mut line = key(queue.as_str(), LINE_PART);
    line.extend([
        (EPOCH.to_owned(), number(stored.line.epoch)),
        (GENERATION.to_owned(), number(stored.line.generation)),
        (SALT.to_owned(), AttributeValue::S(stored.line.salt.to_text())),
    ]);
    [settings, line]
}

/// The queue of its parts; `None` where there are none.
///
/// # Errors
/// [`BackupError::Nonsense`] where only one part is there, or an attribute is not what it should be.
pub(super) fn stored(items: &[Item]) -> Result<Option<StoredQueue>, BackupError> {
    let part = |name| {
        items
            .iter()
            .find(|item| text(item, PART).is_ok_and(|part| part == name))
    };
    let (settings, line) = match (part(SETTINGS_PART), part(LINE_PART)) {
        (None, None) => return Ok(None),
        (Some(settings), Some(line)) => (settings, line),
        (None, Some(_)) => return Err(lacks(SETTINGS_PART)),
        (Some(_), None) => return Err(lacks(LINE_PART)),
    };
    Ok(Some(StoredQueue {
        settings: to_settings(settings)?,
        settings_order: to_settings_order(settings)?,
        line: LinePart {
            epoch: required(line, EPOCH)?,
            generation: required(line, GENERATION)?,
            salt: Salt::from_text(text(line, SALT)?).ok_or_else(|| nonsense(SALT))?,
        },
    }))
}

fn lacks(part: &str) -> BackupError {
    BackupError::Nonsense(format!("the queue has no part {part:?}"))
}

/// The settings as the attribute that holds them.
pub(super) fn from_settings(settings: &Map<String, Value>) -> AttributeValue {
    let named = settings.iter().map(|(name, value)| (name.clone(), plain(value)));
    AttributeValue::M(named.collect())
}

fn plain(value: &Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null(true),
        Value::Bool(flag) => AttributeValue::Bool(*flag),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        Value::String(text) => AttributeValue::S(text.clone()),
        Value::Array(values) => AttributeValue::L(values.iter().map(plain).collect()),
        Value::Object(map) => from_settings(map),
    }
}

/// The settings that an item of part `settings` holds.
///
/// # Errors
/// [`BackupError::Nonsense`] where there are none, or one is of a type that no setting has: it is named.
pub(super) fn to_settings(item: &Item) -> Result<Map<String, Value>, BackupError> {
    let map = item.get(SETTINGS).and_then(|value| value.as_m().ok());
    object(SETTINGS, map.ok_or_else(|| nonsense(SETTINGS))?)
}

/// How often they were replaced.
///
/// # Errors
/// [`BackupError::Nonsense`] where the attribute is there and no whole number.
pub(super) fn to_settings_order(item: &Item) -> Result<u64, BackupError> {
    // An item that was made by hand, or before there was such a number, has none.
    if item.contains_key(SETTINGS_ORDER) {
        required(item, SETTINGS_ORDER)
    } else {
        Ok(0)
    }
}

fn object(path: &str, map: &Item) -> Result<Map<String, Value>, BackupError> {
    map.iter()
        .map(|(name, value)| Ok((name.clone(), json(&format!("{path}.{name}"), value)?)))
        .collect()
}

fn json(path: &str, value: &AttributeValue) -> Result<Value, BackupError> {
    Ok(match value {
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::Bool(flag) => Value::Bool(*flag),
        AttributeValue::N(digits) => Value::Number(parse_number(digits).ok_or_else(|| nonsense(path))?),
        AttributeValue::S(text) => Value::String(text.clone()),
        AttributeValue::L(values) => values
            .iter()
            .map(|value| json(path, value))
            .collect::<Result<_, _>>()?,
        AttributeValue::M(map) => Value::Object(object(path, map)?),
        _ => return Err(nonsense(path)),
    })
}

fn parse_number(digits: &str) -> Option<Number> {
    let whole = digits.parse::<u64>().map(Number::from);
    let whole = whole.or_else(|_| digits.parse::<i64>().map(Number::from));
    whole.ok().or_else(|| Number::from_f64(digits.parse().ok()?))
}
