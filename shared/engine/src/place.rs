//! Persists the place of a visitor who entered, unless the visitor already has a place that the line lost.

use std::future::Future;

use tokio::time::{Instant, timeout_at};
use vestibule_backup::{Backup, BackupError, Placing, Shelf, Written};
use vestibule_domain::{change::Change, record::Record, standing::Standing};
use vestibule_line::{Instead, Joining, Line, LineError, Revival, Revived};

use super::{
    outlasted::{OutlastedError, outlasted},
    over::take_out,
    write_through::{WRITE_DEADLINE, write_through},
};

/// How often the write is tried again after the code resolved what was in its way.
const ROUNDS: usize = 4;

/// The place that a visitor who entered has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The status of the entry. It is the earlier one if the line had lost that, or if the visitor missed the turn and
    /// returned within the grace.
    pub standing: Standing,
    /// Whether the backup holds the place. Otherwise only the line's journal does.
    pub durable: bool,
    /// The record, if it was written or read.
    pub record: Option<Record>,
    /// Whether the visitor got an earlier place back instead of the place that the line gave.
    pub given_back: bool,
}

/// Writes to the backup the place that the line gave; `change` is the change that the line made for it.
///
/// - If the backup shows another live visit, the line had lost that visit. The line restores the old place and drops
///   the new one, unless the visitor gave the old place up for the new one.
/// - If the visitor missed the turn and returns within the grace, the backup stores the old place first. The line then
///   restores it.
/// - If the line remembers an end that the backup does not have yet, that end is written first.
///
/// Returns `None` if the line and the backup disagree about what has ended, or if the line had lost the end of this
/// very visit and the entry has no place now. The caller then asks the line again.
///
/// # Errors
/// [`LineError`] if neither the backup nor the line's journal accepted the change.
pub async fn place(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    how: Joining,
    standing: Standing,
    change: &Change,
) -> Result<Option<Placed>, LineError> {
    let (queue, id) = (&shelf.queue, change.id);
    let deadline = Instant::now() + WRITE_DEADLINE;
    let placed = |durable, record| Placed {
        standing,
        durable,
        record,
        given_back: false,
    };
    for _ in 0..ROUNDS {
        let taken = match within(deadline, backup.write_place(shelf, change)).await {
            Ok(Placing::Written(Written::Stored(record))) => return Ok(Some(placed(true, Some(record)))),
            Ok(Placing::Written(written @ (Written::Older | Written::Overruled))) => {
                let is_older = written == Written::Older;
                return passed_over(line, backup, shelf, placed(is_older, None), change).await;
            }
            // The stored visit is the one that the visitor gives up. The exception: this very change has already
            // restored it.
            Ok(Placing::Taken(record)) if how == Joining::Moved && record.version != change.version => {
                let through = write_through(line, backup, shelf, change).await?;
                return Ok(Some(placed(through.durable, through.record)));
            }
            Ok(Placing::Taken(record)) => record,
            Err(error) => {
                tracing::warn!(
                    event = "entry.place_journaled", %queue, entry = %id, %error,
                    "the backup did not accept the place of a visitor who entered; added it to the journal instead"
                );
                line.record(queue, change).await?;
                return Ok(Some(placed(false, None)));
            }
        };
        // If the visit has ended, either the line remembers the end or the backup has it. The code therefore asks the
        // line before it reads the record: an end that the line forgets in between is in that record.
        if let Some(end) = line.end(queue, id).await?
            && end.version >= taken.version
            && end.event.visit() == taken.visit
        {
            if taken.outlasts(&end) {
                match outlasted(line, backup, shelf, &taken, &end).await {
                    // If the backup is unavailable, the next write reports it.
                    Ok(()) | Err(OutlastedError::Backup(_)) => continue,
                    Err(OutlastedError::Line(error)) => return Err(error),
                }
            }
            write_through(line, backup, shelf, &end).await?;
            if end.version >= change.version {
                // The end is later than the change, so writing the change would have no effect. The caller has to ask
                // the line again.
                return Ok(None);
            }
            continue;
        }
        let record = match within(deadline, backup.entry(shelf, id)).await {
            Ok(Some(record)) if record.is_another_live_visit(change) => record,
            // The visit ended in between, or the backup is unavailable. The next write reports which.
            _ => continue,
        };
        let revival = Revival {
            record,
            generation: shelf.generation,
            instead: Instead::Place(change.event.visit()),
        };
        match line.revive(queue, &revival).await? {
            Revived::Back { standing, change } => {
                let through = write_through(line, backup, shelf, &change).await?;
                if revival.record.came_back_at_ms.is_some() {
                    tracing::info!(
                        event = "entry.missed_turn_restored", %queue, entry = %id,
                        "gave a visitor who missed the turn and returned within the grace the old place"
                    );
                } else {
                    tracing::warn!(
                        event = "entry.place_restored", %queue, entry = %id,
                        "gave an entering visitor the old place, which Redis had lost and DynamoDB still shows"
                    );
                }
                return Ok(Some(Placed {
                    standing,
                    durable: through.durable,
                    record: through.record,
                    given_back: true,
                }));
            }
            // Another request restored it a moment ago.
            Revived::Here(standing) => {
                return Ok(Some(Placed {
                    standing,
                    durable: standing.visit() == revival.record.visit,
                    record: Some(revival.record),
                    given_back: true,
                }));
            }
            Revived::Expired(end) => {
                write_through(line, backup, shelf, &end).await?;
                return Ok(None);
            }
            Revived::Ended => {}
            Revived::Refused | Revived::Sought(_) => return Ok(None),
        }
    }
    Ok(None)
}

/// Resolves a place that the backup did not store, because the record supersedes it. If the record certainly shows the
/// end of this visit, the line had lost that end, and the entry is removed from the line. Otherwise either the backup
/// already shows the place, or the change goes to the journal, behind anything that the journal holds of a new visit.
async fn passed_over(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    placed: Placed,
    change: &Change,
) -> Result<Option<Placed>, LineError> {
    let record = backup.entry(shelf, change.id).await.ok().flatten();
    let record = record.filter(|record| !record.state.is_live());
    // A ready entry is identified by its claim deadline here, not by the time to claim (hence 0): only the consistency
    // check persists a ready entry through this function.
    if let Some(over) = record
        .as_ref()
        .filter(|record| record.is_end_of(&placed.standing, 0))
    {
        take_out(line, backup, shelf, &placed.standing, over).await?;
        return Ok(None);
    }
    if !placed.durable {
        if record.is_none() {
            // The record changed since, or the backup cannot be read.
            return Ok(None);
        }
        line.record(&shelf.queue, change).await?;
    }
    Ok(Some(placed))
}

async fn within<T>(
    deadline: Instant,
    answer: impl Future<Output = Result<T, BackupError>>,
) -> Result<T, BackupError> {
    let late = |_| Err(BackupError::Unavailable("it did not answer in time".to_owned()));
    timeout_at(deadline, answer).await.unwrap_or_else(late)
}
