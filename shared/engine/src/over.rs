//! Removes an entry from the line whose end the backup shows and the line lost.

use vestibule_backup::{Backup, Shelf};
use vestibule_domain::{
    change::{Change, Event},
    record::Record,
    standing::{Spot, Standing},
};
use vestibule_line::{Line, LineError, Mended, Mending};

use super::{drain::DrainError, write_through::write_through};

/// Removes an entry from the line, given its status there and the record of its end. It uses the same step as the
/// consistency check. If the entry no longer has this status, nothing changes.
///
/// # Errors
/// [`LineError`] if the line failed to answer.
pub async fn take_out(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    standing: &Standing,
    record: &Record,
) -> Result<(), LineError> {
    let mending = Mending {
        id: record.id,
        seen: Spot::of(standing),
        generation: shelf.generation,
        record: Some(record.clone()),
    };
    if let Mended::Ended(end) = line.mend(&shelf.queue, &mending).await? {
        write_through(line, backup, shelf, &end).await?;
        tracing::warn!(
            event = "entry.stale_removed", queue = %shelf.queue, entry = %record.id,
            "removed an entry from Redis that DynamoDB shows as ended"
        );
    }
    Ok(())
}

/// Removes an entry from the line that was promoted although the backup shows that its visit had ended. The flush calls
/// it when the backup reports a conflict for the promotion. A promotion names the place, and no later visit has the
/// same place, so the record proves the end. No other conflicting change proves one.
///
/// # Errors
/// [`DrainError`] if the line or the backup failed to answer.
pub(super) async fn promoted(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    change: &Change,
) -> Result<(), DrainError> {
    let Event::Promoted { score, claim_by_ms } = change.event else {
        return Ok(());
    };
    let record = backup.entry(shelf, change.id).await?;
    if let Some(record) = record.filter(|record| record.is_end_of_place(score)) {
        let promoted = Standing::Ready {
            visit: score.visit(),
            claim_by_ms,
            now_ms: change.at_ms,
        };
        take_out(line, backup, shelf, &promoted, &record).await?;
    }
    Ok(())
}
