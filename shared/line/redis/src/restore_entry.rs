//! Restores one entry that Redis lost and the backup has: sends `restore_entry.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, EndReason, Event},
    id::QueueId,
    score::WaitScore,
};
use vestibule_line::{LineError, ReplacedEntry, RestoreEntryOrder, RestoreEntryOutcome};

use super::{RedisLine, leave::visit_arg, script::LuaScript};

pub(super) static RESTORE_ENTRY: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("restore_entry", include_str!("restore_entry.lua")));

pub(super) async fn restore_entry(
    line: &RedisLine,
    queue: &QueueId,
    order: &RestoreEntryOrder,
) -> Result<RestoreEntryOutcome, LineError> {
    let Some(event) = order.restore_event() else {
        return Ok(RestoreEntryOutcome::AlreadyEnded);
    };
    let record = &order.record;
    let or_empty = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let (ticket, replaced_visit) = match order.replaced {
        ReplacedEntry::Nothing => (None, None),
        ReplacedEntry::Ticket(ticket) => (Some(ticket), None),
        ReplacedEntry::NewVisit(visit) => (None, Some(visit)),
    };
    let call = line
        .begin_call(&RESTORE_ENTRY, queue)
        .arg(record.id.to_member())
        .arg(order.generation)
        .arg(record.version.epoch)
        .arg(record.version.v)
        .arg(event.state().name())
        .arg(record.visit.number())
        .arg(or_empty(record.score.map(WaitScore::raw)))
        .arg(or_empty(record.expires_at_ms))
        .arg(or_empty(ticket))
        .arg(visit_arg(replaced_visit));
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "refused" => return Ok(RestoreEntryOutcome::Rejected),
        "ended" => return Ok(RestoreEntryOutcome::AlreadyEnded),
        "here" => return Ok(RestoreEntryOutcome::AlreadyLive(reply.read_status()?)),
        "ticket" => return Ok(RestoreEntryOutcome::TicketIssued(reply.read_number()?)),
        "restored" | "expired" => {}
        _ => return Err(reply.protocol_error("a known outcome")),
    }
    let version = reply
        .read_version()?
        .ok_or_else(|| reply.protocol_error("a version"))?;
    let change = |at_ms, event| Change {
        id: record.id,
        version,
        at_ms,
        event,
    };
    if reply.outcome() == "expired" {
        let (visit, at_ms) = (reply.read_visit()?, reply.read_number()?);
        let how = EndReason::Expired;
        return Ok(RestoreEntryOutcome::SessionExpired(change(
            at_ms,
            Event::Ended { visit, how },
        )));
    }
    let (status, at_ms) = reply.read_status_with_time()?;
    Ok(RestoreEntryOutcome::Restored {
        status,
        change: change(at_ms, event.with_deadline_of(&status)),
    })
}
