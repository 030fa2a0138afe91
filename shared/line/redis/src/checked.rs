//! Records how far a consistency check has come: sends `record_check_progress.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::{QueueId, SHARDS};
use vestibule_line::LineError;

use super::{RedisLine, script::Command};

pub(super) static CHECKED: LazyLock<Command> =
    LazyLock::new(|| Command::new("checked", include_str!("checked.lua")));

pub(super) async fn note(line: &RedisLine, queue: &QueueId, shards: u8) -> Result<(), LineError> {
    let call = line.call(&CHECKED, queue).arg(shards).arg(SHARDS);
    call.send(line).await.map(drop)
}
