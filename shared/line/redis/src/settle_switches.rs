//! Reads the switches that the backup may not have, and notes that it has them: sends `settle_switches.lua`.

use std::sync::LazyLock;

use redis::Cmd;
use vestibule_domain::id::QueueId;
use vestibule_line::{LineError, UnsavedSwitches};

use super::{RedisLine, connect::Request, keys::Keys, script::LuaScript};

pub(super) static SETTLE_SWITCHES: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("settle_switches", include_str!("settle_switches.lua")));

pub(super) async fn settle_switches(
    line: &RedisLine,
    queue: &QueueId,
    serial: u64,
) -> Result<bool, LineError> {
    let call = SETTLE_SWITCHES.call_for_queue(&Keys::new(queue)).arg(serial);
    let reply = call.send(line).await?;
    match reply.outcome() {
        "settled" => Ok(true),
        "later" => Ok(false),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}

pub(super) async fn unsaved_switches(
    line: &RedisLine,
    queue: &QueueId,
) -> Result<Option<UnsavedSwitches>, LineError> {
    let mut command = Cmd::new();
    command.arg("HMGET").arg(Keys::new(queue).key("config")).arg(&[
        "epoch",
        "unsaved_switches",
        "switch_serial",
    ]);
    let (epoch, names, serial): (Option<u32>, Option<String>, Option<u64>) =
        line.connection.send(Request::Command(&command)).await?;
    if epoch.is_none() {
        return Err(LineError::QueueNotFound);
    }
    Ok(names.map(|names| {
        let mut names: Vec<_> = names.split_whitespace().map(str::to_owned).collect();
        names.sort_unstable();
        let serial = serial.unwrap_or_default();
        UnsavedSwitches { serial, names }
    }))
}
