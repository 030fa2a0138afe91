//! `POST /queues/{queue}/entries/{token}/extend`: gives an active entry more time, at the request of
//! its visitor. The protected service extends by `validate`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use vestibule_backup::BackupError;
use vestibule_domain::{entry_status::EntryStatus, id::EntryId, score::Visit};
use vestibule_engine::write_through::WriteOutcome;
use vestibule_line::{EntryLookup, ExtendOutcome, SessionExtension};
use vestibule_wire::ExtendRequest;

use super::request::{Body, EntryPath};
use crate::{
    ApiState, entries::view::EntryViewInput, problem::Problem, queue::QueueSnapshot,
    who::visitor::RawCredentials,
};

pub(crate) async fn handle(
    State(state): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    raw_credentials: RawCredentials,
    Body(request): Body<ExtendRequest>,
) -> Result<Response, Problem> {
    let snapshot = state.snapshot(&queue).await?;
    state.require_visitor(&snapshot, raw_credentials, id)?;
    let extended = state.extend_session(&snapshot, id, request.visit, request.seconds);
    let Some((status, write)) = extended.await? else {
        // This is a late retry for an earlier visit and must not extend the current one.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let body = state.entry_body(EntryViewInput {
        snapshot: &snapshot,
        id,
        status,
        lane: None,
        has_entered: false,
        record: write.record,
        durable: Some(write.durable),
        is_owner_proven: true,
    })?;
    Ok(body.into_response())
}

impl ApiState {
    /// Extends the session of an active entry to this many seconds from now (`None`: to
    /// `session_seconds`), within `session_max_seconds`. Returns `None` if the entry has another visit
    /// than the named one; then nothing changes.
    pub(crate) async fn extend_session(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        visit: Option<Visit>,
        seconds: Option<u32>,
    ) -> Result<Option<(EntryStatus, WriteOutcome)>, Problem> {
        let Some(latest_end_ms) = self.latest_end_ms(snapshot, id, visit).await? else {
            return Ok(None);
        };
        let extension = SessionExtension {
            visit,
            seconds: seconds.unwrap_or(snapshot.settings().session_seconds),
            latest_end_ms,
        };
        let query = || self.line.extend(&snapshot.queue, id, extension);
        let (status, change) = match self.query_line_or_fail(snapshot, id, query).await? {
            ExtendOutcome::Active { status, change } => (status, change),
            ExtendOutcome::NotActive(status) => return Err(Problem::not_your_turn(&status)),
            ExtendOutcome::OtherVisit => return Ok(None),
            ExtendOutcome::NotFound(missing) => {
                return Err(self.missing_entry_problem(snapshot, id, missing).await);
            }
        };
        let write = self.write_change(snapshot, &change).await?;
        Ok(Some((status, write)))
    }

    /// Returns the latest end that the session may get, in Unix milliseconds, counted from the
    /// claim in the record. Returns `None` if the request names another visit.
    async fn latest_end_ms(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        named_visit: Option<Visit>,
    ) -> Result<Option<u64>, Problem> {
        let status = match self.look_up_status(snapshot, id).await? {
            EntryLookup::Found(status)
                if named_visit.is_some_and(|named_visit| named_visit != status.visit()) =>
            {
                return Ok(None);
            }
            EntryLookup::Found(status @ EntryStatus::Active { .. }) => status,
            EntryLookup::Found(status) => return Err(Problem::not_your_turn(&status)),
            EntryLookup::NotFound(missing) => {
                return Err(self.missing_entry_problem(snapshot, id, missing).await);
            }
        };
        let record = self.backup.read_entry(&snapshot.partition(), id).await;
        let record = record.map_err(|error| Problem::backup_unavailable(&error))?;
        let (status, record) = self.reconcile_status(snapshot, id, status, record).await?;
        let claimed_at_ms = record
            .filter(|record| record.visit() == status.visit())
            .and_then(|record| record.claimed_at_ms)
            .ok_or_else(|| {
                // The backup was unavailable when the entry was claimed, so the claim is still in the
                // journal.
                let error = BackupError::Unavailable("the backup does not have the claim yet".to_owned());
                Problem::backup_unavailable(&error)
            })?;
        let most_ms = u64::from(snapshot.settings().session_max_seconds) * 1_000;
        Ok(Some(claimed_at_ms + most_ms))
    }
}
