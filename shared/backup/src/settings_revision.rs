//! The revision of settings, which tells of each setting whether it has changed since.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use vestibule_domain::settings::Settings;

/// The bytes of the fingerprint of one setting. Three bytes are four characters, so a revision is cut into its fingerprints
/// where they begin.
const FINGERPRINT_BYTES: usize = 3;
const FINGERPRINT_CHARS: usize = 4;

/// Identifies settings: the fingerprints of all settings with their values. Of one setting that has changed since, it tells
/// so with a chance of error of one in 300,000.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsRevision(String);

impl SettingsRevision {
    /// The revision of these settings.
    pub fn of(settings: &Settings) -> Self {
        let mut fingerprints: Vec<_> = settings
            .to_map()
            .iter()
            .map(|(name, value)| fingerprint(name, value))
            .collect();
        fingerprints.sort_unstable();
        Self(fingerprints.concat())
    }

    /// Reads a revision. `None` if the text is none.
    pub fn from_text(text: &str) -> Option<Self> {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_revision =
            !text.is_empty() && text.len().is_multiple_of(FINGERPRINT_CHARS) && text.bytes().all(is_base64);
        is_revision.then(|| Self(text.to_owned()))
    }

    /// The revision as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the setting had this value.
    pub fn has(&self, name: &str, value: &Value) -> bool {
        let wanted = fingerprint(name, value);
        let fingerprints = self.0.as_bytes().chunks_exact(FINGERPRINT_CHARS);
        fingerprints.into_iter().any(|found| found == wanted.as_bytes())
    }
}

fn fingerprint(name: &str, value: &Value) -> String {
    let digest = Sha256::digest(format!("{name}={value}"));
    URL_SAFE_NO_PAD.encode(&digest[..FINGERPRINT_BYTES])
}

/// The settings that differ, with their values in `old`. A name that `old` does not have is `null`.
pub fn changed_settings(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let names = old.keys().chain(new.keys());
    let changed = names.filter(|name| old.get(*name) != new.get(*name));
    changed
        .map(|name| (name.clone(), old.get(name).cloned().unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(fields: &Value) -> Settings {
        Settings::from_map(fields.as_object().expect("an object")).expect("valid")
    }

    #[test]
    fn a_revision_knows_each_setting() {
        let before = settings(
            &json!({ "batch": 20, "message": { "default": "en", "en": "Hello", "ko": "안녕하세요" } }),
        );
        let after = settings(&json!({ "batch": 30, "capacity": 5 }));
        let revision = SettingsRevision::of(&before);
        assert_eq!(
            SettingsRevision::from_text(revision.as_str()),
            Some(revision.clone())
        );
        for (name, value) in before.to_map() {
            assert!(revision.has(&name, &value), "{name}");
        }
        let after = after.to_map();
        let changed = after.iter().filter(|(name, value)| !revision.has(name, value));
        let changed: Vec<_> = changed.map(|(name, _)| name.as_str()).collect();
        assert_eq!(changed, ["batch", "capacity", "message"]);
    }

    #[test]
    fn a_text_that_is_no_revision_is_none() {
        for text in ["", "abc", "abc=", "abcd efg", "äbc"] {
            assert_eq!(SettingsRevision::from_text(text), None, "{text:?}");
        }
    }
}
