//! Moves a journal record to the dead letters: sends `dead_letter.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{DeadLetterOutcome, LineError};

use super::{RedisLine, keys::Keys, script::LuaScript};

pub(super) static DEAD_LETTER: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("dead_letter", include_str!("dead_letter.lua")));

pub(super) async fn dead_letter(
    line: &RedisLine,
    queue: &QueueId,
    key: &str,
) -> Result<DeadLetterOutcome, LineError> {
    let call = DEAD_LETTER.call_for_queue(&Keys::new(queue)).arg(key);
    let reply = call.arg(line.journal_limits.dead_letters).send(line).await?;
    match reply.outcome() {
        "dead-lettered" => Ok(DeadLetterOutcome::Moved),
        "gone" => Ok(DeadLetterOutcome::AlreadyHandled),
        "full" => Ok(DeadLetterOutcome::Full),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
