//! Flushes the journal, which is the outbox of the line, to the backup.

use std::time::Duration;

use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_line::{DeadLetterOutcome, JournalRecord, Line, LineError, RequeueOrder};

pub use super::journal_batch::FlushError;
use super::{
    dead_letter,
    journal_batch::{JournalWrites, RecordResult, require_generation},
    resolve_conflict::resolve_conflict,
};

/// The most journal records that one read returns. A single record of a tick may hold a thousand
/// changes.
pub const RECORDS_MAX: usize = 100;
/// A change that the backup refused this often, while it accepted others, becomes a dead letter.
pub const TRIES_MAX: u32 = 10;
/// The longest backoff after the first attempt. It doubles with each attempt, up to [`BACKOFF_MAX`].
/// All [`TRIES_MAX`] attempts together take some six minutes.
const BACKOFF_FIRST: Duration = Duration::from_secs(2);
const BACKOFF_MAX: Duration = Duration::from_mins(2);

/// What one flush wrote to the backup, and what it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlushOutcome {
    /// Journal records that the flush handled.
    pub records: usize,
    /// Changes in them that the backup holds now.
    pub changes: usize,
    /// Changes that the backup refused. A later flush tries them again.
    pub refused: usize,
    /// Records that became dead letters.
    pub dead_lettered: usize,
}

/// Writes at most `most_records` of the oldest due journal records to the backup. A change that the
/// backup holds leaves the journal. If the backup accepts only a part of a record, only that part
/// leaves.
///
/// Delivery is at-least-once: any number of callers may flush at once, and a flush that was cut off
/// may be repeated. A change that the backup already shows has no effect.
///
/// A change that the backup refuses while it accepts others is tried again later, and becomes a
/// dead letter after [`TRIES_MAX`] attempts. So it never blocks the changes behind it. The changes of
/// one entry in these records are one write. No batch begins after `until`, except the first one.
///
/// # Errors
/// [`FlushError`] if the line fails or the backup accepts no more changes. Changes that were not
/// written stay in the journal.
pub async fn flush_journal(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    records_max: usize,
    until: Instant,
) -> Result<FlushOutcome, FlushError> {
    let mut flushed = FlushOutcome::default();
    let due = line.due_journal_records(&partition.queue, records_max).await?;
    if !due.is_empty() {
        require_generation(line, partition).await?;
    }
    let (unreadable, records): (Vec<_>, Vec<_>) =
        due.into_iter().partition(|record| record.parse_error.is_some());
    for record in unreadable {
        let reason = record.parse_error.as_deref().unwrap_or_default();
        if dead_letter::move_to_dead_letters(line, partition, &record, reason).await?
            == DeadLetterOutcome::Moved
        {
            flushed.records += 1;
            flushed.dead_lettered += 1;
        }
    }
    let mut writes = JournalWrites::new(&records);
    let mut postponed = None;
    let mut is_first = true;
    while postponed.is_none() && (is_first || Instant::now() < until) {
        is_first = false;
        let Some(batch) = writes.write_next(backup, partition, until).await else {
            break;
        };
        for (change, record) in &batch.conflicting {
            resolve_conflict(line, backup, partition, change, record).await?;
        }
        if !batch.completed.is_empty() || !batch.ended.is_empty() {
            line.acknowledge(&partition.queue, &batch.completed, &batch.ended)
                .await?;
        }
        flushed.records += batch.completed.len();
        flushed.changes += batch.written;
        postponed = batch.postponed;
    }
    for result in writes.results() {
        requeue_unwritten(line, partition, result, &mut flushed).await?;
    }
    // The backup throttles or is unavailable: the rest stays in the journal.
    postponed.map_or(Ok(flushed), |error| Err(error.into()))
}

/// Flushes repeatedly, until no record is due or `until` has passed.
///
/// # Errors
/// The same as [`flush_journal`].
pub async fn flush_journal_until(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    until: Instant,
) -> Result<(), FlushError> {
    loop {
        let flushed = flush_journal(line, backup, partition, RECORDS_MAX, until).await?;
        tracing::debug!(
            event = "journal.flushed", queue = %partition.queue, drained = ?flushed,
            "flushed journal records to the backup"
        );
        // A read may return fewer records than asked for, because it is bounded in bytes.
        if flushed.records == 0 || Instant::now() >= until {
            return Ok(());
        }
    }
}

/// Replaces a journal record with the changes of it that the backup does not hold, or moves it to
/// the dead letters.
async fn requeue_unwritten(
    line: &Line,
    partition: &EntryPartition,
    result: &RecordResult<'_>,
    flushed: &mut FlushOutcome,
) -> Result<(), LineError> {
    let is_untouched = result.written == 0 && result.refused.is_empty();
    if result.is_complete() || is_untouched {
        return Ok(());
    }
    let record = result.record;
    let mut tries = record.attempts + 1;
    if let [(_, reason)] = result.refused.as_slice()
        && tries >= TRIES_MAX
    {
        match dead_letter::move_to_dead_letters(line, partition, record, &reason.to_string()).await? {
            DeadLetterOutcome::Moved => {
                flushed.records += 1;
                flushed.dead_lettered += 1;
                return Ok(());
            }
            DeadLetterOutcome::AlreadyHandled => return Ok(()),
            DeadLetterOutcome::Full => tries = record.attempts,
        }
    }
    for (change, reason) in &result.refused {
        let (queue, entry) = (&partition.queue, change.id);
        tracing::warn!(
            event = "journal.change_refused", %queue, %entry, tries, %reason,
            "the backup refused a change; the journal keeps it and the next flush after a pause tries it again"
        );
    }
    line.requeue_with_backoff(&partition.queue, &backoff_order(record, result, tries))
        .await?;
    flushed.records += 1;
    flushed.refused += result.refused.len();
    Ok(())
}

fn backoff_order(record: &JournalRecord, result: &RecordResult<'_>, tries: u32) -> RequeueOrder {
    let wait = BACKOFF_FIRST
        .saturating_mul(1 << (tries.clamp(1, TRIES_MAX) - 1))
        .min(BACKOFF_MAX);
    // Jitter: changes that the backup refused together do not return together.
    let wait = wait.mul_f64(0.5 + rand::random::<f64>() / 2.0);
    RequeueOrder {
        key: record.key.clone(),
        untried: result.untried.clone(),
        rejected: result.refused.iter().map(|(change, _)| *change).collect(),
        attempts: tries,
        backoff_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
    }
}
