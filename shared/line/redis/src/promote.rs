//! Ends what timed out and promotes entries: sends `promote.lua`.

use std::sync::LazyLock;

use vestibule_domain::{
    clock::ClockDifference,
    estimate::{LONG_WINDOW_MS, SHORT_WINDOW_MS, TICK_GAP_MAX_MS},
    id::QueueId,
    pace::LimitedBy,
};
use vestibule_line::{LineError, PROMOTE_CHUNK, PromoteOrder, Promotion, SETTLED_END_KEPT_MS};

use super::{RedisLine, script::LuaScript};

pub(super) static PROMOTE: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("promote", include_str!("promote.lua")));

pub(super) async fn promote(
    line: &RedisLine,
    queue: &QueueId,
    order: PromoteOrder,
) -> Result<Promotion, LineError> {
    let call = line
        .begin_call(&PROMOTE, queue)
        .arg(order.max_entries)
        .arg(PROMOTE_CHUNK)
        .arg(u8::from(order.is_promoter));
    let (epoch, mark) = match order.min_watermark {
        Some(fence) => (fence.epoch.to_string(), fence.watermark),
        None => (String::new(), 0),
    };
    let call = call.arg(line.journal_limits.new_entries).arg(epoch).arg(mark);
    let call = call
        .arg(SHORT_WINDOW_MS)
        .arg(LONG_WINDOW_MS)
        .arg(TICK_GAP_MAX_MS)
        .arg(SETTLED_END_KEPT_MS);
    let mut reply = call.send(line).await?;
    let (promoted, no_shows, expired) = (reply.read_number()?, reply.read_number()?, reply.read_number()?);
    let limited_by = match reply.read_text()?.as_str() {
        "line" => LimitedBy::Line,
        "capacity" => LimitedBy::Capacity,
        "pace" => LimitedBy::Pace,
        "requested" => LimitedBy::Requested,
        "switch" => LimitedBy::Switch,
        "journal" => LimitedBy::Journal,
        "clock" => LimitedBy::Clock,
        _ => return Err(reply.protocol_error("a known limit of the promotion")),
    };
    Ok(Promotion {
        promoted,
        no_shows,
        expired,
        limited_by,
        has_more: promoted + no_shows + expired == PROMOTE_CHUNK,
        waiting: reply.read_number()?,
        ready: reply.read_number()?,
        active: reply.read_number()?,
        promoted_through: reply.read_number()?,
        now_ms: reply.read_number()?,
        clocks: ClockDifference {
            apart: reply.read_number()? == 1,
            ahead_ms: reply.read_signed()?,
            offset_ms: reply.read_signed()?,
        },
    })
}
