//! Raises the watermark that shows whether Redis lost recent changes: sends `raise_watermark.lua`.

use vestibule_domain::id::QueueId;

use super::{Line, keys::Keys, script::script};
use crate::{LineError, RaiseWatermarkOutcome};

script!(RAISE_WATERMARK, "recovery/raise_watermark");

impl Line {
    /// Raises the watermark of a queue with this epoch. The watermark shows whether a line
    /// restarted with stale data.
    ///
    /// The caller passes in `fence` the watermark that it read from the backup, and writes the new
    /// one to the backup afterwards.
    pub async fn raise_watermark(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<RaiseWatermarkOutcome, LineError> {
        let call = RAISE_WATERMARK
            .call_for_queue(&Keys::new(queue))
            .arg(epoch)
            .arg(fence);
        let mut reply = call.send(self).await?;
        match reply.outcome() {
            "other" => Ok(RaiseWatermarkOutcome::OtherEpoch),
            "old" => Ok(RaiseWatermarkOutcome::StaleLine),
            "same" => Ok(RaiseWatermarkOutcome::Unchanged),
            "raised" => Ok(RaiseWatermarkOutcome::Raised(reply.read_number()?)),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
