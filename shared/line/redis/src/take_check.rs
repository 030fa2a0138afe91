//! Asks for the consistency check of a queue when it is due: sends `take_check.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{CheckAssignment, CheckOrder, LineError};

use super::{RedisLine, script::LuaScript};

pub(super) static TAKE_CHECK: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("take_check", include_str!("take_check.lua")));

pub(super) async fn take_check(
    line: &RedisLine,
    queue: &QueueId,
    order: CheckOrder,
) -> Result<CheckAssignment, LineError> {
    let call = line
        .begin_call(&TAKE_CHECK, queue)
        .arg(order.every_ms)
        .arg(order.idle_ms)
        .arg(order.loss_ms)
        .arg(order.silent_ms);
    let mut reply = call.send(line).await?;
    let number = reply.read_number()?;
    match reply.outcome() {
        "early" => Ok(CheckAssignment::NotDue { due_in_ms: number }),
        "due" => Ok(CheckAssignment::Due {
            from_shard: u8::try_from(number).map_err(|_| reply.protocol_error("a valid shard"))?,
        }),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
