//! Reads the presence of many waiting entries: sends `presence_many.lua`, once per [`EVICT_CHUNK`] entries.

use std::sync::LazyLock;

use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::{EVICT_CHUNK, LineError, PresenceState, WaitingPresence};

use super::{RedisLine, keys::Keys, script::LuaScript};

pub(super) static PRESENCE_MANY: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("presence_many", include_str!("presence_many.lua")));

pub(super) async fn presence_many(
    line: &RedisLine,
    queue: &QueueId,
    ids: &[EntryId],
) -> Result<Vec<Option<WaitingPresence>>, LineError> {
    let mut found = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(EVICT_CHUNK) {
        let call = PRESENCE_MANY.call_for_queue(&Keys::new(queue));
        let members = chunk.iter().map(|id| id.to_member());
        let mut reply = call.args(members).send(line).await?;
        for _ in chunk {
            let state = match reply.read_text()?.as_str() {
                "none" => None,
                "present" => Some(PresenceState::Present),
                "absent" => Some(PresenceState::Absent),
                "called" => Some(PresenceState::Called),
                "not-called" => Some(PresenceState::NotCalled),
                _ => return Err(reply.protocol_error("a known presence")),
            };
            let has_checked_in = reply.read_number()? == 1;
            found.push(state.map(|state| WaitingPresence {
                state,
                has_checked_in,
            }));
        }
    }
    Ok(found)
}
