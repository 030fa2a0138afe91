//! Gives a visitor a place: sends `enter.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, Event},
    id::{EntryId, QueueId},
    standing::Standing,
};
use vestibule_line::{Entered, Joining, LineError, Refusal};

use super::{RedisLine, script::Command};

pub(super) static ENTER: LazyLock<Command> =
    LazyLock::new(|| Command::new("enter", include_str!("enter.lua")));

pub(super) async fn enter(line: &RedisLine, queue: &QueueId, id: EntryId) -> Result<Entered, LineError> {
    let call = line.call(&ENTER, queue).arg(id.to_member());
    let mut reply = call.arg(line.journal_limits.newcomers).send(line).await?;
    if reply.outcome() == "refused" {
        return match reply.word()?.as_str() {
            "draining" => Ok(Entered::Refused(Refusal::Draining)),
            "closed" => Ok(Entered::Refused(Refusal::Closed)),
            "journal-full" => Ok(Entered::Refused(Refusal::JournalFull)),
            _ => Err(reply.nonsense("a known reason for the refusal")),
        };
    }
    let how = match reply.word()?.as_str() {
        "new" => Joining::New,
        "kept" => Joining::Kept,
        "moved" => Joining::Moved,
        _ => return Err(reply.nonsense("a known way of joining")),
    };
    let version = reply.version()?;
    let (standing, at_ms) = reply.standing_at()?;
    let event = match (how, standing) {
        (_, Standing::Waiting { score, .. }) => Some(Event::Entered { score }),
        (Joining::New, Standing::Active { session_end_ms, .. }) => Some(Event::FastTracked {
            score: reply.score()?,
            session_end_ms,
        }),
        // The request that entered or claimed first may have died before it wrote to the backup.
        (
            Joining::Kept,
            Standing::Active {
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
    Ok(Entered::Joined {
        how,
        standing,
        change,
    })
}
