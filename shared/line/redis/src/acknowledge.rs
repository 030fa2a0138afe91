//! Deletes journal records, dead letters and ends that the backup has: sends `acknowledge.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Version, VisitEnd},
    id::QueueId,
};
use vestibule_line::LineError;

use super::{RedisLine, keys::Keys, script::LuaScript};

pub(super) static ACKNOWLEDGE: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("acknowledge", include_str!("acknowledge.lua")));

pub(super) async fn acknowledge(
    line: &RedisLine,
    queue: &QueueId,
    keys: &[String],
    ended: &[VisitEnd],
) -> Result<(), LineError> {
    let ends = ended.iter().flat_map(|end| {
        let Version { epoch, v } = end.version;
        [end.id.to_member(), epoch.to_string(), v.to_string()]
    });
    let call = ACKNOWLEDGE
        .call_for_queue(&Keys::new(queue))
        .arg(keys.len())
        .args(keys)
        .args(ends);
    call.send(line).await.map(drop)
}
