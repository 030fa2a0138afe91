//! Drops a queue that is to be restored with a later epoch: sends `drop_queue.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::LineError;

use super::{RedisLine, keys::Keys, script::Command};

pub(super) static FORGET: LazyLock<Command> =
    LazyLock::new(|| Command::new("forget", include_str!("forget.lua")));

pub(super) async fn forget(line: &RedisLine, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
    let reply = FORGET.of(&Keys::new(queue)).arg(epoch).send(line).await?;
    match reply.outcome() {
        "forgotten" => Ok(true),
        "later" => Ok(false),
        _ => Err(reply.nonsense("a known outcome")),
    }
}
