//! Puts a configuration in force: sends `configure.lua`.

use std::sync::LazyLock;

use serde_json::Value;
use vestibule_domain::{
    configuration::Configuration,
    id::QueueId,
    settings::{Entrance, ReEntry},
};
use vestibule_line::{ConfigureOutcome, LineError};

use super::{RedisLine, script::LuaScript};

pub(super) static CONFIGURE: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("configure", include_str!("configure.lua")));

pub(super) async fn configure(
    line: &RedisLine,
    queue: &QueueId,
    configuration: &Configuration,
    create: bool,
) -> Result<ConfigureOutcome, LineError> {
    let call = line
        .begin_call(&CONFIGURE, queue)
        .arg(u8::from(create))
        .args(config_fields(configuration));
    let reply = call.send(line).await?;
    match reply.outcome() {
        "created" => Ok(ConfigureOutcome::Created),
        "changed" => Ok(ConfigureOutcome::Changed),
        "same" => Ok(ConfigureOutcome::Unchanged),
        "older" => Ok(ConfigureOutcome::Superseded),
        "behind" => Ok(ConfigureOutcome::NeedsRestore),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}

/// The fields of the hash `config`. One field has all settings as JSON. The settings that scripts read have
/// fields of their own as well.
pub(super) fn config_fields(configuration: &Configuration) -> Vec<String> {
    let settings = &configuration.settings;
    let entrance = match settings.entrance {
        Entrance::Open => "open",
        Entrance::Draining => "draining",
        Entrance::Closed => "closed",
    };
    let re_entry = match settings.re_entry {
        ReEntry::Keep => "keep",
        ReEntry::Requeue => "requeue",
    };
    [
        ("epoch", configuration.epoch.to_string()),
        ("generation", configuration.generation.to_string()),
        ("min_epoch", configuration.min_epoch.to_string()),
        ("salt", configuration.salt.to_text()),
        ("revision", configuration.revision.clone()),
        ("settings_order", configuration.settings_order.to_string()),
        ("settings", Value::Object(settings.to_map()).to_string()),
        ("entrance", entrance.to_owned()),
        ("re_entry", re_entry.to_owned()),
        ("paused", u8::from(settings.paused).to_string()),
        ("capacity", settings.capacity.to_string()),
        ("batch", settings.pace().batch.to_string()),
        ("interval_ms", settings.pace().interval_ms.to_string()),
        ("claim_ms", settings.claim_ms().to_string()),
        ("session_ms", settings.session_ms().to_string()),
    ]
    .into_iter()
    .flat_map(|(field, value)| [field.to_owned(), value])
    .collect()
}
