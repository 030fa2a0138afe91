//! The fields of the commands that act on many queues: `create` with a list, and `defaults`.

use serde_json::Value;
use vestibule_domain::queue_pattern::QueuePattern;

use super::{
    Problem,
    command::Command,
    command_fields::{CommandFields, in_ms},
    create_many::CREATE_QUEUES_MAX,
    defaults_order::DefaultsOrder,
};

impl CommandFields {
    /// Reads the queue or the queues to create, and their settings.
    pub(super) fn create_order(&mut self) -> Result<Command, Problem> {
        let names = match self.take("queues") {
            None | Some(Value::Null) => {
                let queue = self.queue()?;
                return Ok(Command::Create(queue, self.settings(false)?));
            }
            Some(Value::Array(names)) if (1..=CREATE_QUEUES_MAX).contains(&names.len()) => names,
            Some(_) => {
                let reason = format!("must be a list of 1 to {CREATE_QUEUES_MAX} queue ids");
                return Err(Problem::invalid_field("queues", reason));
            }
        };
        // A single queue beside the list is the first of the order.
        let one = self.string("queue")?.map(Value::String);
        let names = one.into_iter().chain(names).collect();
        Ok(Command::CreateMany(names, self.settings(false)?))
    }

    /// Reads what to do with the defaults of a pattern: `settings` with an object replaces them, `null` removes them, and
    /// without the field they are shown.
    pub(super) fn defaults_order(&mut self) -> Result<DefaultsOrder, Problem> {
        let pattern = self.string("prefix")?.map(|text| text.parse::<QueuePattern>());
        let pattern = pattern
            .transpose()
            .map_err(|error| Problem::invalid_id("prefix", &error))?;
        let Some(given) = self.take("settings") else {
            return Ok(DefaultsOrder::Show(pattern));
        };
        let pattern = pattern.ok_or_else(|| Problem::invalid_field("prefix", "is missing"))?;
        match given {
            Value::Null => Ok(DefaultsOrder::Remove(pattern)),
            Value::Object(map) if !map.is_empty() => Ok(DefaultsOrder::Replace(pattern, in_ms(&map)?)),
            _ => Err(Problem::invalid_field(
                "settings",
                "must be an object of settings, or null to remove the defaults",
            )),
        }
    }
}
