//! What an operator may ask of the defaults of new queues.

use serde_json::{Map, Value};
use vestibule_domain::queue_pattern::QueuePattern;
use vestibule_wire::commands::DefaultsOrder;

use super::{given_settings::in_ms, problem::Problem};

/// What the command `defaults` does.
pub(super) enum DefaultsAction {
    /// Shows the defaults of one pattern, or of all.
    Show(Option<QueuePattern>),
    /// Replaces the defaults of a pattern.
    Replace(QueuePattern, Map<String, Value>),
    /// Removes the defaults of a pattern.
    Remove(QueuePattern),
}

impl DefaultsAction {
    /// What an order wants.
    ///
    /// # Errors
    /// The order changes the defaults of no pattern, or to something else than settings.
    pub(super) fn of(order: &DefaultsOrder) -> Result<Self, Problem> {
        let pattern = order.prefix.clone();
        let Some(given) = &order.settings else {
            return Ok(Self::Show(pattern));
        };
        let pattern = pattern.ok_or_else(|| Problem::invalid_field("prefix", "is missing"))?;
        match given {
            Value::Null => Ok(Self::Remove(pattern)),
            Value::Object(map) if !map.is_empty() => Ok(Self::Replace(pattern, in_ms(map)?)),
            _ => Err(Problem::invalid_field(
                "settings",
                "must be an object of settings, or null to remove the defaults",
            )),
        }
    }
}
