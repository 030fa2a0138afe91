//! Asks for the consistency check of a queue when it is due: sends `take_check.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{CheckOrder, CheckTurn, LineError};

use super::{RedisLine, script::Command};

pub(super) static CHECK: LazyLock<Command> =
    LazyLock::new(|| Command::new("check", include_str!("check.lua")));

pub(super) async fn take(
    line: &RedisLine,
    queue: &QueueId,
    order: CheckOrder,
) -> Result<CheckTurn, LineError> {
    let call = line
        .call(&CHECK, queue)
        .arg(order.every_ms)
        .arg(order.idle_ms)
        .arg(order.silent_ms);
    let mut reply = call.send(line).await?;
    let number = reply.number()?;
    match reply.outcome() {
        "early" => Ok(CheckTurn::Early { due_in_ms: number }),
        "due" => Ok(CheckTurn::Due {
            from_shard: u8::try_from(number).map_err(|_| reply.nonsense("a valid shard"))?,
        }),
        _ => Err(reply.nonsense("a known outcome")),
    }
}
