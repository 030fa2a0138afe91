//! Reads the status of an entry for its visitor, who checks in by that, or for a stranger: sends `check_in.lua`.

use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    lane::LaneProgress,
};

use super::{Line, lanes::parse_lane, script::script};
use crate::{CheckIn, EntryLookup, LineError};

script!(CHECK_IN, "presence/check_in");

impl Line {
    /// Returns the status of an entry for its visitor, who checks in by asking: if the entry waits
    /// and is called, the visitor is present for `presence_seconds`. The position is that in the lane,
    /// and counts no absent entry.
    pub async fn check_in(&self, queue: &QueueId, id: EntryId) -> Result<CheckIn, LineError> {
        self.look_up_with_lane(queue, id, "visitor").await
    }

    /// Returns the same status for a caller who is not known to be the visitor. Changes nothing.
    pub async fn look_up(&self, queue: &QueueId, id: EntryId) -> Result<CheckIn, LineError> {
        self.look_up_with_lane(queue, id, "stranger").await
    }

    async fn look_up_with_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        asks: &str,
    ) -> Result<CheckIn, LineError> {
        let call = self.begin_call(&CHECK_IN, queue);
        let mut reply = call
            .arg(id.to_member())
            .arg(asks)
            .may_run_twice()
            .send(self)
            .await?;
        let lookup = match reply.outcome() {
            "waiting" => {
                let (score, position) = (reply.read_score()?, reply.read_number()?);
                let lane = match reply.read_text()?.as_str() {
                    "" => LaneProgress::new(score.lane()),
                    text => parse_lane(text)?,
                };
                return Ok(CheckIn {
                    lookup: EntryLookup::Found(EntryStatus::Waiting { score, position }),
                    lane: Some(lane),
                });
            }
            "here" => EntryLookup::Found(reply.read_status()?),
            "gone" => EntryLookup::NotFound(reply.read_not_found(id)?),
            _ => return Err(reply.protocol_error("a known outcome")),
        };
        Ok(CheckIn { lookup, lane: None })
    }
}
