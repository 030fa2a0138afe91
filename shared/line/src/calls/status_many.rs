//! Reads the status of many entries: sends `status_many.lua`, once per [`STATUS_CHUNK`] entries.

use vestibule_domain::id::{EntryId, QueueId};

use super::{Line, script::script};
use crate::{EntryLookup, LineError, STATUS_CHUNK};

script!(STATUS_MANY, "visit/status_many");

impl Line {
    /// Returns the status of many entries, in the order of `ids`. Each answer equals that of
    /// [`status`](Self::status). One query covers up to [`STATUS_CHUNK`](crate::STATUS_CHUNK) entries.
    pub async fn status_many(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<EntryLookup>, LineError> {
        let mut lookups = Vec::with_capacity(ids.len());
        for chunk in ids.chunks(STATUS_CHUNK) {
            let call = self.begin_call(&STATUS_MANY, queue);
            let mut reply = call
                .args(chunk.iter().map(|id| id.to_member()))
                .may_run_twice()
                .send(self)
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
}
