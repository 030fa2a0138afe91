//! Ends what timed out and promotes entries: sends `promote.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    clock::Clocks,
    estimate::{LONG_MS, SHORT_MS, SILENT_MS},
    id::QueueId,
    pace::HeldBackBy,
};
use vestibule_line::{LineError, PROMOTE_CHUNK, PromoteOrder, Promotion};

use super::{RedisLine, script::Command};

pub(super) static PROMOTE: LazyLock<Command> =
    LazyLock::new(|| Command::new("promote", include_str!("promote.lua")));

pub(super) async fn promote(
    line: &RedisLine,
    queue: &QueueId,
    order: PromoteOrder,
) -> Result<Promotion, LineError> {
    let call = line
        .call(&PROMOTE, queue)
        .arg(order.asked)
        .arg(PROMOTE_CHUNK)
        .arg(u8::from(order.heartbeat));
    let (epoch, mark) = match order.fence {
        Some(fence) => (fence.epoch.to_string(), fence.mark),
        None => (String::new(), 0),
    };
    let call = call.arg(line.journal_limits.newcomers).arg(epoch).arg(mark);
    let call = call.arg(SHORT_MS).arg(LONG_MS).arg(SILENT_MS);
    let mut reply = call.send(line).await?;
    let (promoted, no_shows, expired) = (reply.number()?, reply.number()?, reply.number()?);
    let held_back_by = match reply.word()?.as_str() {
        "line" => HeldBackBy::Line,
        "capacity" => HeldBackBy::Capacity,
        "pace" => HeldBackBy::Pace,
        "asked" => HeldBackBy::Asked,
        "gate" => HeldBackBy::Gate,
        "journal" => HeldBackBy::Journal,
        "clock" => HeldBackBy::Clock,
        _ => return Err(reply.nonsense("a known limit of the promotion")),
    };
    Ok(Promotion {
        promoted,
        no_shows,
        expired,
        held_back_by,
        more: promoted + no_shows + expired == PROMOTE_CHUNK,
        waiting: reply.number()?,
        ready: reply.number()?,
        active: reply.number()?,
        promoted_through: reply.number()?,
        now_ms: reply.number()?,
        clocks: Clocks {
            apart: reply.number()? == 1,
            ahead_ms: reply.signed()?,
            offset_ms: reply.signed()?,
        },
    })
}
