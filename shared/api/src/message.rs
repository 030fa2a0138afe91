//! The operator's message as answers carry it.

use std::collections::BTreeMap;

use serde::Serialize;
use vestibule_domain::settings::Settings;

/// The members of an answer that hold the operator's message. Both are left out if there is none.
///
/// Every language is there, and the client chooses: the public document is the same for all readers, and a
/// visitor may choose another language than the browser's.
#[derive(Debug, Default, Serialize)]
pub(crate) struct MessageFields {
    /// The text for visitors whose languages have none of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The texts by language tag in lower case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    messages: BTreeMap<String, String>,
}

impl MessageFields {
    /// The message of these settings.
    pub(crate) fn of(settings: &Settings) -> Self {
        let Some(message) = &settings.message else {
            return Self::default();
        };
        Self {
            message: Some(message.text().to_owned()),
            messages: message.by_language().clone(),
        }
    }
}
