//! Sets the offset that the line adds to the server's clock: sends `adjust_clock.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{AdjustClockOutcome, LineError};

use super::{RedisLine, script::LuaScript};

pub(super) static ADJUST_CLOCK: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("adjust_clock", include_str!("adjust_clock.lua")));

pub(super) async fn adjust_clock(
    line: &RedisLine,
    queue: &QueueId,
    offset_ms: i64,
) -> Result<AdjustClockOutcome, LineError> {
    let reply = line
        .begin_call(&ADJUST_CLOCK, queue)
        .arg(offset_ms)
        .send(line)
        .await?;
    match reply.outcome() {
        "adjusted" => Ok(AdjustClockOutcome::Applied),
        "agree" => Ok(AdjustClockOutcome::ClocksAgree),
        "doubtful" => Ok(AdjustClockOutcome::NotConfirmed),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
