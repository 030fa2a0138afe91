//! A visit that the protected service consumed: completed by a validation, under an id that makes
//! the request repeatable.

use std::{fmt, str::FromStr};

use uuid::Uuid;

use super::score::Visit;

/// The id that the protected service gives one use of a visit. The same request with the same id is
/// a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UseId(Uuid);

/// The text is not a UUID of 36 characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a UUID, for example 6f9619ff-8b86-4d01-b42d-00cf4fc964ff")]
pub struct UseIdError;

impl FromStr for UseId {
    type Err = UseIdError;

    fn from_str(text: &str) -> Result<Self, UseIdError> {
        // Other forms of the same UUID would be stored as this one.
        if text.len() != uuid::fmt::Hyphenated::LENGTH {
            return Err(UseIdError);
        }
        Uuid::try_parse(text).map(Self).map_err(|_| UseIdError)
    }
}

impl fmt::Display for UseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How the protected service consumed a visit. It is all that the answer to a repeated request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumption {
    /// The id of the use.
    pub use_id: UseId,
    /// When the session would have ended, in Unix milliseconds.
    pub session_end_ms: u64,
}

/// `consumed:use_id:session_end_ms`, one word without spaces.
impl fmt::Display for Consumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "consumed:{}:{}", self.use_id, self.session_end_ms)
    }
}

impl Consumption {
    /// Parses the output of `Display`; `None` for any other text.
    pub fn from_word(word: &str) -> Option<Self> {
        let (use_id, session_end_ms) = word.strip_prefix("consumed:")?.split_once(':')?;
        Some(Self {
            use_id: use_id.parse().ok()?,
            session_end_ms: session_end_ms.parse().ok()?,
        })
    }
}

/// A use that consumed a visit before the one that a record shows. A repeat of its request must not consume another visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierUse {
    /// The visit that was consumed.
    pub visit: Visit,
    /// How it was consumed.
    pub consumption: Consumption,
}

/// The text is not that of an earlier use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the number of a visit and how it was consumed")]
pub struct EarlierUseError;

/// `visit consumed:use_id:session_end_ms`.
impl fmt::Display for EarlierUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.visit.number(), self.consumption)
    }
}

impl FromStr for EarlierUse {
    type Err = EarlierUseError;

    fn from_str(text: &str) -> Result<Self, EarlierUseError> {
        let parse = || {
            let (visit, word) = text.split_once(' ')?;
            Some(Self {
                visit: Visit::new(visit.parse().ok()?)?,
                consumption: Consumption::from_word(word)?,
            })
        };
        parse().ok_or(EarlierUseError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_of_a_consumption_is_parsed_again() {
        let consumption = Consumption {
            use_id: "6F9619FF-8B86-4D01-B42D-00CF4FC964FF".parse().expect("a UUID"),
            session_end_ms: 1_795_260_581_079,
        };
        let word = consumption.to_string();
        assert_eq!(
            word,
            "consumed:6f9619ff-8b86-4d01-b42d-00cf4fc964ff:1795260581079"
        );
        assert_eq!(Consumption::from_word(&word), Some(consumption));
        for word in [
            "",
            "consumed",
            "consumed:x:1",
            "completed",
            &word[..word.len() - 14],
        ] {
            assert_eq!(Consumption::from_word(word), None, "{word}");
        }
        for id in [
            "",
            "6f9619ff8b864d01b42d00cf4fc964ff",
            "{6f9619ff-8b86-4d01-b42d-00cf4fc964ff}",
        ] {
            assert_eq!(id.parse::<UseId>(), Err(UseIdError), "{id}");
        }
    }
}
