//! The configuration of the authorizer: which queues protect the API, and how often an entry may call it.

use std::str::FromStr;

use vestibule_domain::{call_limit::CallLimit, id::QueueId};

/// The configuration of the authorizer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthorizerConfig {
    /// The queues whose visitors may call the protected APIs.
    pub queues: ProtectedQueues,
    /// How often each entry may call them; `None` for no limit.
    pub limit: Option<CallLimit>,
}

/// A list of queues. An empty list has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProtectedQueues(Vec<QueuePattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum QueuePattern {
    /// This queue.
    Id(QueueId),
    /// Every queue whose id begins like this.
    Prefix(String),
}

/// A text that is no list of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a comma-separated list of queue ids; an id may end with * for all ids that begin like it")]
pub struct InvalidQueues;

impl ProtectedQueues {
    /// Whether the list has no queue.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the list contains a queue.
    pub fn contains(&self, queue: &QueueId) -> bool {
        self.0.iter().any(|pattern| match pattern {
            QueuePattern::Id(id) => id == queue,
            QueuePattern::Prefix(prefix) => queue.as_str().starts_with(prefix),
        })
    }

    /// The only queue of the list; `None` if the list may have several.
    pub fn only_queue(&self) -> Option<&QueueId> {
        match self.0.as_slice() {
            [QueuePattern::Id(id)] => Some(id),
            _ => None,
        }
    }
}

impl FromStr for ProtectedQueues {
    type Err = InvalidQueues;

    /// Parses ids that are separated by commas, such as `TIMEDEAL:123, RAFFLE:*`.
    fn from_str(text: &str) -> Result<Self, InvalidQueues> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        let patterns = items.map(|item| match item.strip_suffix('*') {
            Some("") => Ok(QueuePattern::Prefix(String::new())),
            // The beginning of an id is an id itself.
            Some(prefix) => prefix
                .parse::<QueueId>()
                .map(|prefix| QueuePattern::Prefix(prefix.to_string()))
                .map_err(|_| InvalidQueues),
            None => item.parse().map(QueuePattern::Id).map_err(|_| InvalidQueues),
        });
        patterns.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(list: &str) -> ProtectedQueues {
        list.parse().expect("a list")
    }

    fn contains(list: &str, queue: &str) -> bool {
        queues(list).contains(&queue.parse().expect("a queue id"))
    }

    #[test]
    fn a_list_contains_its_ids_and_prefixes_only() {
        let list = " TIMEDEAL:1, RAFFLE:*,";
        for own in ["TIMEDEAL:1", "RAFFLE:", "RAFFLE:2026"] {
            assert!(contains(list, own), "{own}");
        }
        for other in ["TIMEDEAL:12", "TIMEDEAL:", "RAFFLE", "raffle:1"] {
            assert!(!contains(list, other), "{other}");
        }
        assert!(contains("*", "any"));
        assert!(!contains("", "any") && queues(" , ").is_empty());
        for invalid in ["a b", "a*b", "**", "x/*", "-a"] {
            assert_eq!(
                invalid.parse::<ProtectedQueues>(),
                Err(InvalidQueues),
                "{invalid}"
            );
        }
    }

    #[test]
    fn a_single_id_is_the_only_queue() {
        assert_eq!(queues("a").only_queue().map(QueueId::as_str), Some("a"));
        for list in ["", "a,b", "a*"] {
            assert_eq!(queues(list).only_queue(), None, "{list}");
        }
    }
}
