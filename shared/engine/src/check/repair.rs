//! The second read of the consistency check, one entry at a time. It repairs an entry that is as
//! the first read observed it, and leaves a changed one to the next check.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::{
    entry_status::StoredPosition,
    id::{EntryId, QueueId},
    record::EntryRecord,
};
use vestibule_line::{JoinKind, Line, RepairOrder, RepairOutcome};

use super::{
    differences::EntryObservation,
    summary::{CheckError, CheckSummary},
};
use crate::{
    JOURNAL_RECORDS_MAX,
    persist_entry::persist_entry,
    restore_entry::{LostEntry, restore_entry},
    write_through::write_through,
};

/// How many entries are repaired concurrently.
const ENTRIES_AT_ONCE: usize = 16;

/// The entries in the journal, due or not, and in the dead letters. Their differences are either on
/// their way to the backup, or refused by it.
pub(super) async fn find_journaled_entries(
    line: &dyn Line,
    queue: &QueueId,
) -> Result<HashSet<EntryId>, CheckError> {
    let records = line.journal_records(queue, JOURNAL_RECORDS_MAX).await?;
    if records.len() == JOURNAL_RECORDS_MAX {
        return Err(CheckError::JournalBehind);
    }
    let dead_letters = line.dead_lettered(queue, JOURNAL_RECORDS_MAX).await?;
    let changes = records
        .into_iter()
        .chain(dead_letters)
        .flat_map(|record| record.changes);
    Ok(changes.map(|change| change.id).collect())
}

/// Repairs the differences of one queue.
pub(super) struct Repairer<'a> {
    pub(super) line: &'a dyn Line,
    pub(super) backup: &'a dyn Backup,
    pub(super) partition: &'a EntryPartition,
    /// The epoch of the line.
    pub(super) epoch: u32,
    pub(super) journaled: HashSet<EntryId>,
}

impl Repairer<'_> {
    pub(super) async fn repair_all(
        &self,
        observations: HashMap<EntryId, EntryObservation>,
        summary: &mut CheckSummary,
    ) -> Result<(), CheckError> {
        let repairs: Vec<_> = observations
            .into_iter()
            .map(|(id, observation)| self.repair(id, observation))
            .collect();
        let mut repairs = stream::iter(repairs).buffer_unordered(ENTRIES_AT_ONCE);
        while let Some(of_entry) = repairs.try_next().await? {
            *summary += CheckSummary {
                next_shard: summary.next_shard,
                ..of_entry
            };
        }
        Ok(())
    }

    async fn repair(&self, id: EntryId, observation: EntryObservation) -> Result<CheckSummary, CheckError> {
        let mut summary = CheckSummary::default();
        let is_done =
            !self.journaled.contains(&id) && self.repair_if_unchanged(id, observation, &mut summary).await?;
        summary.skipped = u64::from(!is_done);
        Ok(summary)
    }

    /// Returns `false` if a part of the difference is left to the next check.
    async fn repair_if_unchanged(
        &self,
        id: EntryId,
        observation: EntryObservation,
        summary: &mut CheckSummary,
    ) -> Result<bool, CheckError> {
        let mut record = match self.backup.read_entry(self.partition, id).await {
            // The item was damaged by hand. The other entries are repaired all the same.
            Err(BackupError::Unreadable(_)) => return Ok(false),
            answer => answer?,
        };
        let live = record.as_ref().filter(|record| record.state.is_live());
        let of_later_epoch = |record: &EntryRecord| record.version.epoch > self.epoch;
        if live.map(|record| record.version) != observation.live_version
            || record.as_ref().is_some_and(of_later_epoch)
        {
            return Ok(false);
        }
        if let Some(observed_end) = observation.end {
            // The end is written before the place, because the record of an entry shows its last visit.
            let end = self.line.unsettled_end(&self.partition.queue, id).await?;
            let Some(end) = end.filter(|end| *end == observed_end) else {
                return Ok(false);
            };
            write_through(self.line, self.backup, self.partition, &end).await?;
            summary.ended += 1;
            record = self.backup.read_entry(self.partition, id).await?;
        }
        match (observation.position, record) {
            (Some(position), record) => self.repair_place(id, position, record, summary).await,
            (None, Some(record)) if record.state.is_live() => self.restore_lost_entry(record, summary).await,
            (None, _) => Ok(true),
        }
    }

    /// Repairs an entry that has a place in the line.
    async fn repair_place(
        &self,
        id: EntryId,
        position: StoredPosition,
        record: Option<EntryRecord>,
        summary: &mut CheckSummary,
    ) -> Result<bool, CheckError> {
        if record
            .as_ref()
            .is_some_and(|record| record.matches_position(position))
        {
            return Ok(true);
        }
        let had_place = record.as_ref().is_some_and(|record| record.state.is_live());
        let order = RepairOrder {
            id,
            observed: position,
            generation: self.partition.generation,
            record,
        };
        let (line, queue) = (self.line, &self.partition.queue);
        match line.repair(queue, &order).await? {
            RepairOutcome::Rejected | RepairOutcome::Moved => return Ok(false),
            RepairOutcome::Ended(end) => {
                write_through(line, self.backup, self.partition, &end).await?;
                tracing::warn!(
                    event = "entry.stale_removed", %queue, entry = %id,
                    "removed an entry from Redis that DynamoDB shows as ended"
                );
                summary.removed += 1;
            }
            RepairOutcome::Live {
                status,
                change,
                has_adopted,
            } => {
                // As for a visitor who enters: if the backup shows another live visit, the line had
                // lost that visit.
                match persist_entry(line, self.backup, self.partition, JoinKind::Kept, status, &change)
                    .await?
                {
                    None => return Ok(false),
                    Some(entry) if entry.is_restored => summary.restored += 1,
                    Some(_) if has_adopted => {
                        let state = status.state().name();
                        tracing::warn!(
                            event = "entry.state_advanced", %queue, entry = %id, state,
                            "advanced an entry in Redis to the later state that DynamoDB shows"
                        );
                        summary.adopted += 1;
                    }
                    Some(_) if had_place => summary.rewritten += 1,
                    Some(_) => summary.written += 1,
                }
            }
        }
        Ok(true)
    }

    /// Repairs an entry that has no place in the line.
    async fn restore_lost_entry(
        &self,
        record: EntryRecord,
        summary: &mut CheckSummary,
    ) -> Result<bool, CheckError> {
        match restore_entry(self.line, self.backup, self.partition, record).await? {
            LostEntry::InLine => summary.restored += 1,
            LostEntry::EndRecorded(Some(_)) => summary.ended += 1,
            // The entry timed out and the line has not dropped it yet, or it changed in the meantime.
            LostEntry::EndRecorded(None) | LostEntry::EndPending | LostEntry::Undecided => return Ok(false),
        }
        Ok(true)
    }
}
