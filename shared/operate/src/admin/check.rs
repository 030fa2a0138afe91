//! Checking by hand.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    aside,
    check::{CheckError, Checked, Manner, check},
};

use super::{Admin, Problem, shelf};

/// No further part of a queue is begun after so long. What is left of the function's time is for the part under way.
pub const CHECK_TIME: Duration = Duration::from_secs(200);

impl Admin {
    /// Compares the line with the backup and mends where they differ, whoever does so already.
    pub(super) async fn check(&self, queue: &QueueId, from_shard: u8) -> Result<Value, Problem> {
        let shelf = shelf(queue, &self.stored(queue).await?);
        let until = Instant::now() + CHECK_TIME;
        // What is wrong with what was set aside may be mended by now.
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
