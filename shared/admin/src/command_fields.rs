//! The fields of a command, and how each is parsed from JSON.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use vestibule_backup::SettingsRevision;
use vestibule_domain::{
    id::{QueueId, SHARD_COUNT},
    lane::Lane,
    number::whole_number,
    settings::{FIELDS, Field, FieldType, FinishReason, Settings, SettingsError, times_in_ms},
};

use super::{
    Problem,
    command::{Confirmation, ListOrder, UpdateOrder},
};

/// The most entries that one manual promote may ask for.
const PROMOTE_COUNT_MAX: u64 = 1_000_000;

/// The longest block with an end, in seconds: 30 days.
const BLOCK_SECONDS_MAX: u32 = 30 * 24 * 3_600;

/// The fields of a command that the parser has not read yet.
pub(super) struct CommandFields {
    /// The name of the operation.
    operation: &'static str,
    /// The fields that the operation declares, apart from `op`.
    declared: Vec<&'static str>,
    unread: Map<String, Value>,
    /// The queue of the command, once it is read.
    queue: Option<QueueId>,
}

impl CommandFields {
    /// All fields of a command apart from `op`, none of them read yet.
    pub(super) fn new(
        operation: &'static str,
        declared: Vec<&'static str>,
        unread: Map<String, Value>,
    ) -> Self {
        Self {
            operation,
            declared,
            unread,
            queue: None,
        }
    }

