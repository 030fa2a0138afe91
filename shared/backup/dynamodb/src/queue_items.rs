//! Converts queues to items of the queues table, and back.
//!
//! ```text
//! queue   S   partition key: the queue id
//! part    S   sort key: "settings" or "line"; default_items.rs describes the items with "defaults"
//! settings                  M   in part "settings", which operators edit: plain values, by the names of the settings;
//!                               any other type is read as well, and rejected with the name of the setting
//! settings_order            N   in part "settings": how often Vestibule replaced them; absent means 0
//! layout, epoch, generation, min_epoch, salt, fence, opened_at_ms, lease_holder, lease_until_ms
//!                               in part "line": Vestibule's own metadata
//! ```

use std::{collections::HashMap, str::FromStr};

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Number, Value, json};
use vestibule_backup::{BackupError, Lease, QueueMetadata, StoredQueue, StoredSettings};
use vestibule_domain::{
    configuration::LAYOUT_UNNUMBERED,
    id::{QueueId, Salt},
};

use super::entry_items::{Item, invalid_attribute_error, number, required_number, required_text};

pub(super) const QUEUE: &str = "queue";
pub(super) const PART: &str = "part";
pub(super) const SETTINGS: &str = "settings";
const SETTINGS_ORDER: &str = "settings_order";
pub(super) const SETTINGS_PART: &str = "settings";
pub(super) const METADATA_PART: &str = "line";
const LAYOUT: &str = "layout";
const EPOCH: &str = "epoch";
const GENERATION: &str = "generation";
const MIN_EPOCH: &str = "min_epoch";
const SALT: &str = "salt";
const FENCE: &str = "fence";
const OPENED_AT_MS: &str = "opened_at_ms";
const LEASE_HOLDER: &str = "lease_holder";
const LEASE_UNTIL_MS: &str = "lease_until_ms";

/// The key of one item of a queue.
pub(super) fn key(queue: &str, part: &str) -> Item {
    HashMap::from([
        (QUEUE.to_owned(), AttributeValue::S(queue.to_owned())),
        (PART.to_owned(), AttributeValue::S(part.to_owned())),
    ])
}

/// Both items of a queue.
pub(super) fn to_items(queue: &QueueId, stored: &StoredQueue) -> [Item; 2] {
    let mut settings = key(queue.as_str(), SETTINGS_PART);
    if let Some(stored) = from_stored(&stored.settings) {
        settings.insert(SETTINGS.to_owned(), stored);
    }
    settings.insert(SETTINGS_ORDER.to_owned(), number(stored.settings_order));
    let mut line = key(queue.as_str(), METADATA_PART);
    let part = &stored.metadata;
    line.extend([
        (LAYOUT.to_owned(), number(part.layout)),
        (EPOCH.to_owned(), number(part.epoch)),
        (GENERATION.to_owned(), number(part.generation)),
        (MIN_EPOCH.to_owned(), number(part.min_epoch)),
        (SALT.to_owned(), AttributeValue::S(part.salt.to_text())),
        (FENCE.to_owned(), number(part.watermark)),
    ]);
    if let Some(at_ms) = part.opened_at_ms {
        line.insert(OPENED_AT_MS.to_owned(), number(at_ms));
    }
    if let Some(lease) = part.lease {
        line.extend([
            (
                LEASE_HOLDER.to_owned(),
                AttributeValue::S(lease.holder.to_string()),
            ),
            (LEASE_UNTIL_MS.to_owned(), number(lease.until_ms)),
        ]);
    }
    [settings, line]
}

/// Parses a queue from its items; `None` if it has none.
///
/// # Errors
/// [`BackupError::Unreadable`] if only one of the two items exists, or an attribute is missing or
/// invalid.
pub(super) fn from_items(items: &[Item]) -> Result<Option<StoredQueue>, BackupError> {
    let part = |name| {
        items
            .iter()
            .find(|item| required_text(item, PART).is_ok_and(|part| part == name))
    };
    let (settings, line) = match (part(SETTINGS_PART), part(METADATA_PART)) {
        (None, None) => return Ok(None),
        (Some(settings), Some(line)) => (settings, line),
        (None, Some(_)) => return Err(missing_part_error(SETTINGS_PART)),
        (Some(_), None) => return Err(missing_part_error(METADATA_PART)),
    };
    Ok(Some(StoredQueue {
        settings: to_settings(settings),
        settings_order: to_settings_order(settings)?,
        metadata: to_metadata(line)?,
    }))
}

