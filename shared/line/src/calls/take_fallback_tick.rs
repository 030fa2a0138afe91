//! Asks for a fallback tick while the promoter is down: sends `take_fallback_tick.lua`.

use vestibule_domain::id::QueueId;

use super::{Line, script::script};
use crate::{FallbackTickOrder, LineError};

script!(TAKE_FALLBACK_TICK, "tick/take_fallback_tick");

impl Line {
    /// Grants a fallback tick if the promoter is down and no caller had a fallback tick within
    /// `order.every_ms`.
    ///
    /// Returns `true` for the first caller, which then does what the promoter would do. Returns
    /// `false` for every caller while the clocks of the server and the caller are apart.
    pub async fn take_fallback_tick(
        &self,
        queue: &QueueId,
        order: FallbackTickOrder,
    ) -> Result<bool, LineError> {
        let call = self
            .begin_call(&TAKE_FALLBACK_TICK, queue)
            .arg(order.promoter_down_after_ms)
            .arg(order.every_ms);
        let reply = call.send(self).await?;
        match reply.outcome() {
            "early" => Ok(false),
            "due" => Ok(true),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
