//! The pattern that names many queues by the beginning of their ids, for example `TICKET:*`.

use std::{fmt, str::FromStr, sync::Arc};

use super::id::{IdError, QUEUE_ID_MAX, QueueId};

/// What ends every pattern. No queue id contains it.
const WILDCARD: char = '*';

/// All queues whose ids begin with a prefix. The pattern `*` has an empty prefix and names every queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePattern {
    /// The beginning of the ids, without the wildcard.
    prefix: Arc<str>,
}

impl QueuePattern {
    /// Whether the pattern names this queue.
    pub fn matches(&self, queue: &QueueId) -> bool {
        queue.as_str().starts_with(&*self.prefix)
    }

    /// The number of characters before the wildcard. Of two patterns that name a queue, the longer one
    /// says more about it.
    pub fn prefix_len(&self) -> usize {
        self.prefix.len()
    }
}

impl FromStr for QueuePattern {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let prefix = text.strip_suffix(WILDCARD).ok_or(IdError::QueuePattern)?;
        // A prefix of as many characters as an id may have could only name one queue.
        let is_prefix =
            prefix.is_empty() || (prefix.len() < QUEUE_ID_MAX && prefix.parse::<QueueId>().is_ok());
        if is_prefix {
            Ok(Self {
                prefix: prefix.into(),
            })
        } else {
            Err(IdError::QueuePattern)
        }
    }
}

impl fmt::Display for QueuePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{WILDCARD}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> QueuePattern {
        text.parse().expect("a pattern")
    }

    #[test]
    fn pattern_names_the_queues_that_begin_with_it() {
        let queue: QueueId = "TICKET:12".parse().expect("a queue id");
        for (text, is_match) in [
            ("*", true),
            ("T*", true),
            ("TICKET:*", true),
            ("TICKET:12*", true),
            ("TICKET:123*", false),
            ("ticket:*", false),
            ("ICKET:*", false),
        ] {
            assert_eq!(pattern(text).matches(&queue), is_match, "{text}");
            assert_eq!(pattern(text).to_string(), text);
        }
    }

    #[test]
    fn text_that_names_no_queue_is_refused() {
        let long = "a".repeat(QUEUE_ID_MAX);
        for text in [
            "",
            "TICKET:",
            "TICKET:**",
            "T*:1",
            ":*",
            "a b*",
            &format!("{long}*"),
        ] {
            assert_eq!(
                text.parse::<QueuePattern>(),
                Err(IdError::QueuePattern),
                "{text:?}"
            );
        }
        assert!(format!("{}*", &long[1..]).parse::<QueuePattern>().is_ok());
    }
}
