//! Puts a configuration in force: sends `configure.lua`.

use serde_json::Value;
use vestibule_domain::{
    configuration::{Configuration, LAYOUT},
    id::QueueId,
    kept_times::KeptTimes,
    settings::FIELDS,
};

use super::{Line, script::script};
use crate::{ConfigureOutcome, LineError, SwitchOrder};

script!(CONFIGURE, "recovery/configure");

impl Line {
    /// Puts a configuration in force. Creates the queue empty if the line does not have it and
    /// `create` is set. A deleted queue is created again only with an epoch above that of its tombstone.
    ///
    /// The line applies optimistic concurrency:
    ///
    /// - [`ConfigureOutcome::Superseded`]: the given epoch is earlier than the one in force, or the
    ///   epochs are equal and the given `settings_order` is lower. A newer configuration has
    ///   overtaken the caller's copy.
    /// - At the same `settings_order` the last call wins, because an edit by hand does not raise
    ///   the order.
    /// - [`ConfigureOutcome::NeedsRestore`]: the given epoch is later. The caller has to restore
    ///   the queue first.
    /// - [`ConfigureOutcome::SwitchesUnsaved`]: a [`switch`](Self::switch) is in force that the backup may not have. The
    ///   caller has to save it there first, and then [settles](Self::settle_switches) it.
    pub async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<ConfigureOutcome, LineError> {
        send_configuration(self, queue, configuration, create, ["", ""]).await
    }
}

impl Line {
    /// Puts a switch in force that the backup does not have, because it is away. Until the switch is
    /// [settled](Self::settle_switches), no configuration from the backup replaces it.
    ///
    /// Changes nothing if another configuration is in force than the one that the caller has changed
    /// ([`ConfigureOutcome::Superseded`]), or if the switch has this value ([`ConfigureOutcome::Unchanged`]).
    pub async fn switch(&self, queue: &QueueId, order: &SwitchOrder) -> Result<ConfigureOutcome, LineError> {
        let switch = [order.name, &order.revision_before];
        send_configuration(self, queue, &order.configuration, false, switch).await
    }
}

async fn send_configuration(
    line: &Line,
    queue: &QueueId,
    configuration: &Configuration,
    create: bool,
    switch: [&str; 2],
) -> Result<ConfigureOutcome, LineError> {
    let call = line
        .begin_call(&CONFIGURE, queue)
        .arg(u8::from(create))
        .args(switch)
        .args(config_fields(line, configuration));
    let reply = call.send(line).await?;
    match reply.outcome() {
        "created" => Ok(ConfigureOutcome::Created),
        "changed" => Ok(ConfigureOutcome::Changed),
        "same" => Ok(ConfigureOutcome::Unchanged),
        "older" => Ok(ConfigureOutcome::Superseded),
        "unsaved" => Ok(ConfigureOutcome::SwitchesUnsaved),
        "behind" => Ok(ConfigureOutcome::NeedsRestore),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}

/// The fields of the hash `config`. One field has all settings as JSON. The settings that scripts
/// read have fields of their own as well.
pub(super) fn config_fields(line: &Line, configuration: &Configuration) -> Vec<String> {
    let settings = configuration.settings.to_map();
    let for_scripts = FIELDS
        .iter()
        .filter(|field| field.is_read_by_scripts)
        .map(|field| script_field(field.name, &settings[field.name]));
    let fields = [
        ("layout", LAYOUT.to_string()),
        ("backup", line.backup_name.to_string()),
        ("epoch", configuration.epoch.to_string()),
        ("generation", configuration.generation.to_string()),
        ("min_epoch", configuration.min_epoch.to_string()),
        ("salt", configuration.salt.to_text()),
        (
            "opened_at_ms",
            configuration.opened_at_ms.unwrap_or(0).to_string(),
        ),
        ("revision", configuration.revision.clone()),
        ("settings_order", configuration.settings_order.to_string()),
        ("settings", Value::Object(settings.clone()).to_string()),
    ];
    // A copy from before the root key was recorded takes nothing back.
    let root = configuration
        .salt
        .root()
        .map(|root| ("root_key", root.to_string()));
    let kept = configuration.kept_times;
    let kept = (kept != KeptTimes::default()).then(|| ("kept_times", kept.to_string()));
    fields
        .into_iter()
        .chain(root)
        .chain(kept)
        .map(|(field, value)| (field.to_owned(), value))
        .chain(for_scripts)
        .flat_map(|(field, value)| [field, value])
        .collect()
}

/// Returns the field in which scripts find a setting. They read durations in milliseconds, and
/// flags as 0 or 1.
fn script_field(name: &str, value: &Value) -> (String, String) {
    match (name.strip_suffix("_seconds"), value) {
        (Some(stem), Value::Number(seconds)) => {
            let ms = seconds.as_u64().unwrap_or_default() * 1_000;
            (format!("{stem}_ms"), ms.to_string())
        }
        (_, Value::Bool(flag)) => (name.to_owned(), u8::from(*flag).to_string()),
        (_, Value::String(text)) => (name.to_owned(), text.clone()),
        // A moment that is not set.
        (_, Value::Null) => (name.to_owned(), "0".to_owned()),
        (_, other) => (name.to_owned(), other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use vestibule_domain::settings::Settings;

    use super::*;

    /// Scripts, also those of another build during a deployment, read these fields by name.
    #[test]
    fn scripts_find_settings_under_stable_names() {
        let settings = Settings {
            paused: true,
            ..Settings::default()
        };
        let map = settings.to_map();
        let found: Vec<_> = FIELDS
            .iter()
            .filter(|field| field.is_read_by_scripts)
            .map(|field| script_field(field.name, &map[field.name]))
            .collect();
        for (name, value) in [
            ("entrance", "open"),
            ("re_entry", "keep"),
            ("paused", "1"),
            ("capacity", "100"),
            ("batch", "10"),
            ("interval_ms", "10000"),
            ("claim_ms", "60000"),
            ("session_ms", "300000"),
        ] {
            assert!(
                found.contains(&(name.to_owned(), value.to_owned())),
                "{name} in {found:?}"
            );
        }
    }
}
