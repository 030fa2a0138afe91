//! Records how far a consistency check has come: sends `record_check_progress.lua`.

use vestibule_domain::id::{QueueId, SHARD_COUNT};

use super::{Line, script::script};
use crate::LineError;

script!(RECORD_CHECK_PROGRESS, "recovery/record_check_progress");

impl Line {
    /// Records that the current consistency check has covered the shards below `shards`. The check
    /// ends when it has covered all shards.
    pub async fn record_check_progress(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        let call = self
            .begin_call(&RECORD_CHECK_PROGRESS, queue)
            .arg(shards)
            .arg(SHARD_COUNT);
        call.send(self).await.map(drop)
    }
}
