//! Makes one entry agree with the backup: sends `repair.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    change::{Change, Event, Version},
    id::QueueId,
};
use vestibule_line::{LineError, RepairAction, RepairOrder, RepairOutcome};

use super::{RedisLine, end, script::LuaScript};

pub(super) static REPAIR: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("repair", include_str!("repair.lua")));

pub(super) async fn repair(
    line: &RedisLine,
    queue: &QueueId,
    order: &RepairOrder,
) -> Result<RepairOutcome, LineError> {
    let (id, observed) = (order.id, order.observed);
    let record = order.record.as_ref();
    let version = record.map_or(Version::default(), |record| record.version);
    let (new_state, end_ms) = match order.choose_action() {
        RepairAction::Keep => ("", 0),
        RepairAction::Drop(how) => (how.name(), 0),
        RepairAction::Adopt(Event::Claimed { session_end_ms, .. }) => ("active", session_end_ms),
        RepairAction::Adopt(event) => (event.state().name(), 0),
    };
    let call = line
        .begin_call(&REPAIR, queue)
        .arg(id.to_member())
        .arg(order.generation)
        .arg(observed.state().name())
        .arg(observed.raw())
        .arg(version.epoch)
        .arg(version.v)
        .arg(new_state)
        .arg(record.map_or(observed.visit(), |record| record.visit).number())
        .arg(end_ms);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "refused" => return Ok(RepairOutcome::Rejected),
        "moved" => return Ok(RepairOutcome::Moved),
        "ended" | "here" => {}
        _ => return Err(reply.protocol_error("a known outcome")),
    }
    let version = reply
        .read_version()?
        .ok_or_else(|| reply.protocol_error("a version"))?;
    let change = |at_ms, event| Change {
        id,
        version,
        at_ms,
        event,
    };
    if reply.outcome() == "ended" {
        let how = end::parse_end_kind(&reply.read_text()?)
            .ok_or_else(|| reply.protocol_error("a known kind of end"))?;
        let (visit, at_ms) = (reply.read_visit()?, reply.read_number()?);
        return Ok(RepairOutcome::Ended(change(at_ms, Event::Ended { visit, how })));
    }
    let has_adopted = reply.read_number()? == 1;
    let (status, at_ms) = reply.read_status_with_time()?;
    Ok(RepairOutcome::Live {
        status,
        change: change(at_ms, RepairOutcome::status_event(&status)),
        has_adopted,
    })
}
