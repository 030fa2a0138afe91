//! The commands of operators, and how they are parsed from JSON. Parsing is strict: a command with an unknown
//! or invalid field is refused and changes nothing.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use vestibule_domain::{
    id::{EntryId, QueueId, SHARD_COUNT, Visitor, VisitorKind},
    plan::Demand,
};

use super::problem::Problem;

/// The names of all operations: the values of the field `op`.
pub const OPERATIONS: [&str; 17] = [
    "create", "update", "describe", "list", "open", "pause", "resume", "drain", "close", "promote", "evict",
    "inspect", "stats", "check", "plan", "restore", "reset",
];

/// The most entries that one manual promote may ask for.
const PROMOTE_COUNT_MAX: u64 = 1_000_000;

/// One command.
#[derive(Debug)]
pub enum Command {
    /// Adds a queue with these settings.
    Create(QueueId, Map<String, Value>),
    /// Changes the given settings and no others.
    Update(QueueId, Map<String, Value>),
    /// Shows a queue's settings. With `true`, also describes every setting (`help`).
    Describe(QueueId, bool),
    /// Lists all queues.
    List,
    /// Lets new visitors enter.
    Open(QueueId),
    /// Stops promotion. Visitors may still enter.
    Pause(QueueId),
    /// Resumes promotion.
    Resume(QueueId),
    /// Drains the queue: refuses new visitors and promotes those who wait.
    Drain(QueueId),
    /// Closes the queue: refuses new visitors and stops promotion.
    Close(QueueId, Confirmation),
    /// Promotes at most this many entries now.
    Promote(QueueId, u64),
    /// Removes an entry.
    Evict(QueueId, EntrySelector, Confirmation),
    /// Shows an entry.
    Inspect(QueueId, EntrySelector),
    /// Shows the statistics of a queue.
    Stats(QueueId),
    /// Compares the line with the backup and repairs differences, from this shard on.
    Check(QueueId, u8),
    /// Computes settings for a protected service with this demand.
    Plan(Demand),
    /// Restores the line from the backup.
    Restore(QueueId, Confirmation),
    /// Empties the queue by starting a new generation. All earlier tokens and passes become void.
    Reset(QueueId, Confirmation),
}

/// Selects one entry.
#[derive(Debug)]
pub enum EntrySelector {
    /// By the entry's token.
    Token(EntryId),
    /// By the visitor, from whose id the entry's token is derived.
    Visitor(Visitor),
}

/// The values that a destructive command must repeat, so that the console's test button does not run such a
/// command twice by accident. Parsing does not verify the values, because the right ones are known only once
/// the queue was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The queue's id, repeated.
    pub confirm: Option<String>,
    /// The queue's current epoch.
    pub epoch: Option<u64>,
}

impl Command {
    /// Parses a command.
    ///
    /// # Errors
    /// [`Problem`] with the name of the first field that is missing, unknown or invalid.
    pub fn parse(event: Value) -> Result<Self, Problem> {
        let Value::Object(object) = event else {
            return Err(Problem::not_an_object());
        };
        let mut fields = CommandFields(object);
        let op = fields.op()?;
        let command = match op.as_str() {
            "list" => Self::List,
            "create" => Self::Create(fields.queue()?, fields.settings(false)?),
            "update" => Self::Update(fields.queue()?, fields.settings(true)?),
            "describe" => Self::Describe(fields.queue()?, fields.flag("help")?),
            "open" => Self::Open(fields.queue()?),
            "pause" => Self::Pause(fields.queue()?),
            "resume" => Self::Resume(fields.queue()?),
            "drain" => Self::Drain(fields.queue()?),
            "close" => Self::Close(fields.queue()?, fields.confirmation()?),
            "promote" => Self::Promote(fields.queue()?, fields.count()?),
            "evict" => Self::Evict(fields.queue()?, fields.entry_selector()?, fields.confirmation()?),
            "inspect" => Self::Inspect(fields.queue()?, fields.entry_selector()?),
            "stats" => Self::Stats(fields.queue()?),
            "check" => Self::Check(fields.queue()?, fields.from_shard()?),
            "plan" => Self::Plan(fields.demand()?),
            "restore" => Self::Restore(fields.queue()?, fields.confirmation()?),
            "reset" => Self::Reset(fields.queue()?, fields.confirmation()?),
            other => {
                let reason = format!(
                    "{other:?} is not an operation; use one of {}",
                    OPERATIONS.join(", ")
                );
                return Err(Problem::invalid_field("op", reason));
            }
        };
        fields.reject_unread_fields(&op)?;
        Ok(command)
    }
}

