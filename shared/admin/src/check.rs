//! The command `check`: runs the consistency check on request.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    check::{CheckConfig, CheckError, CheckSummary, check_queue},
    dead_letter,
};
use vestibule_line::EvictionPolicy;
use vestibule_wire::results::{CheckResult, to_value};

use super::{Admin, Problem, entry_partition};

/// The command starts no further part of a check after this time. The rest of the function's
/// timeout is for the part that is running.
pub const CHECK_TIME_MAX: Duration = Duration::from_secs(200);

impl Admin {
    /// Compares the line with the backup and repairs differences, from the given shard on. It does
    /// not take a turn from the line, so it may run next to a scheduled check.
    pub(super) async fn check(&self, queue: &QueueId, from_shard: u8) -> Result<Value, Problem> {
        let partition = entry_partition(queue, &self.read_stored_queue(queue).await?);
        let until = Instant::now() + CHECK_TIME_MAX;
        // The cause may be fixed by now, so the dead letters are retried first.
        let retried = dead_letter::retry_dead_letters(&self.line, &*self.backup, &partition).await;
        let set_aside = retried.map_err(CheckError::from)?.remaining;
        let mut checked = CheckSummary::default();
        let mut next = Some(from_shard);
        while let Some(from_shard) = next.filter(|_| Instant::now() < until) {
            checked += check_queue(
                &self.line,
                &*self.backup,
                &partition,
                from_shard,
                CheckConfig::default(),
            )
            .await?;
            next = checked.next_shard;
        }
        // The check has succeeded by now, so a line that stops answering does not fail the command.
        let policy = self.line.eviction_policy().await;
        Ok(to_value(CheckResult {
            queue: queue.to_string(),
            checked_line: checked.checked_line,
            checked_table: checked.checked_table,
            written: checked.written,
            rewritten: checked.rewritten,
            adopted: checked.adopted,
            restored: checked.restored,
            ended: checked.ended,
            removed: checked.removed,
            skipped: checked.skipped,
            dead_lettered: set_aside,
            eviction_policy: policy.unwrap_or(EvictionPolicy::Unknown).name().to_owned(),
            complete: next.is_none(),
            next_shard: checked.next_shard,
        }))
    }
}
