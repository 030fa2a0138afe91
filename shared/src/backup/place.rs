//! Writing the place of somebody who entered, unless they have one already that the line lost.

use std::future::Future;

use tokio::time::{Instant, timeout_at};

use super::{
    Backup, BackupError, Placing, Shelf, Written,
    outlasted::{OutlastedError, outlasted},
    over::take_out,
    write_through::{WRITE_DEADLINE, write_through},
};
use crate::{
    domain::{change::Change, record::Record, standing::Standing},
    line::{Instead, Joining, Line, LineError, Revival, Revived},
};

/// How often a write is tried again after what stood in its way was cleared.
const ROUNDS: usize = 4;

/// What somebody who entered has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Where they stand: where they stood before, if the line had lost that, or they missed their turn and are back in time.
    pub standing: Standing,
    /// Whether the backup has it.
    pub durable: bool,
    /// The record, where it was written or read.
    pub record: Option<Record>,
    /// Whether it is another place than the line had given.
    pub given_back: bool,
}

/// Writes the place that the line gave, by the change that it made of it. Where the backup shows another visit that is not
/// over, the line lost that one: the old place is put back instead of the new one, but where that was given up for it. So is
/// that of a visitor who missed the turn and is back in time, once the backup has that. What the line knows to be over, though
/// the backup does not, is written first. `None` where the line and the backup do not agree on what is over, or where the line
/// had lost that the visit is over, and they stand nowhere now: ask again.
///
/// # Errors
/// [`LineError`] where neither the backup nor the line's journal took it.
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
            // The place that stands is the one that is given up, unless they came back to it by this very change.
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
        // What the line does not remember as over is in the backup, if it is over: so the look comes before the reading.
        if let Some(end) = line.end(queue, id).await?
            && end.version >= taken.version
            && end.event.visit() == taken.visit
        {
            if taken.outlasts(&end) {
                match outlasted(line, backup, shelf, &taken, &end).await {
                    // The backup is away: the write says.
                    Ok(()) | Err(OutlastedError::Backup(_)) => continue,
                    Err(OutlastedError::Line(error)) => return Err(error),
                }
            }
            write_through(line, backup, shelf, &end).await?;
            if end.version >= change.version {
                // Later than the change, which would change nothing now: it has to be said anew.
                return Ok(None);
            }
            continue;
        }
        let record = match within(deadline, backup.entry(shelf, id)).await {
            Ok(Some(record)) if record.is_another_live_visit(change) => record,
            // It ended in between, or the backup is away: the write says.
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
            // Somebody else gave it back a moment ago.
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

/// Sees to a place that the backup passed over. Where it is over there beyond doubt, the line had lost the end, and the entry
/// leaves the line. Else the backup shows the place already, or it goes by the journal, behind what that may have of a new visit.
async fn passed_over(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    placed: Placed,
    change: &Change,
) -> Result<Option<Placed>, LineError> {
    let record = backup.entry(shelf, change.id).await.ok().flatten();
    let record = record.filter(|record| !record.state.is_live());
    // Nobody but the check writes a turn as it is: it is known by its deadline, and not by the time to claim.
    if let Some(over) = record
        .as_ref()
        .filter(|record| record.is_end_of(&placed.standing, 0))
    {
        take_out(line, backup, shelf, &placed.standing, over).await?;
        return Ok(None);
    }
    if !placed.durable {
        if record.is_none() {
            // Changed since, or nobody can say.
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
    let late = |_| Err(BackupError::Unavailable("no answer in time".to_owned()));
    timeout_at(deadline, answer).await.unwrap_or_else(late)
}
