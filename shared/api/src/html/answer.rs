//! The JSON answers, as far as pages show them.

use std::collections::BTreeMap;

use serde::Deserialize;
use vestibule_domain::{queue_state::QueueState, state::EntryState};

use super::accept::covering_tags;

/// An entry.
#[derive(Debug, Deserialize)]
pub(super) struct EntryAnswer {
    pub(super) token: String,
    pub(super) state: EntryState,
    pub(super) queue_state: QueueState,
    #[serde(flatten)]
    pub(super) message: Message,
    pub(super) ahead: Option<u64>,
    #[serde(default)]
    pub(super) ahead_is_expected: bool,
    pub(super) behind: Option<u64>,
    pub(super) estimated_wait_seconds: Option<Wait>,
    /// Only a visitor who is proven is told.
    pub(super) retry_after_ms: Option<u64>,
    pub(super) claim_in_ms: Option<u64>,
    pub(super) expires_in_ms: Option<u64>,
    /// `false` if the browser has no cookie of the visitor.
    pub(super) proven: Option<bool>,
    pub(super) pass: Option<String>,
    pub(super) target_url: Option<String>,
}

/// The bounds of the expected wait, in seconds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Wait {
    pub(super) low: u64,
    pub(super) high: u64,
}

/// The public document of a queue.
#[derive(Debug, Deserialize)]
pub(super) struct QueueAnswer {
    pub(super) state: QueueState,
    #[serde(flatten)]
    pub(super) message: Message,
    pub(super) now_ms: u64,
    pub(super) opens_at_ms: Option<u64>,
    pub(super) draw_commitment: Option<String>,
    pub(super) waiting: u64,
    pub(super) full: bool,
}

/// A problem.
#[derive(Debug, Deserialize)]
pub(super) struct ProblemAnswer {
    pub(super) code: String,
    /// Why a wait ended that was no missed turn.
    pub(super) reason: Option<String>,
    /// How long a visitor who missed the turn may take the place back.
    pub(super) grace_in_ms: Option<u64>,
    #[serde(flatten)]
    pub(super) message: Message,
}

/// The operator's message.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Message {
    message: Option<String>,
    #[serde(default)]
    messages: BTreeMap<String, String>,
}

impl Message {
    /// The text in the first of these languages that the message has, or else the text for all others.
    pub(super) fn choose(&self, languages: &[String]) -> Option<&str> {
        let text = |tag: String| self.messages.get(&tag).map(String::as_str);
        let by_language = languages
            .iter()
            .flat_map(|language| covering_tags(language))
            .find_map(text);
        by_language.or(self.message.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_reads_the_message_in_the_first_language_that_it_has() {
        let text = |text: &str| text.to_owned();
        let message = Message {
            message: Some(text("default")),
            messages: BTreeMap::from([(text("zh"), text("zh")), (text("ja"), text("ja"))]),
        };
        for (languages, chosen) in [
            (vec![], "default"),
            (vec!["ko"], "default"),
            (vec!["ko", "zh-hant-tw", "ja"], "zh"),
            (vec!["zh-tw"], "zh"),
            (vec!["ja-jp"], "ja"),
        ] {
            let languages: Vec<_> = languages.into_iter().map(text).collect();
            assert_eq!(message.choose(&languages), Some(chosen), "{languages:?}");
        }
        assert_eq!(Message::default().choose(&[text("en")]), None);
    }
}