/// The fields of a command that the parser has not read yet.
pub(super) struct CommandFields(Map<String, Value>);

impl CommandFields {
    fn string(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::invalid_field(name, "must be a string")),
        }
    }

    fn number(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(Problem::invalid_field(name, "must be a whole number")),
            },
        }
    }

    /// Reads a whole number within a range. The field is required if `default` is `None`.
    pub(super) fn integer_in_range(
        &mut self,
        name: &str,
        default: Option<u32>,
        range: RangeInclusive<u32>,
    ) -> Result<u32, Problem> {
        let given = self
            .number(name)?
            .map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        given
            .or(default)
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (min, max) = (range.start(), range.end());
                Problem::invalid_field(name, format!("must be a whole number from {min} to {max}"))
            })
    }

    fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Problem::invalid_field(name, "must be true or false")),
        }
    }

    fn op(&mut self) -> Result<String, Problem> {
        let reason = || format!("is missing; use one of {}", OPERATIONS.join(", "));
        self.string("op")?
            .ok_or_else(|| Problem::invalid_field("op", reason()))
    }

    fn queue(&mut self) -> Result<QueueId, Problem> {
        let text = self
            .string("queue")?
            .ok_or_else(|| Problem::invalid_field("queue", "is missing"))?;
        text.parse().map_err(|error| Problem::invalid_id("queue", &error))
    }

    fn settings(&mut self, required: bool) -> Result<Map<String, Value>, Problem> {
        match self.0.remove("settings") {
            Some(Value::Object(map)) if required && map.is_empty() => Err(Problem::invalid_field(
                "settings",
                "must name at least one setting to change",
            )),
            Some(Value::Object(map)) => Ok(map),
            None if !required => Ok(Map::new()),
            None => Err(Problem::invalid_field("settings", "is missing")),
            Some(_) => Err(Problem::invalid_field(
                "settings",
                "must be an object of settings",
            )),
        }
    }

    fn count(&mut self) -> Result<u64, Problem> {
        match self.number("count")? {
            Some(count) if (1..=PROMOTE_COUNT_MAX).contains(&count) => Ok(count),
            _ => Err(Problem::invalid_field(
                "count",
                format!("must be a whole number from 1 to {PROMOTE_COUNT_MAX}"),
            )),
        }
    }

    fn from_shard(&mut self) -> Result<u8, Problem> {
        let last = u32::from(SHARD_COUNT) - 1;
        let shard = self.integer_in_range("from_shard", Some(0), 0..=last)?;
        Ok(u8::try_from(shard).unwrap_or(SHARD_COUNT - 1))
    }

    fn confirmation(&mut self) -> Result<Confirmation, Problem> {
        Ok(Confirmation {
            confirm: self.string("confirm")?,
            epoch: self.number("epoch")?,
        })
    }

    fn entry_selector(&mut self) -> Result<EntrySelector, Problem> {
        match (self.string("token")?, self.string("visitor")?) {
            (Some(token), None) => match token.parse() {
                Ok(id) => Ok(EntrySelector::Token(id)),
                Err(error) => Err(Problem::invalid_id("token", &error)),
            },
            (None, Some(id)) => {
                let visitor = match self.kind()? {
                    VisitorKind::Known => Visitor::known(&id),
                    VisitorKind::Anon => Visitor::anonymous(&id),
                };
                visitor
                    .map(EntrySelector::Visitor)
                    .map_err(|error| Problem::invalid_id("visitor", &error))
            }
            (None, None) => Err(Problem::invalid_field(
                "token",
                "is missing; name the entry by its token or by its visitor",
            )),
            (Some(_), Some(_)) => Err(Problem::invalid_field(
                "visitor",
                "must not be given together with a token; name the entry by one of the two",
            )),
        }
    }

    fn kind(&mut self) -> Result<VisitorKind, Problem> {
        match self.string("kind")?.as_deref() {
            None | Some("known") => Ok(VisitorKind::Known),
            Some("anon") => Ok(VisitorKind::Anon),
            Some(_) => Err(Problem::invalid_field("kind", "must be known or anon")),
        }
    }

    /// Refuses a command with a field that its operation does not read.
    fn reject_unread_fields(self, op: &str) -> Result<(), Problem> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(Problem::invalid_field(
                name,
                format!("the operation {op} has no such field"),
            )),
        }
    }
}
