//! The settings in a command.

use serde_json::{Map, Value};
use vestibule_backup::SettingsRevision;
use vestibule_domain::settings::{FIELDS, Field, FieldType, SettingsError, times_in_ms};
use vestibule_wire::commands::UpdateOrder;

use super::problem::Problem;

/// The settings that an update changes, with their times in Unix milliseconds.
pub(super) fn read_settings(order: &UpdateOrder) -> Result<Map<String, Value>, Problem> {
    if order.settings.0.is_empty() {
        return Err(Problem::invalid_field(
            "settings",
            "must name at least one setting to change",
        ));
    }
    in_ms(&order.settings.0)
}

/// The settings that the operator of an update has seen.
pub(super) fn read_revision(order: &UpdateOrder) -> Result<Option<SettingsRevision>, Problem> {
    let not_shown = || Problem::invalid_field("revision", "must be the revision that describe shows");
    let text = order.revision.as_deref();
    text.map(|text| SettingsRevision::from_text(text).ok_or_else(not_shown))
        .transpose()
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