/// Parses the metadata in an item of part `line`.
///
/// # Errors
/// [`BackupError::Unreadable`] with the name of the first attribute that is missing or invalid.
pub(super) fn to_metadata(item: &Item) -> Result<QueueMetadata, BackupError> {
    Ok(QueueMetadata {
        layout: if item.contains_key(LAYOUT) {
            required_number(item, LAYOUT)?
        } else {
            LAYOUT_UNNUMBERED
        },
        epoch: required_number(item, EPOCH)?,
        generation: required_number(item, GENERATION)?,
        // Items from before resets and watermarks existed lack both attributes.
        min_epoch: number_or_zero(item, MIN_EPOCH)?,
        salt: Salt::from_text(required_text(item, SALT)?).ok_or_else(|| invalid_attribute_error(SALT))?,
        watermark: number_or_zero(item, FENCE)?,
        // A reset leaves 0.
        opened_at_ms: Some(number_or_zero(item, OPENED_AT_MS)?).filter(|at_ms| *at_ms > 0),
        lease: item
            .contains_key(LEASE_HOLDER)
            .then(|| to_lease(item))
            .transpose()?,
    })
}

fn to_lease(item: &Item) -> Result<Lease, BackupError> {
    let holder = required_text(item, LEASE_HOLDER)?.parse();
    Ok(Lease {
        holder: holder.map_err(|_| invalid_attribute_error(LEASE_HOLDER))?,
        until_ms: required_number(item, LEASE_UNTIL_MS)?,
    })
}

fn missing_part_error(part: &str) -> BackupError {
    BackupError::Unreadable(format!(
        "the queue has no item with part {part:?} in the queues table"
    ))
}

/// Converts settings to the attribute that holds them.
pub(super) fn from_settings(settings: &Map<String, Value>) -> AttributeValue {
    let named = settings
        .iter()
        .map(|(name, value)| (name.clone(), from_json(value)));
    AttributeValue::M(named.collect())
}

/// Converts stored settings to their attribute; `None` if they are absent.
pub(super) fn from_stored(settings: &StoredSettings) -> Option<AttributeValue> {
    match settings {
        StoredSettings::Map(map) => Some(from_settings(map)),
        StoredSettings::Other(value) => Some(from_json(value)),
        StoredSettings::Missing => None,
    }
}

/// Reads the settings in an item of part `settings`, valid or not.
pub(super) fn to_settings(item: &Item) -> StoredSettings {
    match item.get(SETTINGS) {
        Some(AttributeValue::M(map)) => StoredSettings::Map(to_json_object(map)),
        Some(other) => StoredSettings::Other(to_json(other)),
        None => StoredSettings::Missing,
    }
}

/// How often Vestibule replaced the settings.
///
/// # Errors
/// [`BackupError::Unreadable`] if the attribute exists and is not an integer.
pub(super) fn to_settings_order(item: &Item) -> Result<u64, BackupError> {
    // An item that was made by hand, or before the number existed, lacks it.
    number_or_zero(item, SETTINGS_ORDER)
}

fn number_or_zero<T: FromStr + Default>(item: &Item, name: &str) -> Result<T, BackupError> {
    if item.contains_key(name) {
        required_number(item, name)
    } else {
        Ok(T::default())
    }
}

fn to_json_object(map: &Item) -> Map<String, Value> {
    map.iter()
        .map(|(name, value)| (name.clone(), to_json(value)))
        .collect()
}

/// The DynamoDB types that JSON lacks. A value of such a type is read as an object with its type as
/// the only key, like the console's DynamoDB JSON. No setting takes an object, so the value is
/// rejected and shown. It also stays distinct from a value that replaces it later. A map that only
/// looks like one of these objects is wrapped in an `M`.
const TYPE_TAGS: [&str; 6] = ["N", "B", "SS", "NS", "BS", "M"];

