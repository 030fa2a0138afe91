//! The values that fields of commands take.

use serde::{
    Deserialize, Deserializer,
    de::{Error, IntoDeserializer},
};
use serde_json::Value;
use vestibule_domain::number::whole_number;

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> Whole<MIN, MAX> {
    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = whole_number(&Value::deserialize(from)?).and_then(|number| u32::try_from(number).ok());
        let within = number.filter(|number| (MIN..=MAX).contains(number)).map(Self);
        within.ok_or_else(|| Error::custom(format!("must be a whole number from {MIN} to {MAX}")))
    }
}

/// A moment in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixMs(pub u64);

impl<'de> Deserialize<'de> for UnixMs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = whole_number(&Value::deserialize(from)?).map(Self);
        number.ok_or_else(|| Error::custom("must be a whole number of Unix milliseconds"))
    }
}

/// A number from 0.001 to `MAX` with at most three decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thousandths<const MAX: u32>(u32);

impl<const MAX: u32> Thousandths<MAX> {
    /// The number, in thousandths.
    pub fn in_thousandths(self) -> u32 {
        self.0
    }
}

impl<'de, const MAX: u32> Deserialize<'de> for Thousandths<MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let thousandths = Value::deserialize(from)?.as_f64().map(|number| number * 1_000.0);
        let valid = thousandths.filter(|thousandths| {
            (1.0..=f64::from(MAX) * 1_000.0).contains(thousandths)
                && (thousandths - thousandths.round()).abs() < 1e-6
        });
        // The range is checked above.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        valid
            .map(|thousandths| Self(thousandths.round() as u32))
            .ok_or_else(|| {
                Error::custom(format!(
                    "must be a number from 0.001 to {MAX}, with at most three decimals"
                ))
            })
    }
}

/// One of a few words. A refusal names them, whatever was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneOf<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOf<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(from)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        T::deserialize(text.into_deserializer()).map(Self)
    }
}

/// A list of at least one and at most `max` values; `what` names them.
pub(super) fn read_list<'de, D: Deserializer<'de>>(
    from: D,
    max: usize,
    what: &str,
) -> Result<Option<Vec<Value>>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::Array(values) if (1..=max).contains(&values.len()) => Ok(Some(values)),
        _ => Err(Error::custom(format!("must be a list of 1 to {max} {what}"))),
    }
}

#[cfg(feature = "schemas")]
mod schemas {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{OneOf, Thousandths, UnixMs, Whole};

    impl<T: JsonSchema> JsonSchema for OneOf<T> {
        // So the field keeps its own description beside the words.
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            T::schema_name()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            T::json_schema(generator)
        }
    }

    macro_rules! describe {
        ($([$($generics:tt)*] $name:ty = $schema:expr;)+) => {$(
            impl<$($generics)*> JsonSchema for $name {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    "Number".into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    $schema
                }
            }
        )+};
    }

    describe! {
        [const MIN: u32, const MAX: u32] Whole<MIN, MAX> = json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX });
        [] UnixMs = json_schema!({ "type": "integer" });
        [const MAX: u32] Thousandths<MAX> = json_schema!({ "type": "number", "minimum": 0.001, "maximum": MAX });
    }
}
