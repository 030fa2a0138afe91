//! Raises the watermark that shows whether Redis lost recent changes: sends `raise_watermark.lua`.

use std::sync::LazyLock;

use vestibule_domain::id::QueueId;
use vestibule_line::{LineError, RaiseWatermarkOutcome};

use super::{RedisLine, keys::Keys, script::LuaScript};

pub(super) static RAISE_WATERMARK: LazyLock<LuaScript> =
    LazyLock::new(|| LuaScript::new("raise_watermark", include_str!("raise_watermark.lua")));

pub(super) async fn raise_watermark(
    line: &RedisLine,
    queue: &QueueId,
    epoch: u32,
    fence: u64,
) -> Result<RaiseWatermarkOutcome, LineError> {
    let call = RAISE_WATERMARK
        .call_for_queue(&Keys::new(queue))
        .arg(epoch)
        .arg(fence);
    let mut reply = call.send(line).await?;
    match reply.outcome() {
        "other" => Ok(RaiseWatermarkOutcome::OtherEpoch),
        "old" => Ok(RaiseWatermarkOutcome::StaleLine),
        "same" => Ok(RaiseWatermarkOutcome::Unchanged),
        "raised" => Ok(RaiseWatermarkOutcome::Raised(reply.read_number()?)),
        _ => Err(reply.protocol_error("a known outcome")),
    }
}
