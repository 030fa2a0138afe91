//! The second read of the consistency check, one entry at a time. It repairs an entry that is as the first read
//! observed it, and leaves a changed one to the next check.

use std::collections::HashMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::{change::VisitEnd, entry_status::EntryStatus, fact::Fact, id::EntryId};
use vestibule_line::{AdoptBasis, EntryLookup, Line, NotFound};

use super::{
    differences::EntryObservation,
    summary::{CheckError, CheckSummary},
};
use crate::{
    agree::{Agreed, Agreement, Place, Start, acknowledge_end, agree},
    log_agreement::log_agreement,
    write_through::WRITE_DEADLINE,
};

/// How many entries are repaired concurrently.
const ENTRIES_AT_ONCE: usize = 16;

/// Repairs the differences of one queue.
pub(super) struct Repairer<'a> {
    pub(super) line: &'a dyn Line,
    pub(super) backup: &'a dyn Backup,
    pub(super) partition: &'a EntryPartition,
}

impl Repairer<'_> {
    pub(super) async fn repair_all(
        &self,
        observations: HashMap<EntryId, EntryObservation>,
        checked: &mut CheckSummary,
    ) -> Result<(), CheckError> {
        let repairs: Vec<_> = observations
            .into_iter()
            .map(|(id, observation)| self.repair(id, observation))
            .collect();
        let mut repairs = stream::iter(repairs).buffer_unordered(ENTRIES_AT_ONCE);
        while let Some(one) = repairs.try_next().await? {
            *checked += CheckSummary {
                next_shard: checked.next_shard,
                ..one
            };
        }
        Ok(())
    }

    async fn repair(&self, id: EntryId, observation: EntryObservation) -> Result<CheckSummary, CheckError> {
        let skipped = CheckSummary {
            skipped: 1,
            ..CheckSummary::default()
        };
        // The line is asked first: it takes over an entry that it does not know only on a record that was read after
        // that.
        let lookup = self.line.status(&self.partition.queue, id).await?;
        let record = match self.backup.read_entry(self.partition, id).await {
            // The item was damaged by hand. The other entries are repaired all the same.
            Err(BackupError::Unreadable(_)) => return Ok(skipped),
            answer => answer?,
        };
        let live_fact = record
            .as_ref()
            .map(|record| record.fact)
            .filter(|fact| fact.is_live());
        if !observation.is_unchanged(&lookup, live_fact) {
            return Ok(skipped);
        }
        let start = match lookup {
            EntryLookup::Found(_) => Start::Compare(id, record, AdoptBasis::Known),
            EntryLookup::NotFound(NotFound::Ended(end)) => Start::Write(end),
            EntryLookup::NotFound(NotFound::Unknown { at_ms }) if live_fact.is_some() => {
                Start::Compare(id, record, AdoptBasis::UnknownAt(at_ms))
            }
            EntryLookup::NotFound(NotFound::Unknown { .. }) => return Ok(CheckSummary::default()),
        };
        let deadline = Instant::now() + WRITE_DEADLINE;
        match agree(self.line, self.backup, self.partition, start, deadline).await? {
            Agreement::Reached(agreed) => {
                log_agreement(self.partition, id, &agreed);
                let mut summary = count_repair(&lookup, live_fact, &agreed);
                if let (EntryLookup::Found(_), Some(end)) = (lookup, observation.outdated_end(&agreed)) {
                    acknowledge_end(self.line, self.partition, Some(end)).await;
                    summary.ended += 1;
                }
                Ok(summary)
            }
            Agreement::Unwritten(_, _, BackupError::Unreadable(_))
            | Agreement::EnterAgain
            | Agreement::Undecided => Ok(skipped),
            Agreement::Unwritten(_, _, error) => Err(error.into()),
        }
    }
}

impl Place {
    /// Whether the entry got an earlier visit back in place of the one that the line had.
    fn is_earlier_visit_than(self, lost: &EntryStatus) -> bool {
        matches!(self, Self::Live(status) if status.visit() < lost.visit())
    }
}

impl EntryObservation {
    /// Whether the entry is as it was observed. A change that is under way is left alone.
    fn is_unchanged(&self, lookup: &EntryLookup, live_fact: Option<Fact>) -> bool {
        let is_same_in_line = match (lookup, self.entry) {
            (EntryLookup::Found(status), Some(entry)) => {
                entry.fact.visit == status.visit() && entry.fact.live_state() == Some(status.state())
            }
            (EntryLookup::NotFound(NotFound::Ended(end)), None) => {
                self.end.is_none_or(|observed| observed.fact() == end.fact())
            }
            (EntryLookup::NotFound(NotFound::Unknown { .. }), None) => self.end.is_none(),
            _ => false,
        };
        is_same_in_line && live_fact == self.live_fact
    }

    /// The observed end, if the record states a greater fact: the entry has entered again since.
    fn outdated_end(&self, agreed: &Agreed) -> Option<VisitEnd> {
        let end = self.end?.visit_end()?;
        let record = agreed.record.as_ref()?;
        (record.fact > end.fact).then_some(end)
    }
}

/// Says what the repair of one entry did.
fn count_repair(lookup: &EntryLookup, live_fact: Option<Fact>, agreed: &Agreed) -> CheckSummary {
    let mut summary = CheckSummary::default();
    let count = match lookup {
        _ if agreed.has_removed => &mut summary.removed,
        EntryLookup::Found(status) if agreed.has_adopted && agreed.place.is_earlier_visit_than(status) => {
            &mut summary.restored
        }
        EntryLookup::Found(_) if agreed.has_adopted => &mut summary.adopted,
        EntryLookup::Found(_) if agreed.has_written && live_fact.is_some() => &mut summary.rewritten,
        EntryLookup::Found(_) if agreed.has_written => &mut summary.written,
        EntryLookup::Found(_) => return summary,
        EntryLookup::NotFound(_) if matches!(agreed.place, Place::Live(_)) => &mut summary.restored,
        EntryLookup::NotFound(_) => &mut summary.ended,
    };
    *count = 1;
    summary
}
