//! Moves a journal record to the dead letters: sends `dead_letter.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{LineError, SetAside};

use super::{RedisLine, keys::Keys, script::Command};

pub(super) static SET_ASIDE: LazyLock<Command> =
    LazyLock::new(|| Command::new("set_aside", include_str!("set_aside.lua")));

pub(super) async fn set_aside(line: &RedisLine, queue: &QueueId, key: &str) -> Result<SetAside, LineError> {
    let call = SET_ASIDE.of(&Keys::new(queue)).arg(key);
    let reply = call.arg(line.journal_limits.aside).send(line).await?;
    match reply.outcome() {
        "set-aside" => Ok(SetAside::Done),
        "gone" => Ok(SetAside::Gone),
        "full" => Ok(SetAside::Full),
        _ => Err(reply.nonsense("a known outcome")),
    }
}
