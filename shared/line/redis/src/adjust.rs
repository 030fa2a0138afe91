//! Sets the offset that the line adds to the server's clock: sends `adjust_clock.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{Adjusted, LineError};

use super::{RedisLine, script::Command};

pub(super) static ADJUST: LazyLock<Command> =
    LazyLock::new(|| Command::new("adjust", include_str!("adjust.lua")));

pub(super) async fn adjust(line: &RedisLine, queue: &QueueId, offset_ms: i64) -> Result<Adjusted, LineError> {
    let reply = line.call(&ADJUST, queue).arg(offset_ms).send(line).await?;
    match reply.outcome() {
        "adjusted" => Ok(Adjusted::Adjusted),
        "agree" => Ok(Adjusted::Agree),
        "doubtful" => Ok(Adjusted::Doubtful),
        _ => Err(reply.nonsense("a known outcome")),
    }
}
