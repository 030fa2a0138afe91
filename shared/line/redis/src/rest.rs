//! Takes back the heartbeat of a promoter that goes idle, so that the next request ticks the queue: sends
//! `park_idle_promoter.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::LineError;

use super::{RedisLine, keys::Keys, script::Command};

pub(super) static REST: LazyLock<Command> = LazyLock::new(|| Command::new("rest", include_str!("rest.lua")));

pub(super) async fn rest(line: &RedisLine, queue: &QueueId) -> Result<bool, LineError> {
    let reply = REST.of(&Keys::new(queue)).send(line).await?;
    match reply.outcome() {
        "busy" => Ok(false),
        "resting" => Ok(true),
        _ => Err(reply.nonsense("a known outcome")),
    }
}
