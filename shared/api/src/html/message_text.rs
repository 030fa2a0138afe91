//! The text of the operator's message that a page shows.

use vestibule_wire::Message;

use super::accept::covering_tags;

/// A text of the operator's message. Empty if there is none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MessageText {
    /// The tag of its language. Empty if the message does not say it.
    pub(super) language: String,
    pub(super) text: String,
}

/// The text in the first of these languages that the message has, or else the text for all others.
pub(super) fn choose_text(message: &Message, languages: &[String]) -> MessageText {
    let texts = &message.messages.0;
    let mut tags = languages.iter().flat_map(|language| covering_tags(language));
    let text = tags.find_map(|tag| texts.get(&tag));
    let Some(text) = text.or(message.message.as_ref()) else {
        return MessageText::default();
    };
    let language = texts.iter().find(|(_, listed)| *listed == text);
    MessageText {
        language: language.map(|(tag, _)| tag.clone()).unwrap_or_default(),
        text: text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use vestibule_wire::Messages;

    use super::*;

    #[test]
    fn a_visitor_reads_the_message_in_the_first_language_that_it_has() {
        let text = |text: &str| text.to_owned();
        let mut message = Message {
            message: Some(text("zh")),
            messages: Messages(BTreeMap::from([
                (text("zh"), text("zh")),
                (text("ja"), text("ja")),
            ])),
        };
        for (languages, chosen) in [
            (vec![], "zh"),
            (vec!["ko"], "zh"),
            (vec!["ko", "zh-hant-tw", "ja"], "zh"),
            (vec!["zh-tw"], "zh"),
            (vec!["ja-jp"], "ja"),
        ] {
            let languages: Vec<_> = languages.into_iter().map(text).collect();
            let found = choose_text(&message, &languages);
            assert_eq!(
                (found.language.as_str(), found.text.as_str()),
                (chosen, chosen),
                "{languages:?}"
            );
        }
        message.messages.0.clear();
        assert_eq!(choose_text(&message, &[]).language, "");
        assert_eq!(
            choose_text(&Message::default(), &[text("en")]),
            MessageText::default()
        );
    }
}
