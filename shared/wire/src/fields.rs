//! Reads the fields of a request, so that a refusal names the invalid one and says what it must be.

use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor, value},
    forward_to_deserialize_any,
};
use serde_json::Value;
use vestibule_domain::{
    consumption::{UseId, UseIdError},
    number::whole_number,
    score::Visit,
};

/// What a field must be that names a visit.
pub const VISIT: &str = "must be the number of a visit: a whole number below 2^49";

/// A part of a request that is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidField {
    /// The name of the field, or `body`.
    pub field: String,
    /// What it must be.
    pub detail: String,
}

/// Reads the body of a request. An empty one has no fields.
///
/// # Errors
/// The first part that is not valid.
pub fn parse_request<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, InvalidField> {
    let is_empty = body.iter().all(u8::is_ascii_whitespace);
    let invalid_body = |detail: String| InvalidField {
        field: "body".to_owned(),
        detail,
    };
    let value = match serde_json::from_slice(if is_empty { b"{}" } else { body }) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => return Err(invalid_body("must be a JSON object".to_owned())),
        // The detail gives only the position, because the text belongs to the sender.
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            return Err(invalid_body(format!(
                "is not valid JSON at line {line}, column {column}"
            )));
        }
    };
    read_fields(value, "is not a field of this request")
}

/// Reads the fields of an object. `unknown` says what is wrong with one that it does not have.
///
/// # Errors
/// The first part that is not valid.
pub(super) fn read_fields<T: for<'de> Deserialize<'de>>(
    value: Value,
    unknown: &str,
) -> Result<T, InvalidField> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let text = error.into_inner().to_string();
        if let Some(name) = text.strip_prefix("missing field `") {
            return InvalidField {
                field: name.trim_end_matches('`').to_owned(),
                detail: "is missing".to_owned(),
            };
        }
        let detail = if text.starts_with("unknown field") {
            unknown.to_owned()
        } else {
            in_our_words(&text)
        };
        InvalidField { field: path, detail }
    })
}

/// What serde says of a value, in the words of a refusal: what it must be.
fn in_our_words(text: &str) -> String {
    if text.starts_with("invalid type: null,") {
        return "is missing".to_owned();
    }
    // What was given comes first, and may contain anything.
    let (said, expected) = text.rsplit_once(", expected ").unwrap_or((text, ""));
    match expected {
        "" => text.to_owned(),
        "a boolean" => "must be true or false".to_owned(),
        words if said.starts_with("unknown variant") => format!("must be {}", words.replace('`', "")),
        kind => format!("must be {kind}"),
    }
}

/// The names of the fields of a struct that serde reads.
pub(super) fn field_names<T: for<'de> Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // It ends with an error as soon as the names are known.
    let _ = T::deserialize(FieldNames(&mut names));
    names
}

struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Error::custom("there is no value"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A text.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) => Ok(Some(text)),
        _ => Err(Error::custom("must be a string")),
    }
}

/// True or false.
pub(super) fn truth<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    let is_true = Value::deserialize(from)?.as_bool();
    is_true.ok_or_else(|| Error::custom("must be true or false"))
}

/// A whole number within these bounds.
pub(super) fn number<'de, D: Deserializer<'de>, const MIN: u32, const MAX: u32>(
    from: D,
) -> Result<Option<u32>, D::Error> {
    let number = whole_number(&Value::deserialize(from)?);
    let number = number.and_then(|number| u32::try_from(number).ok());
    match number.filter(|number| (MIN..=MAX).contains(number)) {
        None => Err(Error::custom(format!(
            "must be a whole number from {MIN} to {MAX}"
        ))),
        within => Ok(within),
    }
}

/// The number of a visit.
pub(super) fn visit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Visit>, D::Error> {
    match whole_number(&Value::deserialize(from)?).and_then(Visit::new) {
        None => Err(Error::custom(VISIT)),
        visit => Ok(visit),
    }
}

/// The id of a use.
pub(super) fn use_id<'de, D: Deserializer<'de>>(from: D) -> Result<Option<UseId>, D::Error> {
    let text = text(from)?.unwrap_or_default();
    let id = text.parse().map_err(|error: UseIdError| Error::custom(error));
    id.map(Some)
}
