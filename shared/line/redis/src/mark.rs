//! Raises the watermark that shows whether Redis lost recent changes: sends `raise_watermark.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{LineError, Marked};

use super::{RedisLine, keys::Keys, script::Command};

pub(super) static MARK: LazyLock<Command> = LazyLock::new(|| Command::new("mark", include_str!("mark.lua")));

pub(super) async fn mark(
    line: &RedisLine,
    queue: &QueueId,
    epoch: u32,
    fence: u64,
) -> Result<Marked, LineError> {
    let call = MARK.of(&Keys::new(queue)).arg(epoch).arg(fence);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "other" => Ok(Marked::Other),
        "old" => Ok(Marked::Old),
        "same" => Ok(Marked::Same),
        "marked" => Ok(Marked::Marked(reply.number()?)),
        _ => Err(reply.nonsense("a known outcome")),
    }
}
