//! Ends a visit: sends `leave.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, Event},
    id::{EntryId, QueueId},
    score::Visit,
};
use vestibule_line::{Departed, Departure, LineError};

use super::{RedisLine, end, script::Command};

pub(super) static LEAVE: LazyLock<Command> =
    LazyLock::new(|| Command::new("leave", include_str!("leave.lua")));

pub(super) async fn leave(
    line: &RedisLine,
    queue: &QueueId,
    id: EntryId,
    visit: Option<Visit>,
    departure: Departure,
) -> Result<Departed, LineError> {
    let departure = match departure {
        Departure::Leave => "leave",
        Departure::Complete => "complete",
        Departure::Evict => "evict",
    };
    let call = line
        .call(&LEAVE, queue)
        .arg(id.to_member())
        .arg(named(visit))
        .arg(departure);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "other-visit" => return Ok(Departed::OtherVisit),
        "not-active" => return Ok(Departed::NotActive(reply.standing()?)),
        "gone" => return Ok(Departed::Missing(reply.missing()?)),
        "ended" => {}
        _ => return Err(reply.nonsense("a known outcome")),
    }
    let version = reply.version()?.ok_or_else(|| reply.nonsense("a version"))?;
    let how = end::named(&reply.word()?).ok_or_else(|| reply.nonsense("a known kind of end"))?;
    let (visit, at_ms) = (reply.visit()?, reply.number()?);
    Ok(Departed::Gone(Change {
        id,
        version,
        at_ms,
        event: Event::Ended { visit, how },
    }))
}

/// Writes a visit as an argument of a script. Empty means any visit.
pub(super) fn named(visit: Option<Visit>) -> String {
    visit.map_or_else(String::new, |visit| visit.number().to_string())
}
