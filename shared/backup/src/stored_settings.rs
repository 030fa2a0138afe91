//! The settings of a queue as the backup stores them, written by Vestibule or by an operator.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use vestibule_domain::settings::{Settings, SettingsError};

/// Settings as last written, by Vestibule or by an operator's hand. They are not validated yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredSettings {
    /// A map, as expected. A single setting in it may still be invalid.
    Map(Map<String, Value>),
    /// A value that is not a map.
    Other(Value),
    /// The settings are absent.
    Missing,
}

impl From<Map<String, Value>> for StoredSettings {
    fn from(map: Map<String, Value>) -> Self {
        Self::Map(map)
    }
}

impl StoredSettings {
    /// Parses and validates the settings.
    ///
    /// # Errors
    /// [`SettingsError`] names the first invalid setting. Its field is `settings` if the stored
    /// value is not a map at all.
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
                "is missing: write a map of settings; an empty map means the defaults of all settings",
            )),
        }
    }

    /// The map; `None` if the stored value is not a map.
    pub fn as_map(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Map(map) => Some(map),
            Self::Other(_) | Self::Missing => None,
        }
    }

    /// The settings as JSON; `null` if they are absent.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Map(map) => Value::Object(map.clone()),
            Self::Other(value) => value.clone(),
            Self::Missing => Value::Null,
        }
    }

    /// A fingerprint of what is stored, valid or not. Different contents have different fingerprints.
    pub fn fingerprint(&self) -> String {
        match self {
            Self::Map(map) => json_fingerprint(&json!(map.iter().collect::<BTreeMap<_, _>>())),
            Self::Other(value) => json_fingerprint(value),
            Self::Missing => "none".to_owned(),
        }
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of a JSON text.
pub fn json_fingerprint(value: &Value) -> String {
    let digest = Sha256::digest(value.to_string());
    digest[..8]
        .iter()
        .fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}
