//! Whoever stands in the line after their end, which the line lost: where a call reads the record anyway, it believes that.
//! See `docs/decisions/lost-ends.md`.

use vestibule_domain::{change::Change, id::EntryId, record::Record, standing::Standing};
use vestibule_engine::{over::take_out, write_through::Through};
use vestibule_line::Look;

use super::{Edge, problem::Problem, views::Seen};

impl Edge {
    /// Whether the visit that was seen there is over by this record, beyond doubt: it is out of the line then, and whoever
    /// asks the line again hears what stands now.
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
        // What hardly ever happens is kept out of what every call carries along.
        let out = Box::pin(take_out(&*self.line, &*self.backup, &shelf, standing, record)).await;
        self.wakes.wake(record.id);
        match out {
            // Where it moved meanwhile, the line says so.
            Ok(()) => Ok(true),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    /// Where an entry stands with its record, as it was seen; or as it stands by now, where the visit that was seen is over.
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

    /// Refuses whoever was let in, or was used up, though the visit was over: the backup passed the change over.
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
            // Of two ends of one visit the first one stands: here one that the line had lost.
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
