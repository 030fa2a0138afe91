//! What became of an entry that has no place in the line.

use super::{Edge, problem::Problem, views::Seen};
use crate::{
    domain::{change::Change, id::EntryId, record::Record},
    line::Missing,
};

/// What the backup knows of an entry that the line does not have.
pub(super) enum Fate {
    /// It ended like this.
    Ended(Record),
    /// Its deadline came a moment ago, and no promotion has dropped it yet.
    TimedOut(Option<Record>),
    /// The backup has it in line: the line lost it.
    Lost,
    /// There never was one, or it was too long ago.
    Never,
}

impl Edge {
    /// Says what became of an entry. An end that the backup may not have is written first: whoever ended it may have
    /// been killed before that.
    pub(super) async fn fate(&self, seen: &Seen, id: EntryId, missing: Missing) -> Result<Fate, Problem> {
        if missing == Missing::Ended {
            match self.line.end(&seen.queue, id).await {
                Ok(Some(end)) => return self.fate_of(seen, &end).await,
                Ok(None) => {}
                Err(error) => return Err(self.line_failed(&seen.queue, error).await),
            }
        }
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

    async fn fate_of(&self, seen: &Seen, end: &Change) -> Result<Fate, Problem> {
        let written = self.write(seen, end).await?.record;
        let standing = match written {
            Some(record) => Some(record),
            None => self.record(seen, end.id).await,
        };
        Ok(match standing {
            Some(record) if !record.state.is_live() => Fate::Ended(record),
            // The backup is away, or behind: it will stand like this.
            standing => match Record::after(standing.as_ref(), end, seen.shelf().retain_hours) {
                Some(record) if !record.state.is_live() => Fate::Ended(record),
                _ => Fate::TimedOut(standing),
            },
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
