//! The sentences of the pages. They are those of the waiting page (`web/page/lang`), and a few that only a page without
//! JavaScript needs (`sentences.json`).

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use serde::Deserialize;

/// A language that the pages speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Korean,
    English,
    Japanese,
    Arabic,
}

impl Language {
    pub(super) const ALL: [Self; 4] = [Self::Korean, Self::English, Self::Japanese, Self::Arabic];

    /// The first of these language tags that the pages speak, or English.
    pub(super) fn choose(tags: &[String]) -> Self {
        let language = |tag: &String| {
            let primary = tag.split('-').next()?;
            Self::ALL.into_iter().find(|language| language.tag() == primary)
        };
        tags.iter().find_map(language).unwrap_or(Self::English)
    }

    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::Korean => "ko",
            Self::English => "en",
            Self::Japanese => "ja",
            Self::Arabic => "ar",
        }
    }

    /// The direction of the script, as HTML names it.
    pub(super) fn direction(self) -> &'static str {
        match self {
            Self::Arabic => "rtl",
            Self::Korean | Self::English | Self::Japanese => "ltr",
        }
    }

    /// The plural category of a whole number (Unicode CLDR, plural rules of cardinals).
    fn plural_category(self, number: u64) -> &'static str {
        match (self, number) {
            (Self::English | Self::Arabic, 1) => "one",
            (Self::Arabic, 0) => "zero",
            (Self::Arabic, 2) => "two",
            (Self::Arabic, number) if (3..=10).contains(&(number % 100)) => "few",
            (Self::Arabic, number) if number % 100 > 10 => "many",
            _ => "other",
        }
    }

    /// The text of the waiting page in this language.
    fn page_sentences(self) -> &'static str {
        match self {
            Self::Korean => include_str!("../../../../web/page/lang/ko.json"),
            Self::English => include_str!("../../../../web/page/lang/en.json"),
            Self::Japanese => include_str!("../../../../web/page/lang/ja.json"),
            Self::Arabic => include_str!("../../../../web/page/lang/ar.json"),
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

/// The sentences by language, in the order of [`Language::ALL`].
static SENTENCES: LazyLock<[Sentences; 4]> = LazyLock::new(|| {
    let mut own: HashMap<String, Sentences> = serde_json::from_str(include_str!("sentences.json"))
        .expect("a test reads the embedded sentences in every language");
    Language::ALL.map(|language| {
        let mut sentences: Sentences = serde_json::from_str(language.page_sentences())
            .expect("a test reads the embedded sentences in every language");
        sentences.extend(own.remove(language.tag()).unwrap_or_default());
        sentences
    })
});

/// The sentences of one language.
pub(super) struct Words {
    pub(super) language: Language,
    sentences: &'static Sentences,
}

impl Words {
    pub(super) fn new(language: Language) -> Self {
        let index = Language::ALL.iter().position(|listed| *listed == language);
        Self {
            language,
            sentences: &SENTENCES[index.unwrap_or_default()],
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

    #[test]
    fn every_language_has_the_same_sentences() {
        let keys = |language| -> BTreeSet<_> { Words::new(language).sentences.keys().collect() };
        let english = keys(Language::English);
        assert!(english.len() > 50, "{english:?}");
        for language in Language::ALL {
            assert_eq!(keys(language), english, "{language:?}");
        }
    }

    #[test]
    fn the_visitor_reads_the_first_language_that_the_pages_speak() {
        for (tags, language) in [
            (vec!["de", "ja-jp", "ko"], Language::Japanese),
            (vec!["ar"], Language::Arabic),
            (vec!["de"], Language::English),
            (vec![], Language::English),
        ] {
            let tags: Vec<_> = tags.into_iter().map(str::to_owned).collect();
            assert_eq!(Language::choose(&tags), language, "{tags:?}");
        }
    }

    #[test]
    fn a_sentence_takes_the_plural_form_of_its_number() {
        let minutes = |language, number: u64| {
            let text = number.to_string();
            Words::new(language).text_of_count("minutes", &[("n", &text)], number)
        };
        assert_eq!(minutes(Language::English, 1), "1 minute");
        assert_eq!(minutes(Language::English, 2), "2 minutes");
        assert_eq!(minutes(Language::Korean, 1), "1분");
        let arabic: BTreeSet<_> = [1, 2, 3, 11, 100]
            .map(|number| minutes(Language::Arabic, number).replace(char::is_numeric, ""))
            .into();
        assert_eq!(arabic.len(), 4, "{arabic:?}");
    }
}
