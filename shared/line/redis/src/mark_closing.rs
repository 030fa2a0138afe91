//! Marks a waiting entry whose visitor closes the page: sends `mark_closing.lua`. A plain command removes the mark.

use std::sync::LazyLock;

use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
};
use vestibule_line::{LineError, MarkClosingOutcome};

use super::{RedisLine, connect::Request, keys::Keys, leave::visit_arg, script::LuaScript};

pub(super) static MARK_CLOSING: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("mark_closing", include_str!("mark_closing.lua")));

pub(super) async fn mark_closing(
    line: &RedisLine,
    queue: &QueueId,
    id: EntryId,
    visit: Option<Visit>,
) -> Result<MarkClosingOutcome, LineError> {
    let call = line
        .begin_call(&MARK_CLOSING, queue)
        .arg(id.to_member())
        .arg(visit_arg(visit));
    let reply = call.send(line).await?;
    match reply.outcome() {
        "marked" => Ok(MarkClosingOutcome::Marked),
        "ignored" => Ok(MarkClosingOutcome::Ignored),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}

pub(super) async fn remove_closing_mark(
    line: &RedisLine,
    queue: &QueueId,
    id: EntryId,
) -> Result<(), LineError> {
    let mut command = redis::cmd("ZREM");
    command.arg(Keys::new(queue).key("closing")).arg(id.to_member());
    let _removed: u64 = line.connection.send(Request::Command(&command)).await?;
    Ok(())
}
