//! Takes back the heartbeat of a promoter that goes idle, so that the next request ticks the queue:
//! sends `park_idle_promoter.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::LineError;

use super::{RedisLine, keys::Keys, script::LuaScript};

pub(super) static PARK_IDLE_PROMOTER: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("park_idle_promoter", include_str!("park_idle_promoter.lua")));

pub(super) async fn park_idle_promoter(line: &RedisLine, queue: &QueueId) -> Result<bool, LineError> {
    let reply = PARK_IDLE_PROMOTER
        .call_for_queue(&Keys::new(queue))
        .send(line)
        .await?;
    match reply.outcome() {
        "busy" => Ok(false),
        "parked" => Ok(true),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
