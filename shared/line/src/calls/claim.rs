//! Makes a ready entry active: sends `claim.lua`.

use vestibule_domain::{
    change::{Change, Event},
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
};

use super::{Line, script::script};
use crate::{ClaimOutcome, LineError};

script!(CLAIM, "visit/claim");

impl Line {
    /// Makes a ready entry active.
    pub async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<ClaimOutcome, LineError> {
        let mut reply = self
            .begin_call(&CLAIM, queue)
            .arg(id.to_member())
            .may_run_twice()
            .send(self)
            .await?;
        match reply.outcome() {
            "not-yet" => return Ok(ClaimOutcome::StillWaiting(reply.read_status()?)),
            "gone" => return Ok(ClaimOutcome::NotFound(reply.read_not_found(id)?)),
            "active" => {}
            _ => return Err(reply.protocol_error("a known outcome")),
        }
        let (version, status) = (reply.read_version()?, reply.read_status()?);
        let (
            Some(version),
            EntryStatus::Active {
                visit,
                session_end_ms,
                now_ms,
            },
        ) = (version, status)
        else {
            return Err(reply.protocol_error("an active entry"));
        };
        let change = Change {
            id,
            version,
            at_ms: now_ms,
            event: Event::Claimed {
                visit,
                session_end_ms,
            },
            source: None,
        };
        Ok(ClaimOutcome::Active { status, change })
    }
}
