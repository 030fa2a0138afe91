//! Takes back the heartbeat of a promoter that goes idle, so that the next request ticks the queue:
//! sends `park_idle_promoter.lua`.

use vestibule_domain::id::QueueId;

use super::{Line, keys::Keys, script::script};
use crate::LineError;

script!(PARK_IDLE_PROMOTER, "tick/park_idle_promoter");

impl Line {
    /// Clears the promoter's heartbeat, so that the next request runs a fallback tick at once.
    ///
    /// Returns `false` and changes nothing if the queue has live entries or the journal has records.
    pub async fn park_idle_promoter(&self, queue: &QueueId) -> Result<bool, LineError> {
        let reply = PARK_IDLE_PROMOTER
            .call_for_queue(&Keys::new(queue))
            .send(self)
            .await?;
        match reply.outcome() {
            "busy" => Ok(false),
            "parked" => Ok(true),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
