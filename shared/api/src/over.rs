//! Removes an entry that the line still lists although its visit has ended.
//!
//! The line can lose the end of a visit, for example in a failover. A request that reads the record anyway
//! then believes the record. See `docs/decisions/lost-ends.md`.

use vestibule_domain::{change::Change, id::EntryId, record::Record, standing::Standing};
use vestibule_engine::{over::take_out, write_through::Through};
use vestibule_line::Look;

use super::{Edge, problem::Problem, views::Seen};

impl Edge {
    /// Removes the entry from the line if the record proves that this visit has ended, that is, if both
    /// refer to the same visit. Returns whether it did. The caller then asks the line again, because the
    /// visitor may have a new visit by now.
    pub(super) async fn is_over(
        &self,
        seen: &Seen,
        standing: &Standing,
        record: &Record,
    ) -> Result<bool, Problem> {
        if !record.is_end_of(standing, seen.settings().claim_ms()) {
            return Ok(false);
        }
        let shelf = seen.shelf();
        // This is rare. The box keeps it from enlarging the future of every request.
        let out = Box::pin(take_out(&*self.line, &*self.backup, &shelf, standing, record)).await;
        self.wakes.wake(record.id);
        match out {
            // If the entry moved meanwhile, the next request to the line shows that.
            Ok(()) => Ok(true),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    /// Returns the status and the record as they are if the visit has not ended. If the record proves that
    /// it has, removes the entry and returns the status that the line has now. If the entry has no place
    /// any more, returns the problem that says why.
    pub(super) async fn stands_still(
        &self,
        seen: &Seen,
        id: EntryId,
        standing: Standing,
        record: Option<Record>,
    ) -> Result<(Standing, Option<Record>), Problem> {
        let is_over = match &record {
            Some(record) => self.is_over(seen, &standing, record).await?,
            None => false,
        };
        if !is_over {
            return Ok((standing, record));
        }
        match self.look(seen, id).await? {
            Look::Here(standing) => Ok((standing, None)),
            Look::Gone(missing) => Err(self.gone(seen, id, missing).await),
        }
    }

    /// Refuses a request that let a visitor in, or consumed the session, although the visit had already
    /// ended. The backup shows that by rejecting the change.
    pub(super) async fn was_not_over(
        &self,
        seen: &Seen,
        standing: &Standing,
        change: &Change,
        through: &Through,
    ) -> Result<(), Problem> {
        let passed_over = through.overruled || (through.durable && through.record.is_none());
        if !passed_over {
            return Ok(());
        }
        let Some(record) = self.record(seen, change.id).await else {
            return Ok(());
        };
        if change.ending().is_some() {
            // The first of two ends of one visit counts. Here the line had lost the first one.
            let is_another = record.version != change.version;
            return if is_another && record.is_end_of(standing, seen.settings().claim_ms()) {
                Err(Problem::gone(&record, None))
            } else {
                Ok(())
            };
        }
        self.stands_still(seen, change.id, *standing, Some(record))
            .await
            .map(drop)
    }
}
