//! Gives a visitor of a crowd a place: sends `append_to_line.lua`.

use vestibule_domain::{
    change::{Change, Event},
    entry_status::EntryStatus,
    fact::Step,
    id::{EntryId, QueueId},
};

use super::{Line, reply::repeat_status, script::script};
use crate::{EnterOutcome, JoinKind, LineError, Refusal};

script!(APPEND_TO_LINE, "visit/append_to_line");

/// Appends an entry to the line, finds it there, or refuses it because the line is full. `None` if `enter.lua` has to decide; then
/// nothing has changed.
pub(super) async fn append_to_line(
    line: &Line,
    queue: &QueueId,
    id: EntryId,
) -> Result<Option<EnterOutcome>, LineError> {
    let call = line
        .begin_call(&APPEND_TO_LINE, queue)
        .arg(id.to_member())
        .may_run_twice();
    let mut reply = call.send(line).await?;
    let kind = match reply.outcome() {
        "other" => return Ok(None),
        "full" => return Ok(Some(EnterOutcome::Refused(Refusal::QueueFull))),
        "new" => JoinKind::NewVisit,
        "kept" => JoinKind::Kept,
        _ => return Err(reply.protocol_error("a known outcome")),
    };
    let (version, place) = (reply.read_new_version()?, reply.read_score()?);
    let (position, at_ms) = (reply.read_number()?, reply.read_number()?);
    let status = EntryStatus::Waiting {
        score: place,
        position,
    };
    let event = if kind == JoinKind::Kept {
        // The request that entered first may have died before it wrote to the backup.
        repeat_status(&status, Step::Waiting, false, 0)
    } else {
        Some(Event::Entered { place, after: None })
    };
    let change = event.map(|event| Change {
        id,
        version,
        at_ms,
        event,
        source: None,
    });
    Ok(Some(EnterOutcome::Joined { kind, status, change }))
}
