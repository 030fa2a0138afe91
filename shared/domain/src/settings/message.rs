//! The operator's message: one text, or a text for each of several languages.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::{
    error::{SettingsError, setting_error},
    field::{Field, FieldType},
    values::SettingValue,
};

/// The most languages of a message. Every entry and every public document carries all of them.
pub const MESSAGE_LANGUAGES_MAX: usize = 10;

/// The most characters of a message in one language.
pub const MESSAGE_CHARACTERS_MAX: usize = 500;

/// The member of the object that names the language for visitors whose languages the message lacks.
const DEFAULT: &str = "default";
/// The language of the text for all others, unless the operator names one.
const ENGLISH: &str = "en";
/// The most characters of a language tag.
const TAG_CHARACTERS_MAX: usize = 35;

/// What the operator tells visitors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The text for visitors whose languages have none of their own.
    text: String,
    /// The language of `text`; `None` if the message is a single text of unknown language.
    default_language: Option<String>,
    /// The texts by language, in lower case. It is empty if the message is a single text.
    by_language: BTreeMap<String, String>,
}

impl Message {
    /// The text for visitors whose languages have none of their own.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The texts by language tag (RFC 5646) in lower case. Empty if the message is a single text.
    pub fn by_language(&self) -> &BTreeMap<String, String> {
        &self.by_language
    }

    /// Parses a text, or an object of texts by language, with `default` for the language of all others.
    ///
    /// # Errors
    /// What is wrong with the value, for the operator who wrote it.
    fn parse(value: &Value, characters_max: usize) -> Result<Self, String> {
        if let Value::Object(members) = value {
            return parse_languages(members, characters_max);
        }
        let text = parse_text(value, characters_max).ok_or_else(|| {
            format!(
                "must be a text of at most {characters_max} characters, or an object of such texts by language"
            )
        })?;
        Ok(Self {
            text,
            default_language: None,
            by_language: BTreeMap::new(),
        })
    }
}

/// A text of limited length that is not blank.
fn parse_text(value: &Value, characters_max: usize) -> Option<String> {
    let text = value.as_str()?;
    (text.chars().count() <= characters_max && !text.trim().is_empty()).then(|| text.to_owned())
}

fn parse_languages(members: &Map<String, Value>, characters_max: usize) -> Result<Message, String> {
    let mut by_language = BTreeMap::new();
    for (tag, value) in members.iter().filter(|(name, _)| *name != DEFAULT) {
        if !is_language_tag(tag) {
            return Err(format!("{tag} is not a language tag, such as en, ko or pt-BR"));
        }
        let text = parse_text(value, characters_max)
            .ok_or_else(|| format!("the text of {tag} must have 1 to {characters_max} characters"))?;
        if by_language.insert(tag.to_ascii_lowercase(), text).is_some() {
            return Err(format!("{tag} is there twice"));
        }
    }
    if !(1..=MESSAGE_LANGUAGES_MAX).contains(&by_language.len()) {
        return Err(format!(
            "must have texts in 1 to {MESSAGE_LANGUAGES_MAX} languages"
        ));
    }
    let named = members
        .get(DEFAULT)
        .map(|tag| tag.as_str().map(str::to_ascii_lowercase));
    let only = by_language.keys().next().filter(|_| by_language.len() == 1);
    let language = match named {
        Some(tag) => tag,
        None => Some(only.map_or(ENGLISH, String::as_str).to_owned()),
    };
    let chosen = language.and_then(|language| Some((by_language.get(&language)?.clone(), language)));
    let Some((text, language)) = chosen else {
        let tags: Vec<_> = by_language.keys().map(String::as_str).collect();
        return Err(format!(
            "default must be the language for visitors whose own is not there, one of: {}",
            tags.join(", ")
        ));
    };
    Ok(Message {
        text,
        default_language: Some(language),
        by_language,
    })
}

/// Whether the text is a language tag, such as `en` or `zh-Hant-TW` (the shape of RFC 5646; the registry is not
/// asked).
fn is_language_tag(text: &str) -> bool {
    let mut parts = text.split('-');
    let is_language =
        |part: &str| (2..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphabetic());
    let is_subtag =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    text.len() <= TAG_CHARACTERS_MAX && parts.next().is_some_and(is_language) && parts.all(is_subtag)
}

/// `null` and a blank text mean that there is no message.
impl SettingValue for Option<Message> {
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError> {
        let FieldType::Message { max } = field.field_type else {
            unreachable!("{} takes a message", field.name)
        };
        match value {
            Value::Null => return Ok(None),
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            _ => {}
        }
        let message = Message::parse(value, max).map_err(|reason| setting_error(field.name, reason))?;
        Ok(Some(message))
    }
}

/// The form in which operators write it.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(language) = &self.default_language else {
            return serializer.serialize_str(&self.text);
        };
        let mut map = serializer.serialize_map(Some(self.by_language.len() + 1))?;
        map.serialize_entry(DEFAULT, language)?;
        for (tag, text) in &self.by_language {
            map.serialize_entry(tag, text)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::Settings;

    fn parse(value: Value) -> Result<Option<Message>, SettingsError> {
        let map = Map::from_iter([("message".to_owned(), value)]);
        Settings::from_map(&map).map(|settings| settings.message)
    }

    fn message(value: Value) -> Message {
        parse(value).expect("valid").expect("a message")
    }

    #[test]
    fn single_text_is_kept_as_it_is() {
        let message = message(json!("Sold out"));
        assert_eq!(message.text(), "Sold out");
        assert!(message.by_language().is_empty());
        assert_eq!(json!(message), json!("Sold out"));
    }

    #[test]
    fn default_language_is_named_or_english_or_the_only_one() {
        let texts =
            |default: Value| json!({ "default": default, "ko": "매진", "ja": "完売", "en": "Sold out" });
        assert_eq!(message(texts(json!("ko"))).text(), "매진");
        assert_eq!(
            message(json!({ "ko": "매진", "en": "Sold out" })).text(),
            "Sold out"
        );
        let only = message(json!({ "pt-BR": "Esgotado" }));
        assert_eq!(only.text(), "Esgotado");
        assert_eq!(json!(only), json!({ "default": "pt-br", "pt-br": "Esgotado" }));
        assert_eq!(message(json!(only)), only, "the stored form reads back");
    }

    #[test]
    fn no_message_clears_it() {
        for none in [json!(null), json!(" ")] {
            assert_eq!(parse(none), Ok(None));
        }
    }

    #[test]
    fn refusals_name_what_is_wrong() {
        let many: Map<_, _> = ["aa", "ab", "ac", "ad", "ae", "af", "ag", "ah", "ai", "aj", "ak"]
            .map(|tag| (tag.to_owned(), json!("text")))
            .into_iter()
            .collect();
        for (value, reason) in [
            (json!(7), "text of at most 500 characters"),
            (json!("x".repeat(501)), "text of at most 500 characters"),
            (json!({ "korean": "매진" }), "korean is not a language tag"),
            (json!({ "ko": "" }), "the text of ko must have 1 to 500"),
            (json!({ "ko": "매진", "ja": "完売" }), "one of: ja, ko"),
            (json!({ "default": "fr", "ko": "매진" }), "one of: ko"),
            (json!({ "en": "a", "EN": "b" }), "is there twice"),
            (json!(many), "in 1 to 10 languages"),
            (json!({}), "in 1 to 10 languages"),
        ] {
            let error = parse(value).expect_err("refused").to_string();
            assert!(error.contains("message") && error.contains(reason), "{error}");
        }
    }
}
