//! Reads the status of one entry: first with plain commands, then with `status.lua` if the entry is not
//! waiting.

use std::sync::LazyLock;

use redis::{Cmd, Pipeline};
use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    score::WaitScore,
};
use vestibule_line::{EntryLookup, LineError};

use super::{RedisLine, connect::Request, keys::Keys, reply::parse_integer, script::LuaScript};

pub(super) static STATUS: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("status", include_str!("status.lua")));

/// Reads the status of an entry.
///
/// Nearly all status requests are for waiting entries, and the place of a waiting entry is all that
/// the answer needs. So two plain commands come first, because they are faster than a script. If
/// the entry leaves the line between the two commands, the second finds nothing, and the script
/// answers.
pub(super) async fn status(line: &RedisLine, queue: &QueueId, id: EntryId) -> Result<EntryLookup, LineError> {
    let (key, member) = (Keys::new(queue).key("waiting"), id.to_member());
    let started = line.round_trips.start_measurement();
    let place = find_waiting_entry(line, &key, &member).await;
    line.round_trips
        .record_measurement(queue, started, matches!(place, Ok(Some(_))));
    if let Some(waiting) = place? {
        return Ok(EntryLookup::Found(waiting));
    }
    let mut reply = line.begin_call(&STATUS, queue).arg(member).send(line).await?;
    match reply.outcome() {
        "here" => Ok(EntryLookup::Found(reply.read_status()?)),
        "gone" => Ok(EntryLookup::NotFound(reply.read_not_found(id)?)),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}

/// Reads the position and score of a waiting entry; `None` if the entry is not waiting.
async fn find_waiting_entry(
    line: &RedisLine,
    key: &str,
    member: &str,
) -> Result<Option<EntryStatus>, LineError> {
    // The buffers have the exact capacity, because this is the most frequent call.
    let mut pipeline = Pipeline::with_capacity(2);
    for name in ["ZRANK", "ZSCORE"] {
        let mut command = Cmd::with_capacity(3, name.len() + key.len() + member.len());
        command.arg(name).arg(key).arg(member);
        pipeline.add_command(command);
    }
    let (rank, score): (Option<u64>, Option<String>) =
        line.connection.send(Request::Pipeline(&pipeline)).await?;
    let score = score
        .and_then(|score| parse_integer(&score))
        .and_then(WaitScore::from_raw);
    Ok(rank.zip(score).map(|(rank, score)| EntryStatus::Waiting {
        score,
        position: rank + 1,
    }))
}