fn to_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::Bool(flag) => Value::Bool(*flag),
        AttributeValue::N(digits) => {
            to_exact_number(digits).map_or_else(|| json!({ "N": digits }), Value::Number)
        }
        AttributeValue::S(text) => Value::String(text.clone()),
        AttributeValue::L(values) => values.iter().map(to_json).collect(),
        AttributeValue::M(map)
            if map.len() == 1 && map.keys().all(|name| TYPE_TAGS.contains(&name.as_str())) =>
        {
            json!({ "M": to_json_object(map) })
        }
        AttributeValue::M(map) => Value::Object(to_json_object(map)),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::B(bytes) => json!({ "B": STANDARD.encode(bytes) }),
        AttributeValue::Bs(all) => {
            json!({ "BS": all.iter().map(|bytes| STANDARD.encode(bytes)).collect::<Vec<_>>() })
        }
        // A type that the SDK added after this was written.
        _ => json!({ "?": null }),
    }
}

/// The inverse of [`json`].
fn from_json(value: &Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null(true),
        Value::Bool(flag) => AttributeValue::Bool(*flag),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        Value::String(text) => AttributeValue::S(text.clone()),
        Value::Array(values) => AttributeValue::L(values.iter().map(from_json).collect()),
        Value::Object(map) => from_tagged_object(map).unwrap_or_else(|| from_settings(map)),
    }
}

fn from_tagged_object(map: &Map<String, Value>) -> Option<AttributeValue> {
    let (tag, value) = map.iter().next().filter(|_| map.len() == 1)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let bytes = |value: &Value| STANDARD.decode(value.as_str()?).ok().map(Blob::new);
    Some(match tag.as_str() {
        "N" => AttributeValue::N(text(value)?),
        "B" => AttributeValue::B(bytes(value)?),
        "SS" => AttributeValue::Ss(value.as_array()?.iter().map(text).collect::<Option<_>>()?),
        "NS" => AttributeValue::Ns(value.as_array()?.iter().map(text).collect::<Option<_>>()?),
        "BS" => AttributeValue::Bs(value.as_array()?.iter().map(bytes).collect::<Option<_>>()?),
        "M" => from_settings(value.as_object()?),
        _ => return None,
    })
}

/// The number with exactly these digits, if JSON can hold all of them.
fn to_exact_number(digits: &str) -> Option<Number> {
    let whole = digits.parse::<u64>().map(Number::from);
    let whole = whole.or_else(|_| digits.parse::<i64>().map(Number::from));
    let number = whole.ok().or_else(|| Number::from_f64(digits.parse().ok()?))?;
    (number.to_string() == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of any type that was put there by hand can be read. The next replacement expects it
    /// exactly as it was.
    #[test]
    fn attribute_of_any_type_round_trips_through_json() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let digits = |digits: &str| AttributeValue::N(digits.to_owned());
        let map = |name: &str, value| AttributeValue::M([(name.to_owned(), value)].into());
        let blob = || Blob::new([0, 159]);
        let values = [
            AttributeValue::Null(true),
            AttributeValue::Bool(true),
            text("100"),
            digits("100"),
            digits("-1"),
            digits("1.5"),
            digits("12345678901234567890123456789012345678"),
            AttributeValue::L(vec![text("a"), digits("1")]),
            AttributeValue::Ss(vec!["a".to_owned()]),
            AttributeValue::Ns(vec!["1".to_owned()]),
            AttributeValue::B(blob()),
            AttributeValue::Bs(vec![blob()]),
            map("capacity", digits("100")),
            // DynamoDB JSON that an operator pasted as plain JSON.
            map("N", text("100")),
            map("M", map("N", text("100"))),
            map("SS", AttributeValue::L(vec![text("a")])),
        ];
        for value in values {
            assert_eq!(from_json(&to_json(&value)), value);
            for stored in [value.clone(), map("capacity", value)] {
                let item = HashMap::from([(SETTINGS.to_owned(), stored.clone())]);
                assert_eq!(from_stored(&to_settings(&item)), Some(stored));
            }
        }
        assert_eq!(to_settings(&HashMap::new()), StoredSettings::Missing);
    }
}
