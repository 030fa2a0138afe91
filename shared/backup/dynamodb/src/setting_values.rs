//! Converts stored settings to attributes of DynamoDB, and back.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Number, Value, json};
use vestibule_backup::StoredSettings;

use super::entry_items::Item;

/// The attribute that holds the settings.
pub(super) const SETTINGS: &str = "settings";

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
    use std::collections::HashMap;

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
