//! The sentences of the pages: those of `web/lang`, which the waiting page has, too.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use serde::Deserialize;
use serde_json::Value;

/// The languages that ship, as tags with the texts of their files.
pub(super) const LANGUAGES: &[(&str, &str)] = include!("../../../../web/page/dist/languages.rs");

/// The languages that are written from right to left.
const RIGHT_TO_LEFT: [&str; 4] = ["ar", "fa", "he", "ur"];

/// A language that ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Language {
    tag: &'static str,
}

impl Language {
    /// The language of a tag that ships.
    pub(super) const fn new(tag: &'static str) -> Self {
        Self { tag }
    }

    pub(super) fn tag(self) -> &'static str {
        self.tag
    }

    /// The direction of the script, as HTML names it.
    pub(super) fn direction(self) -> &'static str {
        if RIGHT_TO_LEFT.contains(&self.tag) {
            "rtl"
        } else {
            "ltr"
        }
    }

    /// The plural category of a whole number (Unicode CLDR, plural rules of cardinals).
    fn plural_category(self, number: u64) -> &'static str {
        match (self.tag, number) {
            ("en" | "de" | "es" | "fr" | "ar", 1) | ("fr", 0) => "one",
            ("es" | "fr", number) if number > 0 && number.is_multiple_of(1_000_000) => "many",
            ("ar", 0) => "zero",
            ("ar", 2) => "two",
            ("ar", number) if (3..=10).contains(&(number % 100)) => "few",
            ("ar", number) if number % 100 > 10 => "many",
            _ => "other",
        }
    }
}

/// A sentence, or its forms by plural category.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Sentence {
    Plain(String),
    Forms(BTreeMap<String, String>),
}

type Sentences = HashMap<String, Sentence>;

/// The sentences by the tag of their language.
static SENTENCES: LazyLock<HashMap<&str, Sentences>> = LazyLock::new(|| {
    let parse = |(tag, text): &(&'static str, &str)| {
        let members: HashMap<String, Value> =
            serde_json::from_str(text).expect("a test reads the embedded sentences in every language");
        // A member that is no sentence says who has read the others.
        let read = |(key, member)| Some((key, serde_json::from_value(member).ok()?));
        (*tag, members.into_iter().filter_map(read).collect())
    };
    LANGUAGES.iter().map(parse).collect()
});

/// The sentences of one language.
pub(super) struct Words {
    pub(super) language: Language,
    sentences: &'static Sentences,
}

impl Words {
    pub(super) fn new(language: Language) -> Self {
        Self {
            language,
            sentences: &SENTENCES[language.tag],
        }
    }

    /// The sentence of a key. Empty if there is none.
    pub(super) fn text(&self, key: &str) -> String {
        self.text_with(key, &[])
    }

    /// The sentence of a key with its values.
    pub(super) fn text_with(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.text_of_count(key, values, 0)
    }

    /// The sentence of a key with its values, in the plural form of a number.
    pub(super) fn text_of_count(&self, key: &str, values: &[(&str, &str)], number: u64) -> String {
        let sentence = match self.sentences.get(key) {
            Some(Sentence::Plain(text)) => text.as_str(),
            Some(Sentence::Forms(forms)) => {
                let form = forms.get(self.language.plural_category(number));
                form.or_else(|| forms.get("other")).map_or("", String::as_str)
            }
            None => "",
        };
        values.iter().fold(sentence.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), value)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn words(tag: &'static str) -> Words {
        Words::new(Language::new(tag))
    }

    #[test]
    fn every_language_has_the_same_sentences() {
        let english: BTreeSet<_> = words("en").sentences.keys().collect();
        assert!(english.len() > 50, "{english:?}");
        for (tag, _) in LANGUAGES {
            let keys: BTreeSet<_> = SENTENCES[tag].keys().collect();
            assert_eq!(keys, english, "{tag}");
        }
    }

    #[test]
    fn plural_categories_are_those_of_browsers() {
        let cases: Value =
            serde_json::from_str(include_str!("../../../../web/page/tests/language_cases.json"))
                .expect("JSON");
        for (tag, _) in LANGUAGES {
            for (number, category) in cases["plurals"][tag]
                .as_object()
                .expect("a language of the cases")
            {
                let number = number.parse().expect("a number");
                let found = Language::new(tag).plural_category(number);
                assert_eq!(Some(found), category.as_str(), "{tag} {number}");
            }
        }
    }

    #[test]
    fn a_sentence_takes_the_plural_form_of_its_number() {
        let minutes = |tag, number: u64| {
            let text = number.to_string();
            words(tag).text_of_count("minutes", &[("n", &text)], number)
        };
        assert_eq!(minutes("en", 1), "1 minute");
        assert_eq!(minutes("en", 2), "2 minutes");
        assert_eq!(minutes("ko", 1), "1분");
        let arabic: BTreeSet<_> = [1, 2, 3, 11, 100]
            .map(|number| minutes("ar", number).replace(char::is_numeric, ""))
            .into();
        assert_eq!(arabic.len(), 4, "{arabic:?}");
    }
}
