//! The operator's message as answers carry it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vestibule_domain::settings::Settings;

/// The members of an answer that hold the operator's message. Both are left out if there is none.
///
/// Every language is there, and the client chooses: the public document is the same for all readers, and a
/// visitor may choose another language than the browser's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Message {
    /// A message from the operator: the text for visitors whose languages are not among `messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The texts by language.
    #[serde(default, skip_serializing_if = "Messages::is_empty")]
    pub messages: Messages,
}

/// The operator's message by language tag (RFC 5646) in lower case, if there is more than one text. A client takes the first
/// of the visitor's languages, also without its last subtags, and `message` if none is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schemas",
    derive(schemars::JsonSchema),
    schemars(extend("maxProperties" = vestibule_domain::settings::MESSAGE_LANGUAGES_MAX))
)]
pub struct Messages(pub BTreeMap<String, String>);

impl Message {
    /// The message of these settings.
    pub fn of(settings: &Settings) -> Self {
        let Some(message) = &settings.message else {
            return Self::default();
        };
        Self {
            message: Some(message.text().to_owned()),
            messages: Messages(message.by_language().clone()),
        }
    }
}

impl Messages {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
