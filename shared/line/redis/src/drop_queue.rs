//! Drops a queue that is to be restored with a later epoch: sends `drop_queue.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::LineError;

use super::{RedisLine, keys::Keys, script::LuaScript};

pub(super) static DROP_QUEUE: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("drop_queue", include_str!("drop_queue.lua")));

pub(super) async fn drop_queue(line: &RedisLine, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
    let reply = DROP_QUEUE
        .call_for_queue(&Keys::new(queue))
        .arg(epoch)
        .send(line)
        .await?;
    match reply.outcome() {
        "dropped" => Ok(true),
        "later" => Ok(false),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
