//! Puts changes that the backup refused back into the journal, to be tried again later: sends
//! `requeue_with_backoff.lua`.

use vestibule_domain::id::QueueId;

use super::{
    Line,
    journal_encoding::{encode_change, encode_tick},
    script::script,
};
use crate::{LineError, RequeueOrder};

script!(REQUEUE_WITH_BACKOFF, "journal/requeue_with_backoff");

impl Line {
    /// Replaces a journal record with those of its changes that the backup did not take. The
    /// rejected changes are due again after a backoff. Does nothing if another caller has already
    /// handled the record.
    pub async fn requeue_with_backoff(&self, queue: &QueueId, order: &RequeueOrder) -> Result<(), LineError> {
        let untried = match order.untried.as_slice() {
            [] => Vec::new(),
            [one] => encode_change(one),
            many => encode_tick(many),
        };
        let call = self
            .begin_call(&REQUEUE_WITH_BACKOFF, queue)
            .arg(&order.key)
            .arg(order.attempts)
            .arg(order.backoff_ms)
            .arg(untried.len())
            .args(untried)
            .args(order.rejected.iter().flat_map(encode_change));
        call.send(self).await.map(drop)
    }
}
