//! Dead letters: journal records that the backup refused repeatedly. The line keeps them, and the promoter retries them
//! now and then.

use vestibule_backup::{Backup, Shelf};
use vestibule_line::{JournalRecord, Line, LineError, SetAside};

use super::{
    batch::{self, Tried, batches},
    drain::{DrainError, is_of},
};

/// The most dead letters that one retry reads.
const RECORDS_MAX: usize = 10_000;

/// The outcome of retrying dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retried {
    /// Records that the backup holds now. They are no longer dead letters.
    pub taken: usize,
    /// Records that remain dead letters.
    pub left: usize,
}

/// Moves a journal record to the dead letters, and logs the reason.
///
/// # Errors
/// [`LineError`] if the line failed to answer.
pub(super) async fn set_aside(
    line: &dyn Line,
    shelf: &Shelf,
    record: &JournalRecord,
    reason: &str,
) -> Result<SetAside, LineError> {
    let (queue, key, tries) = (&shelf.queue, record.key.as_str(), record.tries);
    let entry = record.changes.first().map(|change| change.id.to_string());
    let done = line.set_aside(queue, key).await?;
    match done {
        SetAside::Done => {
            tracing::error!(
                event = "journal.record_dead_lettered", %queue, key, entry, tries, reason,
                "moved a journal record to the dead letters: read the reason and repair the entry's item"
            );
        }
        SetAside::Full => {
            tracing::error!(
                event = "journal.dead_letters_full", %queue, key, entry, tries, reason,
                "cannot move a journal record to the dead letters, which are full: it stays in the journal; \
                 repair the items that earlier dead letters name"
            );
        }
        SetAside::Gone => {}
    }
    Ok(done)
}

/// Tries once more to write the dead letters. A record that the backup accepts now, or already holds, leaves the dead
/// letters.
///
/// # Errors
/// [`DrainError`] if the line fails or the backup accepts no writes at the moment.
pub async fn retry(line: &dyn Line, backup: &dyn Backup, shelf: &Shelf) -> Result<Retried, DrainError> {
    let queue = &shelf.queue;
    let mut records = line.aside(queue, RECORDS_MAX).await?;
    if !records.is_empty() {
        is_of(line, shelf).await?;
    }
    let mut retried = Retried {
        taken: 0,
        left: records.len(),
    };
    records.retain(|record| record.unreadable.is_none());
    for batch in batches(&records) {
        let tried = batch::write(backup, shelf, batch).await;
        let whole = tried.iter().filter(|tried| tried.is_written());
        let keys: Vec<_> = whole.map(|tried| tried.record.key.clone()).collect();
        let ended: Vec<_> = tried.iter().flat_map(Tried::endings).collect();
        if !keys.is_empty() {
            line.settle(queue, &keys, &ended).await?;
            tracing::info!(
                event = "journal.dead_letters_written", %queue, records = keys.len(),
                "the backup accepted records that were dead letters; removed them from the dead letters"
            );
        }
        retried.taken += keys.len();
        retried.left -= keys.len();
        Tried::until_rest(tried)?;
    }
    Ok(retried)
}
