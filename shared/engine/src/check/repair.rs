//! What the consistency check does about one entry that the first read found different, in two steps:
//!
//! 1. If the record states a greater fact than the line, the line lost that. It takes the record
//!    over at once, as a request of the visitor would. No write under way explains this difference,
//!    because the line changes first.
//! 2. Any other difference may be a write under way. After a second read, an entry that is as the
//!    first read observed it is repaired. A changed one is left to the next check.

use std::collections::HashMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::{
    change::VisitEnd, entry_status::EntryStatus, fact::Fact, id::EntryId, record::EntryRecord,
};
use vestibule_line::{AdoptBasis, EntryLookup, Line, NotFound};

use super::{
    differences::EntryObservation,
    summary::{CheckError, CheckSummary},
};
use crate::{
    agree::{Agreed, Agreement, Place, Start, acknowledge_end, agree},
    log_agreement::log_agreement,
    reconcile_entry::is_ahead,
    write_through::WRITE_DEADLINE,
};

/// How many entries are repaired concurrently.
const ENTRIES_AT_ONCE: usize = 16;

/// Repairs the differences of one queue.
pub(super) struct Repairer<'a> {
    pub(super) line: &'a Line,
    pub(super) backup: &'a dyn Backup,
    pub(super) partition: &'a EntryPartition,
}

impl Repairer<'_> {
    /// Lets the line take over every record that is ahead of it. Returns the other observations.
    pub(super) async fn adopt_later_records(
        &self,
        observations: HashMap<EntryId, EntryObservation>,
        checked: &mut CheckSummary,
    ) -> Result<HashMap<EntryId, EntryObservation>, CheckError> {
        let adoptions: Vec<_> = observations
            .into_iter()
            .map(async |(id, observation)| {
                let adopted = self.adopt_later_record(id, observation).await?;
                Ok::<_, CheckError>((id, observation, adopted))
            })
            .collect();
        let mut adoptions = stream::iter(adoptions).buffer_unordered(ENTRIES_AT_ONCE);
        let mut others = HashMap::new();
        while let Some((id, observation, adopted)) = adoptions.try_next().await? {
            match adopted {
                Some(one) => checked.add_entry(one),
                None => {
                    others.insert(id, observation);
                }
            }
        }
        Ok(others)
    }

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
            checked.add_entry(one);
        }
        Ok(())
    }

    /// Lets the line take over the record if it is ahead of the line. Returns `None` if it is not,
    /// or if that failed.
    async fn adopt_later_record(
        &self,
        id: EntryId,
        observation: EntryObservation,
    ) -> Result<Option<CheckSummary>, CheckError> {
        let Some((lookup, record)) = self.read_both(id).await? else {
            return Ok(None);
        };
        let basis = match (&lookup, &record) {
            (EntryLookup::Found(status), Some(record)) if is_ahead(record, status) => AdoptBasis::Known,
            (EntryLookup::NotFound(NotFound::Ended(end)), Some(record))
                if record.fact.takes_slot_or_place() && record.fact > end.fact() =>
            {
                AdoptBasis::Known
            }
            (EntryLookup::NotFound(NotFound::Unknown { at_ms }), Some(record))
                if record.fact.takes_slot_or_place() =>
            {
                AdoptBasis::UnknownAt(*at_ms)
            }
            _ => return Ok(None),
        };
        let live_fact = record
            .as_ref()
            .map(|record| record.fact)
            .filter(|fact| fact.takes_slot_or_place());
        let start = Start::Compare(id, record, basis);
        let summary = self.make_agree(id, observation, lookup, live_fact, start).await?;
        Ok(summary.filter(|summary| summary.repaired_count() > 0))
    }

    /// Reads the entry in the line and then its record. Returns `None` if the item was damaged by
    /// hand: the other entries are repaired all the same.
    ///
    /// The line is asked first: it takes over an entry that it does not know only on a record that
    /// was read after that.
    async fn read_both(&self, id: EntryId) -> Result<Option<(EntryLookup, Option<EntryRecord>)>, CheckError> {
        let lookup = self.line.status(&self.partition.queue, id).await?;
        match self.backup.read_entry(self.partition, id).await {
            Err(BackupError::Unreadable(_)) => Ok(None),
            record => Ok(Some((lookup, record?))),
        }
    }

    async fn repair(&self, id: EntryId, observation: EntryObservation) -> Result<CheckSummary, CheckError> {
        let skipped = CheckSummary {
            skipped: 1,
            ..CheckSummary::default()
        };
        let Some((lookup, record)) = self.read_both(id).await? else {
            return Ok(skipped);
        };
        let live_fact = record
            .as_ref()
            .map(|record| record.fact)
            .filter(|fact| fact.takes_slot_or_place());
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
        let summary = self.make_agree(id, observation, lookup, live_fact, start).await?;
        Ok(summary.unwrap_or(skipped))
    }

    /// Makes the line and the backup agree about one entry. Returns `None` if that is left to the
    /// next check.
    async fn make_agree(
        &self,
        id: EntryId,
        observation: EntryObservation,
        lookup: EntryLookup,
        live_fact: Option<Fact>,
        start: Start,
    ) -> Result<Option<CheckSummary>, CheckError> {
        let deadline = Instant::now() + WRITE_DEADLINE;
        match agree(self.line, self.backup, self.partition, start, deadline).await? {
            Agreement::Reached(agreed) => {
                log_agreement(self.partition, id, &agreed);
                let mut summary = count_repair(&lookup, live_fact, &agreed);
                if let (EntryLookup::Found(_), Some(end)) = (lookup, observation.outdated_end(&agreed)) {
                    acknowledge_end(self.line, self.partition, Some(end)).await;
                    summary.ended += 1;
                }
                Ok(Some(summary))
            }
            Agreement::Unwritten(_, _, BackupError::Unreadable(_))
            | Agreement::EnterAgain
            | Agreement::Undecided => Ok(None),
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
