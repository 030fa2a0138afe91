//! Taking somebody out of the line who is over, as the backup knows and the line does not: it lost the end.

use super::{Backup, Shelf, drain::DrainError, write_through::write_through};
use crate::{
    domain::{
        change::{Change, Event},
        record::Record,
        standing::{Spot, Standing},
    },
    line::{Line, LineError, Mended, Mending},
};

/// Takes an entry out of the line which stands there, of whose end the record is: by the step with which the check does so.
/// Nothing where it does not stand there any more.
///
/// # Errors
/// [`LineError`] where the line gave no answer.
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

/// Takes somebody out of the line who was promoted at a place that is over in the backup, as that said when it was to write the
/// promotion: the place is in it, and no later visit has that. Any other change that the backup knows better says nothing for
/// certain.
///
/// # Errors
/// [`DrainError`] where the line or the backup gave no answer.
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
