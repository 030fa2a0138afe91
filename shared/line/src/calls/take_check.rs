//! Asks for the consistency check of a queue when it is due: sends `take_check.lua`.

use vestibule_domain::id::QueueId;

use super::{Line, script::script};
use crate::{CheckAssignment, CheckOrder, LineError};

script!(TAKE_CHECK, "recovery/take_check");

impl Line {
    /// Gives the consistency check of a queue to the first caller that asks when the check is due.
    pub async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckAssignment, LineError> {
        let call = self
            .begin_call(&TAKE_CHECK, queue)
            .arg(order.every_ms)
            .arg(order.idle_ms)
            .arg(order.loss_ms)
            .arg(order.silent_ms);
        let mut reply = call.send(self).await?;
        let number = reply.read_number()?;
        match reply.outcome() {
            "early" => Ok(CheckAssignment::NotDue { due_in_ms: number }),
            "due" => Ok(CheckAssignment::Due {
                from_shard: u8::try_from(number).map_err(|_| reply.protocol_error("a valid shard"))?,
            }),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
