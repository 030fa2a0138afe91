//! Reads the presence of many waiting entries: sends `presence_many.lua`, once per [`EVICT_CHUNK`] entries.

use vestibule_domain::id::{EntryId, QueueId};

use super::{Line, keys::Keys, script::script};
use crate::{EVICT_CHUNK, LineError, PresenceState, WaitingPresence};

script!(PRESENCE_MANY, "presence/presence_many");

impl Line {
    /// Returns the presence of many waiting entries, in the order of `ids`; `None` for an entry that does not wait.
    /// One query covers up to [`EVICT_CHUNK`](crate::EVICT_CHUNK) entries. Changes nothing.
    pub async fn presence_many(
        &self,
        queue: &QueueId,
        ids: &[EntryId],
    ) -> Result<Vec<Option<WaitingPresence>>, LineError> {
        let mut found = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(EVICT_CHUNK) {
            let call = PRESENCE_MANY.call_for_queue(&Keys::new(queue));
            let members = chunk.iter().map(|id| id.to_member());
            let mut reply = call.args(members).send(self).await?;
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
}
