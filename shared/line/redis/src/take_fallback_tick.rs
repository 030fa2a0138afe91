//! Asks for a fallback tick while the promoter is down: sends `take_fallback_tick.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{FallbackTickOrder, LineError};

use super::{RedisLine, script::LuaScript};

pub(super) static TAKE_FALLBACK_TICK: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("take_fallback_tick", include_str!("take_fallback_tick.lua")));

pub(super) async fn take_fallback_tick(
    line: &RedisLine,
    queue: &QueueId,
    order: FallbackTickOrder,
) -> Result<bool, LineError> {
    let call = line
        .begin_call(&TAKE_FALLBACK_TICK, queue)
        .arg(order.promoter_down_after_ms)
        .arg(order.every_ms);
    let reply = call.send(line).await?;
    match reply.outcome() {
        "early" => Ok(false),
        "due" => Ok(true),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
