//! Makes one entry agree with the backup: sends `repair.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, Event, Version},
    id::QueueId,
};
use vestibule_line::{Amends, LineError, Mended, Mending};

use super::{RedisLine, end, script::Command};

pub(super) static MEND: LazyLock<Command> = LazyLock::new(|| Command::new("mend", include_str!("mend.lua")));

pub(super) async fn mend(line: &RedisLine, queue: &QueueId, mending: &Mending) -> Result<Mended, LineError> {
    let (id, seen) = (mending.id, mending.seen);
    let record = mending.record.as_ref();
    let version = record.map_or(Version::default(), |record| record.version);
    let (becomes, end_ms) = match mending.amends() {
        Amends::Stays => ("", 0),
        Amends::Ends(how) => (how.name(), 0),
        Amends::GoesOn(Event::Claimed { session_end_ms, .. }) => ("active", session_end_ms),
        Amends::GoesOn(event) => (event.state().name(), 0),
    };
    let call = line
        .call(&MEND, queue)
        .arg(id.to_member())
        .arg(mending.generation)
        .arg(seen.state().name())
        .arg(seen.raw())
        .arg(version.epoch)
        .arg(version.v)
        .arg(becomes)
        .arg(record.map_or(seen.visit(), |record| record.visit).number())
        .arg(end_ms);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "refused" => return Ok(Mended::Refused),
        "moved" => return Ok(Mended::Moved),
        "ended" | "here" => {}
        _ => return Err(reply.nonsense("a known outcome")),
    }
    let version = reply.version()?.ok_or_else(|| reply.nonsense("a version"))?;
    let change = |at_ms, event| Change {
        id,
        version,
        at_ms,
        event,
    };
    if reply.outcome() == "ended" {
        let how = end::named(&reply.word()?).ok_or_else(|| reply.nonsense("a known kind of end"))?;
        let (visit, at_ms) = (reply.visit()?, reply.number()?);
        return Ok(Mended::Ended(change(at_ms, Event::Ended { visit, how })));
    }
    let moved_on = reply.number()? == 1;
    let (standing, at_ms) = reply.standing_at()?;
    Ok(Mended::Here {
        standing,
        change: change(at_ms, Mended::says(&standing)),
        moved_on,
    })
}
