//! Answers status requests that present nothing but a token. A token is a name and not a key, so such a request reads and
//! has no effect on any entry: it is no check-in, it does not show that a page is open, and it repairs nothing. The visitor,
//! the promoter or the consistency check does that.
//!
//! Anyone can invent a token, and a token without an entry costs a read of the backup. So such a token is remembered, and
//! such reads are limited. A record that was read for a token alone is kept for a second. A request that proves the visitor
//! is always looked up: only a visitor who has entered knows the token that belongs to the visitor id. So a visitor whose
//! entry the line has lost gets it back whatever others send.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_backup::BackupError;
use vestibule_domain::{
    id::{EntryId, QueueId},
    queue_state::QueueState,
    record::EntryRecord,
    state::EntryState,
};
use vestibule_line::{CheckIn, EntryLookup, NotFound};

use super::{
    missing::{QueryError, outcome_problem},
    view::{EntryBody, EntryViewInput},
};
use crate::{
    ApiState,
    problem::{Code, Problem},
    queue::QueueSnapshot,
};

/// How long the read of a record for a token alone may take.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

impl ApiState {
    /// Notes that this process has just given a place to the visitor, or restored the entry.
    pub(crate) fn record_entry(&self, queue: &QueueId, id: EntryId) {
        let key = (queue.clone(), id);
        self.token_records.remove(&key);
        self.absent_entries.record_presence(key);
    }

    /// Reads the entry with this token, for a caller who is not known to be its visitor.
    pub(crate) async fn read_by_token(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
    ) -> Result<EntryBody, QueryError> {
        if self.absent_entries.is_absent(&(snapshot.queue.clone(), id)) {
            return Err(Problem::unknown_entry().into());
        }
        let found = self.line.look_up(&snapshot.queue, id).await;
        let CheckIn { lookup, lane } = self.convert_line_error(snapshot, found).await?;
        let status = match lookup {
            EntryLookup::Found(status) => status,
            EntryLookup::NotFound(missing) => {
                return Err(self.read_missing_token(snapshot, id, missing).await.into());
            }
        };
        let is_waiting = status.state() == EntryState::Waiting;
        if is_waiting && snapshot.queue_state() == QueueState::Finished {
            return Err(Problem::queue_finished(snapshot.settings()).into());
        }
        // The place of a waiting entry says all that the record would add.
        let record = if is_waiting {
            None
        } else {
            self.read_recent_record(snapshot, id).await.ok().flatten()
        };
        Ok(self.entry_body(EntryViewInput {
            snapshot,
            id,
            status,
            lane,
            has_entered: false,
            record,
            durable: None,
            is_owner_proven: false,
        })?)
    }

    /// Returns the problem that says what became of an entry that the line does not have.
    async fn read_missing_token(&self, snapshot: &QueueSnapshot, id: EntryId, missing: NotFound) -> Problem {
        let Some(lookup) = self.absent_entries.begin_lookup() else {
            return Problem::too_many_lookups();
        };
        let partition = snapshot.partition();
        let stored = self.read_recent_record(snapshot, id).await;
        let problem = match self
            .entry_context(&partition)
            .missing_entry_outcome(missing, stored)
        {
            Ok(outcome) => outcome_problem(outcome, snapshot),
            Err(error) => self.missing_entry_error_problem(snapshot, error).await,
        };
        if problem.code() == Code::UnknownEntry {
            let key = (snapshot.queue.clone(), id);
            self.absent_entries.record_absence(key, &lookup);
        } else {
            self.absent_entries.release(lookup);
        }
        problem
    }

    /// Reads the record of an entry, or returns what was read within the last second.
    async fn read_recent_record(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError> {
        let place = self.token_records.place(&snapshot.queue, id);
        let read = async || {
            let partition = snapshot.partition();
            let read = timeout(READ_TIMEOUT, self.backup.read_entry(&partition, id)).await;
            read.unwrap_or_else(|_| Err(BackupError::Unavailable("it did not answer in time".to_owned())))
        };
        place.get_or_try_init(read).await.cloned()
    }
}
