//! Reads the status of many entries: sends `status_many.lua`, once per [`STATUS_CHUNK`] entries.

use std::sync::LazyLock;

use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::{EntryLookup, LineError, STATUS_CHUNK};

use super::{RedisLine, script::LuaScript};

pub(super) static STATUS_MANY: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("status_many", include_str!("status_many.lua")));

pub(super) async fn status_many(
    line: &RedisLine,
    queue: &QueueId,
    ids: &[EntryId],
) -> Result<Vec<EntryLookup>, LineError> {
    let mut lookups = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(STATUS_CHUNK) {
        let call = line.begin_call(&STATUS_MANY, queue);
        let mut reply = call
            .args(chunk.iter().map(|id| id.to_member()))
            .send(line)
            .await?;
        for id in chunk {
            lookups.push(match reply.read_text()?.as_str() {
                "here" => EntryLookup::Found(reply.read_status()?),
                "gone" => EntryLookup::NotFound(reply.read_not_found(*id)?),
                _ => return Err(reply.protocol_error("a known outcome")),
            });
        }
    }
    Ok(lookups)
}
