//! Puts changes that the backup refused back into the journal, to be tried again later: sends
//! `requeue_with_backoff.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{LineError, RequeueOrder};

use super::{
    RedisLine,
    journal_encoding::{encode_change, encode_tick},
    script::LuaScript,
};

pub(super) static REQUEUE_WITH_BACKOFF: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("requeue_with_backoff", include_str!("requeue_with_backoff.lua")));

pub(super) async fn requeue_with_backoff(
    line: &RedisLine,
    queue: &QueueId,
    order: &RequeueOrder,
) -> Result<(), LineError> {
    let untried = match order.untried.as_slice() {
        [] => Vec::new(),
        [one] => encode_change(one),
        many => encode_tick(many),
    };
    let call = line
        .begin_call(&REQUEUE_WITH_BACKOFF, queue)
        .arg(&order.key)
        .arg(order.attempts)
        .arg(order.backoff_ms)
        .arg(untried.len())
        .args(untried)
        .args(order.rejected.iter().flat_map(encode_change));
    call.send(line).await.map(drop)
}
