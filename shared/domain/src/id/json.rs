//! Reads ids from JSON, where they are texts.

use serde::{Deserialize, Deserializer, de::Error};

use super::{EntryId, QueueId, Source};
use crate::queue_pattern::QueuePattern;

macro_rules! read_from_text {
    ($($name:ident)+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(Error::custom)
            }
        }

        #[cfg(feature = "schemas")]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }
    )+};
}

read_from_text! { QueueId EntryId Source QueuePattern }
