//! Counts the calls of an entry to a protected API: sends `take_call.lua`.

use vestibule_domain::{
    call_limit::CallLimit,
    id::{EntryId, QueueId},
};

use super::{Line, keys::Keys, script::script};
use crate::{CallOutcome, LineError};

script!(TAKE_CALL, "visit/take_call");

impl Line {
    /// Counts one call of an entry if the limit allows it. A refused call does not count. The line need
    /// have neither the queue nor the entry: the caller has proven that the entry exists, and the line
    /// forgets its calls after the period of the limit.
    pub async fn take_call(
        &self,
        queue: &QueueId,
        id: EntryId,
        limit: CallLimit,
    ) -> Result<CallOutcome, LineError> {
        let call = TAKE_CALL
            .call_with_keys([Keys::new(queue).calls_key(id)])
            .arg(self.given_us())
            .arg(limit.interval_us())
            .arg(limit.period_us());
        let mut reply = call.send(self).await?;
        match reply.outcome() {
            "decided" => Ok(CallOutcome::from_wait_us(reply.read_number()?)),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
