//! The arguments of a command.

use crate::sorted_set::ScoreBound;

/// The arguments behind the name.
pub(super) struct Words<'a>(pub(super) &'a [&'a [u8]]);

impl<'a> Words<'a> {
    /// The key, which is the first argument.
    pub(super) fn key(&self) -> &'a [u8] {
        self.0[0]
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn word(&self, at: usize) -> &'a [u8] {
        self.0[at]
    }

    /// The arguments from this one on.
    pub(super) fn from(&self, at: usize) -> &'a [&'a [u8]] {
        &self.0[at..]
    }

    /// The arguments from this one on, two by two.
    pub(super) fn pairs(&self, at: usize) -> Result<impl Iterator<Item = (&'a [u8], &'a [u8])>, String> {
        let (pairs, rest) = self.0[at..].as_chunks::<2>();
        if pairs.is_empty() || !rest.is_empty() {
            return Err(syntax_error());
        }
        Ok(pairs.iter().map(|[first, second]| (*first, *second)))
    }

    /// Whether the argument is this option, in any case.
    pub(super) fn is_option(&self, at: usize, option: &str) -> bool {
        self.0
            .get(at)
            .is_some_and(|word| word.eq_ignore_ascii_case(option.as_bytes()))
    }

    pub(super) fn integer(&self, at: usize) -> Result<i64, String> {
        let number = self.0.get(at).ok_or_else(syntax_error)?;
        parse_integer(number)
    }

    /// An end of a range of scores: a number, or `(` and a number that is not in the range. No digits mean 0, as in C.
    pub(super) fn score_bound(&self, at: usize) -> Result<ScoreBound, String> {
        let word = self.0[at];
        let (is_exclusive, number) = match word.strip_prefix(b"(") {
            Some(number) => (true, number),
            None => (false, word),
        };
        let score = if number.is_empty() {
            Ok(0.0)
        } else {
            parse_score(number)
        };
        let score = score.map_err(|_| "ERR min or max is not a float".to_owned())?;
        Ok(ScoreBound { score, is_exclusive })
    }
}

pub(super) fn parse_integer(word: &[u8]) -> Result<i64, String> {
    let number = text(word).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| "ERR value is not an integer or out of range".to_owned())
}

pub(super) fn parse_score(word: &[u8]) -> Result<f64, String> {
    let number: Option<f64> = text(word).ok().and_then(|text| text.parse().ok());
    number
        .filter(|number| !number.is_nan())
        .ok_or_else(|| "ERR value is not a valid float".to_owned())
}

pub(super) fn text(word: &[u8]) -> Result<&str, String> {
    str::from_utf8(word).map_err(|_| syntax_error())
}

pub(super) fn syntax_error() -> String {
    "ERR syntax error".to_owned()
}