    /// Takes the value of a field, which the operation must declare.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        debug_assert!(
            self.declared.contains(&name),
            "{} declares {name}",
            self.operation
        );
        self.unread.remove(name)
    }

    pub(super) fn string(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::invalid_field(name, "must be a string")),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match whole_number(&value) {
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

    /// Reads a whole number within a range, if it is given.
    pub(super) fn optional_integer_in_range(
        &mut self,
        name: &str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Problem> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(None),
            Some(given) => {
                self.unread.insert(name.to_owned(), given);
                self.integer_in_range(name, None, range).map(Some)
            }
        }
    }

    /// Reads a required number from 0.001 to `max` with at most three decimals, in thousandths.
    pub(super) fn thousandths(&mut self, name: &str, max: u32) -> Result<u32, Problem> {
        let given = self.take(name).and_then(|value| value.as_f64());
        let thousandths = given.map(|number| number * 1_000.0).filter(|thousandths| {
            (1.0..=f64::from(max) * 1_000.0).contains(thousandths)
                && (thousandths - thousandths.round()).abs() < 1e-6
        });
        // The range is checked above.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        thousandths
            .map(|thousandths| thousandths.round() as u32)
            .ok_or_else(|| {
                let reason = format!("must be a number from 0.001 to {max}, with at most three decimals");
                Problem::invalid_field(name, reason)
            })
    }

    /// Reads why a queue is over; `over` if it is not given.
    pub(super) fn finish_reason(&mut self) -> Result<FinishReason, Problem> {
        let word = self.take("reason").filter(|word| !word.is_null());
        let reason = word.map_or(Ok(FinishReason::Over), serde_json::from_value);
        let words = FinishReason::WORDS.join(", ");
        reason.map_err(|_| Problem::invalid_field("reason", format!("must be one of {words}")))
    }

    /// Reads the message of visitors, if it is given, and refuses what the setting of that name may not be.
    pub(super) fn message(&mut self) -> Result<Option<Value>, Problem> {
        let Some(message) = self.take("message").filter(|message| !message.is_null()) else {
            return Ok(None);
        };
        let given = Map::from_iter([("message".to_owned(), message.clone())]);
        let checked = Settings::default().with_fields(&given);
        checked.map_err(|error| Problem::invalid_setting(&error))?;
        Ok(Some(message))
    }

    /// Reads for how long a block lasts, if that is given.
    pub(super) fn block_seconds(&mut self) -> Result<Option<u32>, Problem> {
        self.optional_integer_in_range("for_seconds", 1..=BLOCK_SECONDS_MAX)
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        match self.take(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Problem::invalid_field(name, "must be true or false")),
        }
    }

    pub(super) fn queue(&mut self) -> Result<QueueId, Problem> {
        let text = self
            .string("queue")?
            .ok_or_else(|| Problem::invalid_field("queue", "is missing"))?;
        let queue: QueueId = text
            .parse()
            .map_err(|error| Problem::invalid_id("queue", &error))?;
        self.queue = Some(queue.clone());
        Ok(queue)
    }

    pub(super) fn settings(&mut self, required: bool) -> Result<Map<String, Value>, Problem> {
        match self.take("settings") {
            Some(Value::Object(map)) if required && map.is_empty() => Err(Problem::invalid_field(
                "settings",
                "must name at least one setting to change",
            )),
            Some(Value::Object(map)) => in_ms(&map),
            None if !required => Ok(Map::new()),
            None => Err(Problem::invalid_field("settings", "is missing")),
            Some(_) => Err(Problem::invalid_field(
                "settings",
                "must be an object of settings",
            )),
        }
    }

    /// Reads a change of settings.
    pub(super) fn update_order(&mut self) -> Result<UpdateOrder, Problem> {
        let queue = self.queue()?;
        let settings = self.settings(true)?;
        let revision = self.string("revision")?;
        let not_shown = || Problem::invalid_field("revision", "must be the revision that describe shows");
        let revision = revision
            .map(|text| SettingsRevision::from_text(&text).ok_or_else(not_shown))
            .transpose()?;
        Ok(UpdateOrder {
            queue,
            settings,
            revision,
            confirmation: self.confirmation()?,
        })
    }

    /// Reads which queues to list. The prefix may end with a `*`, as that of defaults does.
    pub(super) fn list_order(&mut self) -> Result<ListOrder, Problem> {
        let prefix = self.string("prefix")?.unwrap_or_default();
        let after = self.string("after")?.map(|text| text.parse());
        Ok(ListOrder {
            prefix: prefix.trim_end_matches('*').to_owned(),
            after: after
                .transpose()
                .map_err(|error| Problem::invalid_id("after", &error))?,
        })
    }

    pub(super) fn count(&mut self) -> Result<u64, Problem> {
        match self.number("count")? {
            Some(count) if (1..=PROMOTE_COUNT_MAX).contains(&count) => Ok(count),
            _ => Err(Problem::invalid_field(
                "count",
                format!("must be a whole number from 1 to {PROMOTE_COUNT_MAX}"),
            )),
        }
    }

    /// Reads a lane.
    pub(super) fn lane(&mut self) -> Result<Lane, Problem> {
        let number = self.integer_in_range("lane", None, 0..=Lane::LAST.number().into())?;
        Ok(Lane::new(number.into()).unwrap_or_default())
    }

    pub(super) fn take_from_shard(&mut self) -> Result<u8, Problem> {
        let last = u32::from(SHARD_COUNT) - 1;
        let shard = self.integer_in_range("from_shard", Some(0), 0..=last)?;
        Ok(u8::try_from(shard).unwrap_or(SHARD_COUNT - 1))
    }

    pub(super) fn confirmation(&mut self) -> Result<Confirmation, Problem> {
        let queue = match self.queue.take() {
            Some(queue) => queue,
            None => self.queue()?,
        };
        Ok(Confirmation {
            queue,
            confirm: self.string("confirm")?,
            epoch: self.number("epoch")?,
        })
    }

    /// Refuses a command with a field that its operation does not read.
    pub(super) fn reject_unread_fields(self) -> Result<(), Problem> {
        match self.unread.keys().next() {
            None => Ok(()),
            Some(name) => Err(Problem::invalid_field(
                name,
                format!("the operation {} has no such field", self.operation),
            )),
        }
    }
}

/// The given settings, with their times in Unix milliseconds. An order names each time once.
pub(super) fn in_ms(given: &Map<String, Value>) -> Result<Map<String, Value>, Problem> {
    let is_twice = |field: &&Field| {
        let is_time = field.field_type == FieldType::Time;
        is_time && given.contains_key(field.name) && given.contains_key(field.text_name())
    };
    if let Some(field) = FIELDS.iter().find(is_twice) {
        return Err(Problem::invalid_setting(&SettingsError {
            field: field.text_name().to_owned(),
            reason: format!(
                "must not be given together with {}; give one of the two",
                field.name
            ),
        }));
    }
    let given = times_in_ms(given).map_err(|error| Problem::invalid_setting(&error))?;
    Ok(given.into_owned())
}
