//! Records how far a consistency check has come: sends `record_check_progress.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::{QueueId, SHARD_COUNT};
use vestibule_line::LineError;

use super::{RedisLine, script::LuaScript};

pub(super) static RECORD_CHECK_PROGRESS: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("record_check_progress", include_str!("record_check_progress.lua")));

pub(super) async fn record_check_progress(
    line: &RedisLine,
    queue: &QueueId,
    shards: u8,
) -> Result<(), LineError> {
    let call = line
        .begin_call(&RECORD_CHECK_PROGRESS, queue)
        .arg(shards)
        .arg(SHARD_COUNT);
    call.send(line).await.map(drop)
}
