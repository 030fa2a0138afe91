//! Bringing the line's journal into the backup.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Backup, BackupError, Shelf, aside,
    batch::{self, Tried, batches},
    over,
};
use crate::line::{Deferral, JournalRecord, Line, LineError, SetAside};

/// How many journal records a driver reads at once: each may be one of a tick, of a thousand changes.
pub const RECORDS_MAX: usize = 100;
/// A change that the backup refused so often, while it took others, is set aside.
pub const TRIES_MAX: u32 = 10;
/// After the first try a change waits for so long at most; the time doubles with each. All [`TRIES_MAX`] of them take some six
/// minutes.
const WAIT: Duration = Duration::from_secs(2);
const WAIT_MAX: Duration = Duration::from_mins(2);

/// What a drain brought into the backup, and what it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Journal records that it dealt with.
    pub records: usize,
    /// Changes in them that the backup has now.
    pub changes: usize,
    /// Changes that the backup refused: they are tried again later.
    pub refused: usize,
    /// Records that were set aside.
    pub set_aside: usize,
}

/// Why a drain stopped. What it had brought by then is in the backup and gone from the journal.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup took no more.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Writes the oldest journal records that are due, at most so many; what the backup has leaves the journal, by parts of a
/// record where it has not all of it. Any number of callers may drain at once, and a drain that was cut off may be made
/// again: what the backup shows already changes nothing.
///
/// A change that the backup refuses while it takes others is tried again later, and set aside after [`TRIES_MAX`] tries: it
/// keeps none of those behind it. After `until` no further batch of records is begun, but the first always is.
///
/// # Errors
/// [`DrainError`] where the line fails, or the backup takes no more: what is not written stays in the journal.
pub async fn drain(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    most_records: usize,
    until: Instant,
) -> Result<Drained, DrainError> {
    let mut drained = Drained::default();
    let due = line.journal(&shelf.queue, most_records).await?;
    if !due.is_empty() {
        is_of(line, shelf).await?;
    }
    let (unreadable, records): (Vec<_>, Vec<_>) =
        due.into_iter().partition(|record| record.unreadable.is_some());
    for record in unreadable {
        let reason = record.unreadable.as_deref().unwrap_or_default();
        if aside::set_aside(line, shelf, &record, reason).await? == SetAside::Done {
            drained.records += 1;
            drained.set_aside += 1;
        }
    }
    for (nth, batch) in batches(&records).into_iter().enumerate() {
        if nth > 0 && Instant::now() >= until {
            break;
        }
        let tried = batch::write(backup, shelf, batch).await;
        settle(line, shelf, &tried, &mut drained).await?;
        for change in tried.iter().flat_map(|tried| &tried.overruled) {
            over::promoted(line, backup, shelf, change).await?;
        }
        for tried in &tried {
            replace(line, shelf, tried, &mut drained).await?;
        }
        // It has enough of us for now.
        Tried::until_rest(tried)?;
    }
    Ok(drained)
}

/// Whether the shelf is that of the queue's generation: a reset in between would put records of the next one there.
///
/// # Errors
/// [`LineError::Unknown`] where it is not: the caller's queue is gone.
pub(super) async fn is_of(line: &dyn Line, shelf: &Shelf) -> Result<(), LineError> {
    let view = line.view(&shelf.queue).await?;
    if view.configuration.generation == shelf.generation {
        Ok(())
    } else {
        Err(LineError::Unknown)
    }
}

/// Drains again and again, until nothing more is due or `until` has come.
///
/// # Errors
/// As [`drain`].
pub async fn drain_all(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    until: Instant,
) -> Result<(), DrainError> {
    loop {
        let drained = drain(line, backup, shelf, RECORDS_MAX, until).await?;
        tracing::debug!(
            event = "journal.flushed", queue = %shelf.queue, ?drained,
            "flushed journal records to the backup"
        );
        if drained.records < RECORDS_MAX || Instant::now() >= until {
            return Ok(());
        }
    }
}

/// Takes out of the journal what the backup has whole, and forgets the ends that it has.
async fn settle(
    line: &dyn Line,
    shelf: &Shelf,
    tried: &[Tried<'_>],
    drained: &mut Drained,
) -> Result<(), LineError> {
    let whole = tried.iter().filter(|tried| tried.is_written());
    let keys: Vec<_> = whole.map(|tried| tried.record.key.clone()).collect();
    let ended: Vec<_> = tried.iter().flat_map(Tried::endings).collect();
    if !keys.is_empty() || !ended.is_empty() {
        line.settle(&shelf.queue, &keys, &ended).await?;
    }
    drained.records += keys.len();
    drained.changes += tried.iter().map(|tried| tried.written.len()).sum::<usize>();
    Ok(())
}

/// Puts what is left of a record in its place.
async fn replace(
    line: &dyn Line,
    shelf: &Shelf,
    tried: &Tried<'_>,
    drained: &mut Drained,
) -> Result<(), LineError> {
    let is_untouched = tried.written.is_empty() && tried.refused.is_empty();
    if tried.is_written() || is_untouched {
        return Ok(());
    }
    let record = tried.record;
    let mut tries = record.tries + 1;
    if let [(_, reason)] = tried.refused.as_slice()
        && tries >= TRIES_MAX
    {
        match aside::set_aside(line, shelf, record, &reason.to_string()).await? {
            SetAside::Done => {
                drained.records += 1;
                drained.set_aside += 1;
                return Ok(());
            }
            SetAside::Gone => return Ok(()),
            SetAside::Full => tries = record.tries,
        }
    }
    for (change, reason) in &tried.refused {
        let (queue, entry) = (&shelf.queue, change.id);
        tracing::warn!(
            event = "journal.change_refused", %queue, %entry, tries, %reason,
            "the backup refused a change; the journal keeps it and the next flush after a pause tries it again"
        );
    }
    line.defer(&shelf.queue, &deferral(record, tried, tries)).await?;
    drained.records += 1;
    drained.refused += tried.refused.len();
    Ok(())
}

fn deferral(record: &JournalRecord, tried: &Tried<'_>, tries: u32) -> Deferral {
    let wait = WAIT
        .saturating_mul(1 << (tries.clamp(1, TRIES_MAX) - 1))
        .min(WAIT_MAX);
    // Between half of it and all of it: what was refused together does not come together again.
    let wait = wait.mul_f64(0.5 + rand::random::<f64>() / 2.0);
    Deferral {
        key: record.key.clone(),
        rest: tried.rest.iter().map(|(change, _)| *change).collect(),
        refused: tried.refused.iter().map(|(change, _)| *change).collect(),
        tries,
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
    }
}
