//! Looks up the entries of requests that present nothing but a token. Anyone can invent a token, and a token without an
//! entry costs a read of the backup, so such a token is remembered, and such reads are limited.
//!
//! A request that proves the visitor is always looked up: only a visitor who has entered knows the token that belongs to
//! the visitor id. So a visitor whose entry the line has lost gets it back whatever others send.

use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
};
use vestibule_line::EntryLookup;

use super::{
    ApiState, code::Code, credentials::Ownership, missing_entry::QueryError, problem::Problem,
    queue_cache::QueueSnapshot,
};

impl ApiState {
    /// Refuses a token that belonged to no entry a moment ago.
    pub(super) fn refuse_absent_token(
        &self,
        queue: &QueueId,
        id: EntryId,
        ownership: Ownership,
    ) -> Result<(), Problem> {
        if ownership == Ownership::Unproven && self.absent_entries.is_absent(&(queue.clone(), id)) {
            return Err(Problem::unknown_entry());
        }
        Ok(())
    }

    /// Notes that this process has just given a place to the visitor, or restored the entry.
    pub(super) fn record_entry(&self, queue: &QueueId, id: EntryId) {
        self.absent_entries.record_presence((queue.clone(), id));
    }

    /// Finds an entry that the line does not have. See [`restore_lost_entry`](Self::restore_lost_entry).
    pub(super) async fn find_lost_entry(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        line_lookup: EntryLookup,
        ownership: Ownership,
    ) -> Result<EntryStatus, QueryError> {
        if ownership == Ownership::Proven {
            return self.restore_lost_entry(snapshot, id, line_lookup).await;
        }
        let Some(lookup) = self.absent_entries.begin_lookup() else {
            return Err(Problem::too_many_lookups().into());
        };
        let found = self.restore_lost_entry(snapshot, id, line_lookup).await;
        match &found {
            Err(QueryError::Problem(problem)) if problem.code() == Code::UnknownEntry => {
                let key = (snapshot.queue.clone(), id);
                self.absent_entries.record_absence(key, &lookup);
            }
            _ => self.absent_entries.release(lookup),
        }
        found
    }
}
