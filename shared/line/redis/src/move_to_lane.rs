//! Moves a waiting entry to another lane: sends `move_to_lane.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, Event},
    entry_status::EntryStatus,
    fact::{Step, Turn},
    id::{EntryId, QueueId},
    lane::Lane,
};
use vestibule_line::{LaneMoveOutcome, LineError};

use super::{RedisLine, reply::ScriptReply, script::LuaScript};

pub(super) static MOVE_TO_LANE: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("move_to_lane", include_str!("move_to_lane.lua")));

pub(super) async fn move_to_lane(
    line: &RedisLine,
    queue: &QueueId,
    id: EntryId,
    lane: Lane,
) -> Result<LaneMoveOutcome, LineError> {
    let call = line
        .begin_call(&MOVE_TO_LANE, queue)
        .arg(id.to_member())
        .arg(lane.number());
    let mut reply = call.send(line).await?;
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
