//! Answers status requests that present nothing but a token. A token is a name and not a key, so such a request reads and
//! has no effect on any entry: it is no check-in, it does not show that a page is open, and it repairs nothing. The visitor,
//! the promoter or the consistency check does that.
//!
//! Anyone can invent a token, and a token without an entry costs a read of the backup. So such a token is remembered, and
//! such reads are limited. A record that was read for a token alone is kept for a second. A request that proves the visitor
//! is always looked up: only a visitor who has entered knows the token that belongs to the visitor id. So a visitor whose
//! entry the line has lost gets it back whatever others send.

use std::time::Duration;

use tokio::time::Instant;
use vestibule_backup::BackupError;
use vestibule_domain::{queue_state::QueueState, record::EntryRecord, state::EntryState};
use vestibule_line::{CheckIn, EntryLookup, NotFound};

use super::{EntryHandle, LiveEntry, QueryError, missing::outcome_problem};
use crate::problem::{Code, Problem};

/// How long the read of a record for a token alone may take.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

impl EntryHandle<'_> {
    /// Notes that this process has just given a place to the visitor, or restored the entry.
    pub(super) fn record_presence(&self) {
        let key = (self.queue().clone(), self.id);
        self.entries.token_records.remove(&key);
        self.entries.unknown_tokens.record_presence(key);
    }

    /// Reads the entry with this token, for a caller who is not known to be its visitor.
    pub(crate) async fn read_by_token(&self) -> Result<LiveEntry, QueryError> {
        if self
            .entries
            .unknown_tokens
            .is_absent(&(self.queue().clone(), self.id))
        {
            return Err(Problem::unknown_entry().into());
        }
        let found = self.line.look_up(self.queue(), self.id).await;
        let CheckIn { lookup, lane } = self.or_query_error(found).await?;
        let status = match lookup {
            EntryLookup::Found(status) => status,
            EntryLookup::NotFound(missing) => {
                return Err(self.read_missing_token(missing).await.into());
            }
        };
        let is_waiting = status.state() == EntryState::Waiting;
        if is_waiting && self.snapshot.queue_state() == QueueState::Finished {
            return Err(Problem::queue_finished(self.snapshot.settings()).into());
        }
        // The place of a waiting entry says all that the record would add.
        let record = if is_waiting {
            None
        } else {
            self.read_recent_record().await.ok().flatten()
        };
        let live = LiveEntry::new(status, record, None);
        Ok(LiveEntry { lane, ..live })
    }

    /// Returns the problem that says what became of an entry that the line does not have.
    async fn read_missing_token(&self, missing: NotFound) -> Problem {
        let Some(lookup) = self.entries.unknown_tokens.begin_lookup() else {
            return Problem::too_many_lookups();
        };
        let partition = self.snapshot.partition();
        let stored = self.read_recent_record().await;
        let problem = match self.engine(&partition).missing_entry_outcome(missing, stored) {
            Ok(outcome) => outcome_problem(outcome, self.snapshot),
            Err(error) => self.missing_entry_error_problem(error).await,
        };
        if problem.code() == Code::UnknownEntry {
            let key = (self.queue().clone(), self.id);
            self.entries.unknown_tokens.record_absence(key, &lookup);
        } else {
            self.entries.unknown_tokens.release(lookup);
        }
        problem
    }

    /// Reads the record of an entry, or returns what was read within the last second.
    async fn read_recent_record(&self) -> Result<Option<EntryRecord>, BackupError> {
        let place = self.entries.token_records.place(self.queue(), self.id);
        let read = async || {
            let (deadline, partition) = (Instant::now() + READ_TIMEOUT, self.snapshot.partition());
            let reason_late = "it did not answer in time";
            self.entries
                .read_record_before(deadline, &partition, self.id, reason_late)
                .await
        };
        place.get_or_try_init(read).await.cloned()
    }
}
