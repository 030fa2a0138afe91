//! What became of an entry that has no place in the line.

use super::{Edge, problem::Problem, views::Seen};
use crate::{
    domain::{id::EntryId, record::Record},
    line::Missing,
};

/// What the backup knows of an entry that the line does not have.
pub(super) enum Fate {
    /// It ended like this.
    Ended(Record),
    /// It timed out a moment ago: only what a promotion did may be missing from the backup.
    TimedOut(Option<Record>),
    /// The backup has it in line: the line lost it.
    Lost,
    /// There never was one, or it was too long ago.
    Never,
}

impl Edge {
    /// Asks the backup what became of an entry.
    pub(super) async fn fate(&self, seen: &Seen, id: EntryId, missing: Missing) -> Result<Fate, Problem> {
        let record = match self.backup.entry(&seen.shelf(), id).await {
            Ok(record) => record,
            Err(error) => match missing {
                Missing::Ended => None,
                Missing::Unknown => return Err(Problem::backup_away(&error)),
            },
        };
        Ok(match (record, missing) {
            (Some(record), _) if !record.state.is_live() => Fate::Ended(record),
            (record, Missing::Ended) => Fate::TimedOut(record),
            (Some(_), Missing::Unknown) => Fate::Lost,
            (None, Missing::Unknown) => Fate::Never,
        })
    }

    /// The answer to whoever asks for an entry that has no place.
    pub(super) async fn gone(&self, seen: &Seen, id: EntryId, missing: Missing) -> Problem {
        match self.fate(seen, id, missing).await {
            Ok(Fate::Ended(record)) => Problem::gone(&record),
            Ok(Fate::TimedOut(record)) => Problem::timed_out(record.map(|record| record.visit)),
            Ok(Fate::Lost) => Problem::recovering("the line does not have the entry"),
            Ok(Fate::Never) => Problem::unknown_entry(),
            Err(problem) => problem,
        }
    }

    /// The answer to whoever ends an entry that has no place: it is as they wish, unless it never was.
    pub(super) async fn ended_already(
        &self,
        seen: &Seen,
        id: EntryId,
        missing: Missing,
    ) -> Result<(), Problem> {
        match self.fate(seen, id, missing).await? {
            Fate::Ended(_) | Fate::TimedOut(_) => Ok(()),
            Fate::Lost => Err(Problem::recovering("the line does not have the entry")),
            Fate::Never => Err(Problem::unknown_entry()),
        }
    }
}
