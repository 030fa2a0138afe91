//! The command `check`: runs the consistency check on request.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    aside,
    check::{CheckError, Checked, Manner, check},
};

use super::{Admin, Problem, shelf};

/// The command starts no further part of a check after this time. The rest of the function's timeout is for the
/// part that is running.
pub const CHECK_TIME: Duration = Duration::from_secs(200);

impl Admin {
    /// Compares the line with the backup and repairs differences, from the given shard on. It does not take a
    /// turn from the line, so it may run next to a scheduled check.
    pub(super) async fn check(&self, queue: &QueueId, from_shard: u8) -> Result<Value, Problem> {
        let shelf = shelf(queue, &self.stored(queue).await?);
        let until = Instant::now() + CHECK_TIME;
        // The cause may be fixed by now, so the dead letters are retried first.
        let retried = aside::retry(&*self.line, &*self.backup, &shelf).await;
        let set_aside = retried.map_err(CheckError::from)?.left;
        let mut checked = Checked::default();
        let mut next = Some(from_shard);
        while let Some(from_shard) = next.filter(|_| Instant::now() < until) {
            checked += check(&*self.line, &*self.backup, &shelf, from_shard, Manner::default()).await?;
            next = checked.next_shard;
        }
        let mut result = json!(checked);
        result["queue"] = json!(queue.as_str());
        result["set_aside"] = json!(set_aside);
        result["complete"] = json!(next.is_none());
        Ok(result)
    }
}
