//! Appends a change that the backup did not take to the journal: sends `append_to_journal.lua`.

use std::sync::LazyLock;

use vestibule_domain::{change::Change, id::QueueId};
use vestibule_line::LineError;

use super::{RedisLine, journal::fields, keys::Keys, script::Command};

pub(super) static RECORD: LazyLock<Command> =
    LazyLock::new(|| Command::new("record", include_str!("record.lua")));

pub(super) async fn record(line: &RedisLine, queue: &QueueId, change: &Change) -> Result<(), LineError> {
    let call = RECORD.of(&Keys::new(queue)).arg(line.journal_limits.all);
    let reply = call.args(fields(change)).send(line).await?;
    match reply.outcome() {
        "recorded" => Ok(()),
        "full" => Err(LineError::JournalFull),
        _ => Err(reply.nonsense("a known outcome")),
    }
}
