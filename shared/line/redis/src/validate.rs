//! Sends `validate.lua`, which says whether an entry may act now, or makes its session longer.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, End, Event},
    id::{EntryId, QueueId},
    standing::Standing,
};
use vestibule_line::{Check, Extended, Extension, LineError, Validated};

use super::{RedisLine, leave::named, reply::Reply, script::Command};

pub(super) static VALIDATE: LazyLock<Command> =
    LazyLock::new(|| Command::new("validate", include_str!("validate.lua")));

pub(super) async fn validate(
    line: &RedisLine,
    queue: &QueueId,
    id: EntryId,
    check: Check,
) -> Result<Validated, LineError> {
    let call = line
        .call(&VALIDATE, queue)
        .arg(id.to_member())
        .arg(named(check.visit));
    let call = call
        .arg(u8::from(check.claims))
        .arg(u8::from(check.consumes))
        .arg(
            check
                .let_in_until_ms
                .map_or_else(String::new, |end_ms| end_ms.to_string()),
        )
        .arg("")
        .arg("");
    answer(id, call.send(line).await?)
}

pub(super) async fn extend(
    line: &RedisLine,
    queue: &QueueId,
    id: EntryId,
    extension: Extension,
) -> Result<Extended, LineError> {
    let call = line
        .call(&VALIDATE, queue)
        .arg(id.to_member())
        .arg(named(extension.visit))
        .arg(0)
        .arg(0)
        .arg("");
    let call = call
        .arg(u64::from(extension.seconds) * 1_000)
        .arg(extension.latest_end_ms);
    match answer(id, call.send(line).await?)? {
        Validated::Active {
            standing,
            change: Some(change),
        } => Ok(Extended::Active { standing, change }),
        Validated::Active { change: None, .. } => Err(LineError::Nonsense(
            "script `validate` extended a session without reporting a change".to_owned(),
        )),
        Validated::NotYet(standing) => Ok(Extended::NotYet(standing)),
        Validated::OtherVisit => Ok(Extended::OtherVisit),
        Validated::Gone(missing) => Ok(Extended::Gone(missing)),
    }
}

fn answer(id: EntryId, mut reply: Reply) -> Result<Validated, LineError> {
    match reply.outcome() {
        "not-yet" => return Ok(Validated::NotYet(reply.standing()?)),
        "other-visit" => return Ok(Validated::OtherVisit),
        "gone" => return Ok(Validated::Gone(reply.missing()?)),
        "active" => {}
        _ => return Err(reply.nonsense("a known outcome")),
    }
    let (version, what, standing) = (reply.version()?, reply.word()?, reply.standing()?);
    let Standing::Active {
        visit,
        session_end_ms,
        now_ms,
    } = standing
    else {
        return Err(reply.nonsense("an active entry"));
    };
    let event = match what.as_str() {
        "none" => None,
        "claimed" => Some(Event::Claimed {
            visit,
            session_end_ms,
        }),
        "extended" => Some(Event::Extended {
            visit,
            session_end_ms,
        }),
        "completed" => Some(Event::Ended {
            visit,
            how: End::Completed,
        }),
        _ => return Err(reply.nonsense("a known kind of change")),
    };
    let change = version.zip(event).map(|(version, event)| Change {
        id,
        version,
        at_ms: now_ms,
        event,
    });
    Ok(Validated::Active { standing, change })
}
