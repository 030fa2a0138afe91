//! Dead letters: journal records that the backup refused repeatedly. The line keeps them, and the
//! promoter retries them now and then.

use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_line::{DeadLetterOutcome, JournalRecord, Line, LineError};

use super::{
    journal_batch::{BATCH_START_WINDOW, FlushError, JournalWrites, require_generation},
    resolve_conflict::resolve_conflict,
};

/// The most dead letters that one retry reads.
const DEAD_LETTERS_MAX: usize = 10_000;

/// The outcome of retrying dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeadLetterRetry {
    /// Records that the backup holds now. They are no longer dead letters.
    pub written: usize,
    /// Records that remain dead letters.
    pub remaining: usize,
}

/// Moves a journal record to the dead letters, and logs the reason.
///
/// # Errors
/// [`LineError`] if the line failed to answer.
pub(super) async fn move_to_dead_letters(
    line: &Line,
    partition: &EntryPartition,
    record: &JournalRecord,
    reason: &str,
) -> Result<DeadLetterOutcome, LineError> {
    let (queue, key, tries) = (&partition.queue, record.key.as_str(), record.attempts);
    let entry = record.changes.first().map(|change| change.id.to_string());
    let outcome = line.dead_letter(queue, key).await?;
    match outcome {
        DeadLetterOutcome::Moved => {
            tracing::error!(
                event = "journal.record_dead_lettered", %queue, key, entry, tries, reason,
                "moved a journal record to the dead letters: read the reason and repair the entry's item"
            );
        }
        DeadLetterOutcome::Full => {
            tracing::error!(
                event = "journal.dead_letters_full", %queue, key, entry, tries, reason,
                "cannot move a journal record to the dead letters, which are full: it stays in the journal; \
                 repair the items that earlier dead letters name"
            );
        }
        DeadLetterOutcome::AlreadyHandled => {}
    }
    Ok(outcome)
}

/// Tries once more to write the dead letters. A record that the backup accepts now, or already
/// holds, leaves the dead letters.
///
/// # Errors
/// [`FlushError`] if the line fails or the backup accepts no writes at the moment.
pub async fn retry_dead_letters(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
) -> Result<DeadLetterRetry, FlushError> {
    let queue = &partition.queue;
    let mut records = line.dead_lettered(queue, DEAD_LETTERS_MAX).await?;
    if !records.is_empty() {
        require_generation(line, partition).await?;
    }
    let mut retry = DeadLetterRetry {
        written: 0,
        remaining: records.len(),
    };
    records.retain(|record| record.parse_error.is_none());
    let mut writes = JournalWrites::new(&records);
    while let Some(batch) = writes
        .write_next(backup, partition, Instant::now() + BATCH_START_WINDOW)
        .await
    {
        for (change, record) in &batch.conflicting {
            resolve_conflict(line, backup, partition, change, record).await?;
        }
        let written = batch.completed.len();
        if written > 0 {
            line.acknowledge(queue, &batch.completed, &batch.ended).await?;
            tracing::info!(
                event = "journal.dead_letters_written", %queue, records = written,
                "the backup accepted records that were dead letters; removed them from the dead letters"
            );
        }
        retry.written += written;
        retry.remaining -= written;
        if let Some(error) = batch.postponed {
            return Err(error.into());
        }
    }
    Ok(retry)
}
