//! Counts the calls of an entry to a protected API: sends `take_call.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    call_limit::CallLimit,
    id::{EntryId, QueueId},
};
use vestibule_line::{CallOutcome, LineError};

use super::{RedisLine, keys::Keys, script::LuaScript};

pub(super) static TAKE_CALL: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("take_call", include_str!("take_call.lua")));

pub(super) async fn take_call(
    line: &RedisLine,
    queue: &QueueId,
    id: EntryId,
    limit: CallLimit,
) -> Result<CallOutcome, LineError> {
    let call = TAKE_CALL
        .call_with_keys([Keys::new(queue).calls_key(id)])
        .arg(line.given_us())
        .arg(limit.interval_us())
        .arg(limit.period_us());
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "decided" => Ok(CallOutcome::from_wait_us(reply.read_number()?)),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
