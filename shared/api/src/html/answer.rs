//! The JSON answers, as far as pages show them.

use std::collections::BTreeMap;

use serde::Deserialize;
use vestibule_domain::{queue_state::QueueState, settings::FinishReason, state::EntryState};

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
    /// Why the queue is over, if it is.
    pub(super) finish_reason: Option<FinishReason>,
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
    /// Why the queue is over, if it is finished.
    pub(super) finish_reason: Option<FinishReason>,
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

/// A text of the operator's message. Empty if there is none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MessageText {
    /// The tag of its language. Empty if the message does not say it.
    pub(super) language: String,
    pub(super) text: String,
}

impl Message {
    /// The text in the first of these languages that the message has, or else the text for all others.
    pub(super) fn choose(&self, languages: &[String]) -> MessageText {
        let mut tags = languages.iter().flat_map(|language| covering_tags(language));
        let text = tags.find_map(|tag| self.messages.get(&tag));
        let Some(text) = text.or(self.message.as_ref()) else {
            return MessageText::default();
        };
        let language = self.messages.iter().find(|(_, listed)| *listed == text);
        MessageText {
            language: language.map(|(tag, _)| tag.clone()).unwrap_or_default(),
            text: text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_reads_the_message_in_the_first_language_that_it_has() {
        let text = |text: &str| text.to_owned();
        let mut message = Message {
            message: Some(text("zh")),
            messages: BTreeMap::from([(text("zh"), text("zh")), (text("ja"), text("ja"))]),
        };
        for (languages, chosen) in [
            (vec![], "zh"),
            (vec!["ko"], "zh"),
            (vec!["ko", "zh-hant-tw", "ja"], "zh"),
            (vec!["zh-tw"], "zh"),
            (vec!["ja-jp"], "ja"),
        ] {
            let languages: Vec<_> = languages.into_iter().map(text).collect();
            let found = message.choose(&languages);
            assert_eq!(
                (found.language.as_str(), found.text.as_str()),
                (chosen, chosen),
                "{languages:?}"
            );
        }
        message.messages.clear();
        assert_eq!(message.choose(&[]).language, "");
        assert_eq!(Message::default().choose(&[text("en")]), MessageText::default());
    }
}
