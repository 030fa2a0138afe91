//! Deletes journal records and dead letters that the backup has, and settles ends: sends
//! `acknowledge.lua`.

use std::sync::LazyLock;

use vestibule_domain::{change::VisitEnd, id::QueueId};
use vestibule_line::{LineError, SETTLED_END_KEPT_MS};

use super::{RedisLine, script::LuaScript};

pub(super) static ACKNOWLEDGE: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("acknowledge", include_str!("acknowledge.lua")));

pub(super) async fn acknowledge(
    line: &RedisLine,
    queue: &QueueId,
    keys: &[String],
    ended: &[VisitEnd],
) -> Result<(), LineError> {
    let ends = ended.iter().flat_map(|end| {
        let fact = end.fact;
        [
            end.id.to_member(),
            fact.visit.number().to_string(),
            fact.step.number().to_string(),
            fact.step_ms.to_string(),
            u8::from(fact.is_over).to_string(),
        ]
    });
    let call = line
        .begin_call(&ACKNOWLEDGE, queue)
        .arg(SETTLED_END_KEPT_MS)
        .arg(keys.len())
        .args(keys)
        .args(ends);
    call.send(line).await.map(drop)
}
