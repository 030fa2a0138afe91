//! The settings of a queue as the backup holds them, whoever wrote them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use vestibule_domain::settings::{Settings, SettingsError};

/// Settings as they were last written, by us or by an operator's hand: not yet validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredSettings {
    /// A map, as it should be. Whether each setting in it is right is another matter.
    Map(Map<String, Value>),
    /// Something else.
    Other(Value),
    /// Nothing.
    Missing,
}

impl From<Map<String, Value>> for StoredSettings {
    fn from(map: Map<String, Value>) -> Self {
        Self::Map(map)
    }
}

impl StoredSettings {
    /// The settings that they say.
    ///
    /// # Errors
    /// The first one that is wrong, by name; `settings` where they are no map of settings at all.
    pub fn parse(&self) -> Result<Settings, SettingsError> {
        let wrong = |reason: &str| SettingsError {
            field: "settings".to_owned(),
            reason: reason.to_owned(),
        };
        match self {
            Self::Map(map) => Settings::from_map(map),
            Self::Other(_) => Err(wrong(
                "must be a map of settings, such as {\"capacity\": 100, \"batch\": 10}",
            )),
            Self::Missing => Err(wrong(
                "is missing; an empty map stands for the defaults of all settings",
            )),
        }
    }

    /// The map, where they are one.
    pub fn map(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Map(map) => Some(map),
            Self::Other(_) | Self::Missing => None,
        }
    }

    /// As JSON; `null` where there are none.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Map(map) => Value::Object(map.clone()),
            Self::Other(value) => value.clone(),
            Self::Missing => Value::Null,
        }
    }

    /// Names what is stored, right or wrong: another text is another content.
    pub fn fingerprint(&self) -> String {
        match self {
            Self::Map(map) => fingerprint(&json!(map.iter().collect::<BTreeMap<_, _>>())),
            Self::Other(value) => fingerprint(value),
            Self::Missing => "none".to_owned(),
        }
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of a JSON text.
pub fn fingerprint(value: &Value) -> String {
    let digest = Sha256::digest(value.to_string());
    digest[..8]
        .iter()
        .fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}

/// Names settings: the [`fingerprint`] of their JSON, every field present and in the order of their names.
pub fn revision(settings: &Settings) -> String {
    let in_order: BTreeMap<_, _> = settings.to_map().into_iter().collect();
    fingerprint(&json!(in_order))
}
