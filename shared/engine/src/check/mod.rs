//! The consistency check: compares the line with the backup and repairs differences.
//! `docs/adr/0008-consistency-check.md` has the rules and their reasons.
//!
//! [`check_queue`] handles some of the shards and returns the shard at which the next call begins.
//! So the caller's loop may stop between two calls.

mod differences;
mod repair;
mod summary;

use std::time::Duration;

use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::id::{QueueId, SHARD_COUNT};
use vestibule_line::Line;

pub use self::summary::{CheckConfig, CheckError, CheckSummary};
use self::{differences::find_differences, repair::Repairer};
use super::flush::flush_journal;

/// The most journal records that one flush before a read takes.
const FLUSH_RECORDS_MAX: usize = 100;
/// The longest that flushing before a read may take.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(20);

/// Compares the line with the backup and repairs the differences, from one shard on. It covers all
/// remaining shards of a short queue, and some of them of a long one. Any number of callers may do
/// so at once, beside visitors and promoters.
///
/// # Errors
/// [`CheckError`] at the first failure.
pub async fn check_queue(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    from_shard: u8,
    config: CheckConfig,
) -> Result<CheckSummary, CheckError> {
    let view = line.queue_view(&partition.queue).await?;
    if view.configuration.generation != partition.generation {
        return Err(CheckError::Reset);
    }
    let entries = view.waiting + view.taken_slots() + view.unsettled_ends;
    let end = from_shard
        .saturating_add(shards_per_pass(entries, config.entries_per_pass))
        .min(SHARD_COUNT);
    let mut checked = CheckSummary {
        next_shard: Some(end).filter(|end| *end < SHARD_COUNT),
        ..CheckSummary::default()
    };

    flush_before_read(line, backup, partition).await?;
    let observations = find_differences(
        line,
        backup,
        partition,
        from_shard..end,
        view.now_ms,
        config,
        &mut checked,
    )
    .await?;
    let repairer = Repairer {
        line,
        backup,
        partition,
    };
    let observations = repairer.adopt_later_records(observations, &mut checked).await?;
    if !observations.is_empty() {
        sleep(config.second_read_after).await;
        flush_before_read(line, backup, partition).await?;
        repairer.repair_all(observations, &mut checked).await?;
    }
    line.record_check_progress(&partition.queue, end).await?;
    log_summary(&partition.queue, &checked);
    Ok(checked)
}

/// Flushes the journal, because a change that is not in the backup yet looks like a difference.
async fn flush_before_read(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
) -> Result<(), CheckError> {
    let until = Instant::now() + FLUSH_TIME_MAX;
    while Instant::now() < until {
        if flush_journal(line, backup, partition, FLUSH_RECORDS_MAX, until)
            .await?
            .records
            == 0
        {
            return Ok(());
        }
    }
    Err(CheckError::JournalBehind)
}

fn log_summary(queue: &QueueId, checked: &CheckSummary) {
    if checked.repaired_count() == 0 {
        tracing::debug!(
            event = "queue.checked", %queue, ?checked,
            "the consistency check found nothing to repair"
        );
        return;
    }
    let CheckSummary {
        written,
        rewritten,
        adopted,
        restored,
        ended,
        removed,
        skipped,
        ..
    } = checked;
    tracing::warn!(
        event = "queue.repaired", %queue, written, rewritten, adopted, restored, ended, removed, skipped,
        "the consistency check repaired differences between Redis and DynamoDB"
    );
}

/// How many shards, at least one, hold about `at_once` of all entries.
fn shards_per_pass(entries: u64, at_once: u64) -> u8 {
    let shards = at_once * u64::from(SHARD_COUNT) / entries.max(1);
    u8::try_from(shards.clamp(1, SHARD_COUNT.into())).unwrap_or(SHARD_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_queue_is_checked_in_several_passes() {
        assert_eq!(shards_per_pass(0, 200_000), 64);
        assert_eq!(shards_per_pass(200_000, 200_000), 64);
        assert_eq!(shards_per_pass(200_001, 200_000), 63);
        assert_eq!(shards_per_pass(1_000_000, 200_000), 12);
        assert_eq!(
            shards_per_pass(u64::MAX, 200_000),
            1,
            "a check always makes progress"
        );
        assert_eq!(shards_per_pass(1_000, 0), 1);
    }
}
