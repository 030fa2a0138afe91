//! What an operator may ask of the defaults of new queues.

use serde_json::{Map, Value};
use vestibule_domain::queue_pattern::QueuePattern;

/// What the command `defaults` does.
#[derive(Debug)]
pub(super) enum DefaultsOrder {
    /// Shows the defaults of one pattern, or of all.
    Show(Option<QueuePattern>),
    /// Replaces the defaults of a pattern.
    Replace(QueuePattern, Map<String, Value>),
    /// Removes the defaults of a pattern.
    Remove(QueuePattern),
}
