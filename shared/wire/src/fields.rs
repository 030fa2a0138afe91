//! Reads the fields of a request, so that a refusal names the invalid one and says what it must be.

use serde::{Deserialize, Deserializer, de::Error};
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
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = error.path().to_string();
        let text = error.into_inner().to_string();
        let detail = if text.starts_with("unknown field") {
            "is not a field of this request".to_owned()
        } else {
            text
        };
        InvalidField { field, detail }
    })
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
