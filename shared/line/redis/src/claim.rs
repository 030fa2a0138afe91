//! Makes a ready entry active: sends `claim.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, Event},
    id::{EntryId, QueueId},
    standing::Standing,
};
use vestibule_line::{Claimed, LineError};

use super::{RedisLine, script::Command};

pub(super) static CLAIM: LazyLock<Command> =
    LazyLock::new(|| Command::new("claim", include_str!("claim.lua")));

pub(super) async fn claim(line: &RedisLine, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError> {
    let mut reply = line.call(&CLAIM, queue).arg(id.to_member()).send(line).await?;
    match reply.outcome() {
        "not-yet" => return Ok(Claimed::NotYet(reply.standing()?)),
        "gone" => return Ok(Claimed::Gone(reply.missing()?)),
        "active" => {}
        _ => return Err(reply.nonsense("a known outcome")),
    }
    let (version, standing) = (reply.version()?, reply.standing()?);
    let (
        Some(version),
        Standing::Active {
            visit,
            session_end_ms,
            now_ms,
        },
    ) = (version, standing)
    else {
        return Err(reply.nonsense("an active entry"));
    };
    let change = Change {
        id,
        version,
        at_ms: now_ms,
        event: Event::Claimed {
            visit,
            session_end_ms,
        },
    };
    Ok(Claimed::Active { standing, change })
}
