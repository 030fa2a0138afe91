//! Ends a visit: sends `leave.lua`.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    fact::Fact,
    id::{EntryId, QueueId},
    score::Visit,
};

use super::{Line, script::script};
use crate::{LeaveOutcome, LeaveReason, LineError};

script!(LEAVE, "visit/leave");

impl Line {
    /// Ends a visit. If `visit` is given, the line ends the entry only if its current visit is that one.
    pub async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: LeaveReason,
    ) -> Result<LeaveOutcome, LineError> {
        let departure = match departure {
            LeaveReason::Leave => "leave",
            LeaveReason::Complete => "complete",
            LeaveReason::Evict => "evict",
        };
        let call = self
            .begin_call(&LEAVE, queue)
            .arg(id.to_member())
            .arg(visit_arg(visit))
            .arg(departure)
            .may_run_twice_if(visit.is_some());
        let mut reply = call.send(self).await?;
        match reply.outcome() {
            "other-visit" => return Ok(LeaveOutcome::OtherVisit),
            "not-active" => return Ok(LeaveOutcome::NotActive(reply.read_status()?)),
            "gone" => return Ok(LeaveOutcome::NotFound(reply.read_not_found(id)?)),
            "ended" => {}
            _ => return Err(reply.protocol_error("a known outcome")),
        }
        let version = reply.read_new_version()?;
        let how = EndReason::from_name(&reply.read_text()?)
            .ok_or_else(|| reply.protocol_error("a known kind of end"))?;
        let (visit, at_ms) = (reply.read_visit()?, reply.read_number()?);
        let fact = match reply.read_number()? {
            0 => Fact::ended(visit),
            free_at_ms => Fact::held(visit, free_at_ms),
        };
        Ok(LeaveOutcome::Ended(Change {
            id,
            version,
            at_ms,
            event: Event::Ended { fact, how },
            source: None,
        }))
    }
}

/// Writes a visit as an argument of a script. Empty means any visit.
pub(super) fn visit_arg(visit: Option<Visit>) -> String {
    visit.map_or_else(String::new, |visit| visit.number().to_string())
}
