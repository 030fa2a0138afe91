//! Reads the status of an entry for its visitor, who checks in by that: sends `check_in.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    lane::LaneProgress,
};
use vestibule_line::{CheckIn, EntryLookup, LineError};

use super::{RedisLine, lanes::parse_lane, script::LuaScript};

pub(super) static CHECK_IN: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("check_in", include_str!("check_in.lua")));

pub(super) async fn check_in(line: &RedisLine, queue: &QueueId, id: EntryId) -> Result<CheckIn, LineError> {
    let call = line.begin_call(&CHECK_IN, queue).arg(id.to_member());
    let mut reply = call.send(line).await?;
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
