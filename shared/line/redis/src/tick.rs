//! Asks for a fallback tick while the promoter is down: sends `take_fallback_tick.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{LineError, TickOrder};

use super::{RedisLine, script::Command};

pub(super) static TICK: LazyLock<Command> = LazyLock::new(|| Command::new("tick", include_str!("tick.lua")));

pub(super) async fn take(line: &RedisLine, queue: &QueueId, order: TickOrder) -> Result<bool, LineError> {
    let call = line
        .call(&TICK, queue)
        .arg(order.away_after_ms)
        .arg(order.every_ms);
    let reply = call.send(line).await?;
    match reply.outcome() {
        "early" => Ok(false),
        "due" => Ok(true),
        _ => Err(reply.nonsense("a known outcome")),
    }
}
