//! Moves a waiting entry to another lane: sends `move_to_lane.lua`.

use vestibule_domain::{
    change::{Change, Event},
    entry_status::EntryStatus,
    fact::{Step, Turn},
    id::{EntryId, QueueId},
    lane::Lane,
};

use super::{Line, reply::ScriptReply, script::script};
use crate::{LaneMoveOutcome, LineError};

script!(MOVE_TO_LANE, "operator/move_to_lane");

impl Line {
    /// Moves a waiting entry to a lane. The order of joining stays: among the entries of the new lane the
    /// entry stands where it would if it had entered that lane. A visitor who was present stays present.
    pub async fn move_to_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        lane: Lane,
    ) -> Result<LaneMoveOutcome, LineError> {
        let call = self
            .begin_call(&MOVE_TO_LANE, queue)
            .arg(id.to_member())
            .arg(lane.number());
        let mut reply = call.send(self).await?;
        match reply.outcome() {
            "moved" => read_move(id, reply),
            "kept" => Ok(LaneMoveOutcome::Unchanged(EntryStatus::Waiting {
                score: reply.read_score()?,
                position: reply.read_number()?,
            })),
            "not-waiting" => Ok(LaneMoveOutcome::NotWaiting(reply.read_status()?)),
            "gone" => Ok(LaneMoveOutcome::NotFound(reply.read_not_found(id)?)),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}

fn read_move(id: EntryId, mut reply: ScriptReply) -> Result<LaneMoveOutcome, LineError> {
    let (version, from) = (reply.read_new_version()?, reply.read_number()?);
    let from = Lane::new(from).ok_or_else(|| reply.protocol_error("a valid lane"))?;
    let turn = match reply.read_step()? {
        Step::WaitingAgain => Turn::Second,
        _ => Turn::First,
    };
    let (moved_at_ms, place) = (reply.read_number()?, reply.read_score()?);
    let status = EntryStatus::Waiting {
        score: place,
        position: reply.read_number()?,
    };
    let change = Change {
        id,
        version,
        at_ms: reply.read_number()?,
        event: Event::LaneMoved {
            place,
            turn,
            moved_at_ms,
        },
        source: None,
    };
    Ok(LaneMoveOutcome::Moved { from, status, change })
}
