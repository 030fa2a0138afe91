//! Removes a deleted queue and keeps its tombstone: sends `delete_queue.lua`.

use std::sync::LazyLock;

use vestibule_domain::{id::QueueId, tombstone::Tombstone};
use vestibule_line::LineError;

use super::{RedisLine, keys::Keys, script::LuaScript};

pub(super) static DELETE_QUEUE: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("delete_queue", include_str!("delete_queue.lua")));

pub(super) async fn delete_queue(
    line: &RedisLine,
    queue: &QueueId,
    tombstone: &Tombstone,
) -> Result<bool, LineError> {
    let kept_ms = tombstone.delete_at_ms().saturating_sub(vestibule_clock::now_ms());
    let reply = DELETE_QUEUE
        .call_for_queue(&Keys::new(queue))
        .arg(tombstone.epoch)
        .arg(tombstone.generation)
        .arg(tombstone.deleted_at_ms)
        .arg(kept_ms.div_ceil(1_000).max(1))
        .send(line)
        .await?;
    match reply.outcome() {
        "deleted" => Ok(true),
        "later" => Ok(false),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
