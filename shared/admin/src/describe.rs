//! The command `describe`: shows the configuration of a queue.

use serde_json::{Value, json};
use vestibule_domain::{
    id::QueueId,
    settings::{FIELDS, Field, FieldType, MESSAGE_LANGUAGES_MAX, TICKET_KEYS_BYTES_MAX, TICKET_KEYS_MAX},
};
use vestibule_line::LineError;
use vestibule_telemetry::version::{VERSION, commit};
use vestibule_wire::results::{Build, CommandHelp, QueueDescription, SettingHelp, to_value};

use super::{Admin, OPERATIONS, Operation, Problem};

impl Admin {
    /// Shows the settings in force and the stored settings. They differ for a moment after an edit
    /// in the table, or for as long as that edit is invalid.
    pub(super) async fn describe(&self, queue: &QueueId, help: bool) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let in_force = match self.line.queue_view(queue).await {
            Ok(view) => Some(view),
            Err(LineError::QueueNotFound) => None,
            Err(error) => return Err(error.into()),
        };
        let wrong = vestibule_engine::sync::build_configuration(&stored, self.policy).err();
        let (state, clock) = in_force.as_ref().map(|view| (view.state(), view.clocks)).unzip();
        let configuration = in_force.map(|view| view.view.configuration);
        let opened_at_ms = configuration.as_ref().and_then(|found| found.opened_at_ms);
        let (settings, revision) = configuration
            .map(|found| (found.settings, found.revision))
            .unzip();
        Ok(to_value(QueueDescription {
            queue: queue.to_string(),
            settings,
            revision,
            state,
            opened_at_ms,
            clock,
            stored_settings: stored.settings.to_value(),
            stored_settings_problem: wrong.map(|error| error.to_string()),
            epoch: stored.metadata.epoch,
            generation: stored.metadata.generation,
            min_epoch: stored.metadata.min_epoch,
            build: describe_build(),
            fields: help.then(|| FIELDS.iter().map(describe_setting).collect()),
            commands: help.then(|| OPERATIONS.iter().map(describe_command).collect()),
        }))
    }
}

/// Which build answers.
pub fn describe_build() -> Build {
    Build {
        version: VERSION,
        commit: commit(),
    }
}

fn describe_command(operation: &Operation) -> CommandHelp {
    CommandHelp {
        op: operation.name,
        arguments: operation.arguments(),
        needs_confirmation: operation.needs_confirmation,
        right: operation.right.name(),
        meaning: operation.meaning(),
    }
}

fn describe_setting(field: &Field) -> SettingHelp {
    let takes = match field.field_type {
        FieldType::Number { min, max } => json!({ "min": min, "max": max }),
        FieldType::Word(words) => json!({ "words": words }),
        FieldType::Time => json!({ "time": "Unix milliseconds, or null" }),
        FieldType::Flag => json!({ "words": ["true", "false"] }),
        FieldType::Message { max } => {
            json!({ "max_characters": max, "max_languages": MESSAGE_LANGUAGES_MAX })
        }
        FieldType::PublicKeys => {
            json!({ "keys_max": TICKET_KEYS_MAX, "bytes_max": TICKET_KEYS_BYTES_MAX, "form": "a JWK set" })
        }
        FieldType::Blocks { max } => json!({ "max_blocks": max }),
        FieldType::Url => json!({ "address": "https, or http of the loopback host" }),
    };
    SettingHelp {
        name: field.name,
        unit: field.unit,
        takes,
        default: field.default_text(),
        meaning: field.meaning,
    }
}
