//! Gives a visitor a place: sends `append_to_line.lua`, and then `enter.lua` if that script leaves
//! the decision to it. A visitor who may pass the line, or has another lane than the default one, needs
//! `enter.lua` alone.

use serde_json::Value;
use vestibule_domain::{
    change::{Change, Event},
    draw::DrawnOrder,
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    lane::Lane,
};

use super::{
    Line,
    append_to_line::append_to_line,
    reply::{ScriptReply, repeat_status},
    script::script,
};
use crate::{Arrival, EnterOutcome, JoinKind, LineError};

script!(ENTER, "visit/enter");

impl Line {
    /// Gives the visitor a place in the default lane: see [`enter_lane`](Self::enter_lane).
    pub async fn enter(
        &self,
        queue: &QueueId,
        id: EntryId,
        arrival: Arrival,
    ) -> Result<EnterOutcome, LineError> {
        self.enter_lane(queue, id, arrival, None, Lane::DEFAULT).await
    }

    /// Gives the visitor a place.
    ///
    /// A visitor who already has a place keeps it, or moves to the back of the line with `re_entry:
    /// requeue`. A visitor without a place gets one only while the journal is below its limit for
    /// new entries, and in line only while fewer entries wait than `queue_limit` allows. Entries that
    /// were absent at the last tick do not count for it:
    ///
    /// - The visitor becomes active at once (the fast track) if promotion is allowed, the queue has
    ///   free capacity, the pace bucket has a token and no entry waits but absent ones.
    /// - Otherwise the visitor joins at the back of the line.
    ///
    /// [`Arrival::Bypass`] has its own rule: while a slot is free, the visitor becomes active at once.
    ///
    /// A visitor who is called at that place checks in by a poll at once, or is passed by. The position
    /// counts no absent entry.
    ///
    /// A new place in line is at the back of the lane. A visitor who has a place keeps its lane, also with
    /// `re_entry: requeue`. The position is that in the lane.
    ///
    /// `drawn_order` is what a draw gives to the visitor, however the visitor arrives. It counts in a queue that draws and has
    /// not opened yet: then it is the place, and entering again does not change it.
    pub async fn enter_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        arrival: Arrival,
        drawn_order: Option<DrawnOrder>,
        lane: Lane,
    ) -> Result<EnterOutcome, LineError> {
        if arrival == Arrival::Ordinary
            && drawn_order.is_none()
            && lane == Lane::DEFAULT
            && let Some(joined) = append_to_line(self, queue, id).await?
        {
            return Ok(joined);
        }
        let drawn_order = drawn_order.map(|order| order.number().to_string());
        let call = self
            .begin_call(&ENTER, queue)
            .arg(id.to_member())
            .arg(arrival.as_str())
            .arg(drawn_order.unwrap_or_default())
            .arg(lane.number())
            .may_run_twice();
        let mut reply = call.send(self).await?;
        if reply.outcome() == "refused" {
            let refusal = serde_json::from_value(Value::String(reply.read_text()?))
                .map_err(|_| reply.protocol_error("a known reason for the refusal"))?;
            return Ok(EnterOutcome::Refused(refusal));
        }
        let kind = match reply.read_text()?.as_str() {
            "new" => JoinKind::NewVisit,
            "kept" => JoinKind::Kept,
            "moved" => JoinKind::Requeued,
            "back" => JoinKind::TookBack,
            _ => return Err(reply.protocol_error("a known way of joining")),
        };
        let version = reply.read_version()?;
        let (status, at_ms) = reply.read_status_with_time()?;
        let event = read_event(kind, status, &mut reply)?;
        // There is no version if nothing changed.
        let change = version.zip(event).map(|(version, event)| Change {
            id,
            version,
            at_ms,
            event,
            source: None,
        });
        Ok(EnterOutcome::Joined { kind, status, change })
    }
}

/// Reads the rest of the reply: what happened to an entry that has this status now.
fn read_event(
    kind: JoinKind,
    status: EntryStatus,
    reply: &mut ScriptReply,
) -> Result<Option<Event>, LineError> {
    let step = reply.read_step()?;
    if kind == JoinKind::Kept {
        // The request that entered or claimed first may have died before it wrote to the backup.
        let is_fast_tracked = reply.read_number()? == 1;
        let moved_at_ms = match status {
            EntryStatus::Waiting { .. } => reply.read_number()?,
            _ => 0,
        };
        return Ok(repeat_status(&status, step, is_fast_tracked, moved_at_ms));
    }
    let after = reply.read_optional_visit()?;
    match status {
        EntryStatus::Waiting { score: place, .. } => Ok(Some(Event::Entered { place, after })),
        EntryStatus::Active { session_end_ms, .. } => Ok(Some(Event::FastTracked {
            place: reply.read_score()?,
            session_end_ms,
            after,
            claimed_at_ms: None,
        })),
        EntryStatus::Ready { .. } => Err(reply.protocol_error("an entry that waits or is active")),
    }
}
