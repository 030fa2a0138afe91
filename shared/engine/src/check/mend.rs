//! The second read of the consistency check, one entry at a time. It repairs an entry that is as the first read
//! observed it, and leaves a changed one to the next check.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use vestibule_backup::{Backup, BackupError, Shelf};
use vestibule_domain::{
    id::{EntryId, QueueId},
    record::Record,
    standing::Spot,
};
use vestibule_line::{Joining, Line, Mended, Mending};

use super::{CheckError, Checked, differences::Sight};
use crate::{
    WHOLE_JOURNAL_MAX,
    place::place,
    revive::{Found, revive},
    write_through::write_through,
};

/// How many entries are repaired concurrently.
const ENTRIES_AT_ONCE: usize = 16;

/// The entries in the journal, due or not, and in the dead letters. Their differences are either on their way to the
/// backup, or refused by it.
pub(super) async fn unsettled(line: &dyn Line, queue: &QueueId) -> Result<HashSet<EntryId>, CheckError> {
    let records = line.whole_journal(queue, WHOLE_JOURNAL_MAX).await?;
    if records.len() == WHOLE_JOURNAL_MAX {
        return Err(CheckError::Behind);
    }
    let aside = line.aside(queue, WHOLE_JOURNAL_MAX).await?;
    let changes = records.into_iter().chain(aside).flat_map(|record| record.changes);
    Ok(changes.map(|change| change.id).collect())
}

/// Repairs the differences of one queue.
pub(super) struct Mender<'a> {
    pub(super) line: &'a dyn Line,
    pub(super) backup: &'a dyn Backup,
    pub(super) shelf: &'a Shelf,
    /// The epoch of the line.
    pub(super) epoch: u32,
    pub(super) unsettled: HashSet<EntryId>,
}

impl Mender<'_> {
    pub(super) async fn mend_all(
        &self,
        sights: HashMap<EntryId, Sight>,
        checked: &mut Checked,
    ) -> Result<(), CheckError> {
        let mends: Vec<_> = sights
            .into_iter()
            .map(|(id, sight)| self.mend(id, sight))
            .collect();
        let mut mends = stream::iter(mends).buffer_unordered(ENTRIES_AT_ONCE);
        while let Some(one) = mends.try_next().await? {
            *checked += Checked {
                next_shard: checked.next_shard,
                ..one
            };
        }
        Ok(())
    }

    async fn mend(&self, id: EntryId, sight: Sight) -> Result<Checked, CheckError> {
        let mut checked = Checked::default();
        let is_done = !self.unsettled.contains(&id) && self.mend_as_seen(id, sight, &mut checked).await?;
        checked.skipped = u64::from(!is_done);
        Ok(checked)
    }

    /// Returns `false` if a part of the difference is left to the next check.
    async fn mend_as_seen(
        &self,
        id: EntryId,
        sight: Sight,
        checked: &mut Checked,
    ) -> Result<bool, CheckError> {
        let mut record = match self.backup.entry(self.shelf, id).await {
            // The item was damaged by hand. The other entries are repaired all the same.
            Err(BackupError::Nonsense(_)) => return Ok(false),
            answer => answer?,
        };
        let live = record.as_ref().filter(|record| record.state.is_live());
        let of_later_epoch = |record: &Record| record.version.epoch > self.epoch;
        if live.map(|record| record.version) != sight.live || record.as_ref().is_some_and(of_later_epoch) {
            return Ok(false);
        }
        if let Some(seen) = sight.end {
            // The end is written before the place, because the record of an entry shows its last visit.
            let end = self.line.end(&self.shelf.queue, id).await?;
            let Some(end) = end.filter(|end| *end == seen) else {
                return Ok(false);
            };
            write_through(self.line, self.backup, self.shelf, &end).await?;
            checked.ended += 1;
            record = self.backup.entry(self.shelf, id).await?;
        }
        match (sight.spot, record) {
            (Some(spot), record) => self.mend_place(id, spot, record, checked).await,
            (None, Some(record)) if record.state.is_live() => self.bring_back(record, checked).await,
            (None, _) => Ok(true),
        }
    }

    /// Repairs an entry that has a place in the line.
    async fn mend_place(
        &self,
        id: EntryId,
        spot: Spot,
        record: Option<Record>,
        checked: &mut Checked,
    ) -> Result<bool, CheckError> {
        if record.as_ref().is_some_and(|record| record.shows(spot)) {
            return Ok(true);
        }
        let had_place = record.as_ref().is_some_and(|record| record.state.is_live());
        let mending = Mending {
            id,
            seen: spot,
            generation: self.shelf.generation,
            record,
        };
        let (line, queue) = (self.line, &self.shelf.queue);
        match line.mend(queue, &mending).await? {
            Mended::Refused | Mended::Moved => return Ok(false),
            Mended::Ended(end) => {
                write_through(line, self.backup, self.shelf, &end).await?;
                tracing::warn!(
                    event = "entry.stale_removed", %queue, entry = %id,
                    "removed an entry from Redis that DynamoDB shows as ended"
                );
                checked.removed += 1;
            }
            Mended::Here {
                standing,
                change,
                moved_on,
            } => {
                // As for a visitor who enters: if the backup shows another live visit, the line had lost that visit.
                match place(line, self.backup, self.shelf, Joining::Kept, standing, &change).await? {
                    None => return Ok(false),
                    Some(placed) if placed.given_back => checked.revived += 1,
                    Some(_) if moved_on => {
                        let state = standing.state().name();
                        tracing::warn!(
                            event = "entry.state_advanced", %queue, entry = %id, state,
                            "advanced an entry in Redis to the later state that DynamoDB shows"
                        );
                        checked.moved_on += 1;
                    }
                    Some(_) if had_place => checked.restated += 1,
                    Some(_) => checked.written += 1,
                }
            }
        }
        Ok(true)
    }

    /// Repairs an entry that has no place in the line.
    async fn bring_back(&self, record: Record, checked: &mut Checked) -> Result<bool, CheckError> {
        match revive(self.line, self.backup, self.shelf, record).await? {
            Found::Here => checked.revived += 1,
            Found::Over(Some(_)) => checked.ended += 1,
            // The entry timed out and the line has not dropped it yet, or it changed in the meantime.
            Found::Over(None) | Found::Ended | Found::Unclear => return Ok(false),
        }
        Ok(true)
    }
}
