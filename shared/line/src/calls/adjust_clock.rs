//! Sets the offset that the line adds to the server's clock: sends `adjust_clock.lua`.

use vestibule_domain::id::QueueId;

use super::{Line, script::script};
use crate::{AdjustClockOutcome, LineError};

script!(ADJUST_CLOCK, "tick/adjust_clock");

impl Line {
    /// Sets the offset that the line adds to its server's clock, in milliseconds.
    ///
    /// The line accepts the offset only if two of three clocks support it:
    /// the server's, the caller's and the last line time. Only a promoter calls
    /// this, because a promoter knows whether its own clock is steady.
    pub async fn adjust_clock(
        &self,
        queue: &QueueId,
        offset_ms: i64,
    ) -> Result<AdjustClockOutcome, LineError> {
        let reply = self
            .begin_call(&ADJUST_CLOCK, queue)
            .arg(offset_ms)
            .send(self)
            .await?;
        match reply.outcome() {
            "adjusted" => Ok(AdjustClockOutcome::Applied),
            "agree" => Ok(AdjustClockOutcome::ClocksAgree),
            "doubtful" => Ok(AdjustClockOutcome::NotConfirmed),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
