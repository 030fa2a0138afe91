//! Restores one entry that Redis lost and the backup has: sends `restore_entry.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, End, Event},
    id::QueueId,
    score::WaitScore,
};
use vestibule_line::{Instead, LineError, Revival, Revived};

use super::{RedisLine, leave::named, script::Command};

pub(super) static REVIVE: LazyLock<Command> =
    LazyLock::new(|| Command::new("revive", include_str!("revive.lua")));

pub(super) async fn revive(
    line: &RedisLine,
    queue: &QueueId,
    revival: &Revival,
) -> Result<Revived, LineError> {
    let Some(event) = revival.event() else {
        return Ok(Revived::Ended);
    };
    let record = &revival.record;
    let or_empty = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let (mark, instead) = match revival.instead {
        Instead::Nothing => (None, None),
        Instead::Sought(mark) => (Some(mark), None),
        Instead::Place(visit) => (None, Some(visit)),
    };
    let call = line
        .call(&REVIVE, queue)
        .arg(record.id.to_member())
        .arg(revival.generation)
        .arg(record.version.epoch)
        .arg(record.version.v)
        .arg(event.state().name())
        .arg(record.visit.number())
        .arg(or_empty(record.score.map(WaitScore::raw)))
        .arg(or_empty(record.expires_at_ms))
        .arg(or_empty(mark))
        .arg(named(instead));
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "refused" => return Ok(Revived::Refused),
        "ended" => return Ok(Revived::Ended),
        "here" => return Ok(Revived::Here(reply.standing()?)),
        "sought" => return Ok(Revived::Sought(reply.number()?)),
        "back" | "expired" => {}
        _ => return Err(reply.nonsense("a known outcome")),
    }
    let version = reply.version()?.ok_or_else(|| reply.nonsense("a version"))?;
    let change = |at_ms, event| Change {
        id: record.id,
        version,
        at_ms,
        event,
    };
    if reply.outcome() == "expired" {
        let (visit, at_ms) = (reply.visit()?, reply.number()?);
        let how = End::Expired;
        return Ok(Revived::Expired(change(at_ms, Event::Ended { visit, how })));
    }
    let (standing, at_ms) = reply.standing_at()?;
    Ok(Revived::Back {
        standing,
        change: change(at_ms, event.until(&standing)),
    })
}
