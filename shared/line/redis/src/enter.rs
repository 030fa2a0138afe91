//! Gives a visitor a place: sends `enter.lua`.

use std::sync::LazyLock;

use serde_json::Value;
use vestibule_domain::{
    change::{Change, Event},
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
};
use vestibule_line::{EnterOutcome, JoinKind, LineError};

use super::{RedisLine, script::LuaScript};

pub(super) static ENTER: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("enter", include_str!("enter.lua")));

pub(super) async fn enter(line: &RedisLine, queue: &QueueId, id: EntryId) -> Result<EnterOutcome, LineError> {
    let call = line.begin_call(&ENTER, queue).arg(id.to_member());
    let mut reply = call.arg(line.journal_limits.new_entries).send(line).await?;
    if reply.outcome() == "refused" {
        let refusal = serde_json::from_value(Value::String(reply.read_text()?))
            .map_err(|_| reply.protocol_error("a known reason for the refusal"))?;
        return Ok(EnterOutcome::Refused(refusal));
    }
    let kind = match reply.read_text()?.as_str() {
        "new" => JoinKind::NewVisit,
        "kept" => JoinKind::Kept,
        "moved" => JoinKind::Requeued,
        _ => return Err(reply.protocol_error("a known way of joining")),
    };
    let version = reply.read_version()?;
    let (status, at_ms) = reply.read_status_with_time()?;
    let event = match (kind, status) {
        (_, EntryStatus::Waiting { score, .. }) => Some(Event::Entered { score }),
        (JoinKind::NewVisit, EntryStatus::Active { session_end_ms, .. }) => Some(Event::FastTracked {
            score: reply.read_score()?,
            session_end_ms,
        }),
        // The request that entered or claimed first may have died before it wrote to the backup.
        (
            JoinKind::Kept,
            EntryStatus::Active {
                visit,
                session_end_ms,
                ..
            },
        ) => Some(Event::Claimed {
            visit,
            session_end_ms,
        }),
        _ => None,
    };
    let change = version.zip(event).map(|(version, event)| Change {
        id,
        version,
        at_ms,
        event,
    });
    Ok(EnterOutcome::Joined { kind, status, change })
}
