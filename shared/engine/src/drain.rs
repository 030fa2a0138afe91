//! Flushes the journal, which is the outbox of the line, to the backup.

use std::time::Duration;

use tokio::time::Instant;
use vestibule_backup::{Backup, BackupError, Shelf};
use vestibule_line::{Deferral, JournalRecord, Line, LineError, SetAside};

use super::{
    aside,
    batch::{self, Tried, batches},
    over,
};

/// The most journal records that one read returns. A single record of a tick may hold a thousand changes.
pub const RECORDS_MAX: usize = 100;
/// A change that the backup refused this often, while it accepted others, becomes a dead letter.
pub const TRIES_MAX: u32 = 10;
/// The longest backoff after the first attempt. It doubles with each attempt, up to [`WAIT_MAX`]. All [`TRIES_MAX`]
/// attempts together take some six minutes.
const WAIT: Duration = Duration::from_secs(2);
const WAIT_MAX: Duration = Duration::from_mins(2);

/// What one flush wrote to the backup, and what it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Journal records that the flush handled.
    pub records: usize,
    /// Changes in them that the backup holds now.
    pub changes: usize,
    /// Changes that the backup refused. A later flush tries them again.
    pub refused: usize,
    /// Records that became dead letters.
    pub set_aside: usize,
}

/// Why a flush stopped. The changes written until then are in the backup and no longer in the journal.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// The line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup accepted no more changes.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Writes at most `most_records` of the oldest due journal records to the backup. A change that the backup holds leaves
/// the journal. If the backup accepts only a part of a record, only that part leaves.
///
/// Delivery is at-least-once: any number of callers may flush at once, and a flush that was cut off may be repeated. A
/// change that the backup already shows has no effect.
///
/// A change that the backup refuses while it accepts others is tried again later, and becomes a dead letter after
/// [`TRIES_MAX`] attempts. So it never blocks the changes behind it. No batch begins after `until`, except the first
/// one.
///
/// # Errors
/// [`DrainError`] if the line fails or the backup accepts no more changes. Changes that were not written stay in the
/// journal.
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
        // The backup throttles or is unavailable: stop the flush and leave the rest in the journal.
        Tried::until_rest(tried)?;
    }
    Ok(drained)
}

/// Succeeds if the partition is of the queue's current generation. Without this check, a flush after a reset would
/// write records of the new generation into the old partition.
///
/// # Errors
/// [`LineError::Unknown`] if the generation differs: the queue that the caller knew no longer exists.
pub(super) async fn is_of(line: &dyn Line, shelf: &Shelf) -> Result<(), LineError> {
    let view = line.view(&shelf.queue).await?;
    if view.configuration.generation == shelf.generation {
        Ok(())
    } else {
        Err(LineError::Unknown)
    }
}

/// Flushes repeatedly, until no record is due or `until` has passed.
///
/// # Errors
/// The same as [`drain`].
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

/// Removes from the journal each record that the backup holds completely, and tells the line which ends the backup
/// holds.
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

/// Replaces a journal record with the changes of it that the backup does not hold, or moves it to the dead letters.
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
    // Jitter: changes that the backup refused together do not return together.
    let wait = wait.mul_f64(0.5 + rand::random::<f64>() / 2.0);
    Deferral {
        key: record.key.clone(),
        rest: tried.rest.iter().map(|(change, _)| *change).collect(),
        refused: tried.refused.iter().map(|(change, _)| *change).collect(),
        tries,
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
    }
}
