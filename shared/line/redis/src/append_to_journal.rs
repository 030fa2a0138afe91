//! Appends a change that the backup did not take to the journal: sends `append_to_journal.lua`.

use std::sync::LazyLock;

use vestibule_domain::{change::Change, id::QueueId};
use vestibule_line::LineError;

use super::{RedisLine, journal_encoding::encode_change, keys::Keys, script::LuaScript};

pub(super) static APPEND_TO_JOURNAL: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("append_to_journal", include_str!("append_to_journal.lua")));

pub(super) async fn append_to_journal(
    line: &RedisLine,
    queue: &QueueId,
    change: &Change,
) -> Result<(), LineError> {
    let call = APPEND_TO_JOURNAL
        .call_for_queue(&Keys::new(queue))
        .arg(line.journal_limits.all_changes);
    let reply = call.args(encode_change(change)).send(line).await?;
    match reply.outcome() {
        "recorded" => Ok(()),
        "full" => Err(LineError::JournalFull),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
