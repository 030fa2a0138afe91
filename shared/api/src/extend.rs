//! `POST /queues/{queue}/entries/{token}/extend`: gives an active entry more time, at the request of the
//! visitor or of the protected service. The gateway decides whether the caller is the service. If the
//! routes are unguarded, only the visitor may extend, because any caller that found a token could pretend
//! to be the service.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use vestibule_backup::BackupError;
use vestibule_domain::{entry_status::EntryStatus, id::EntryId, score::Visit};
use vestibule_line::{EntryLookup, ExtendOutcome, SessionExtension};

use super::{
    ApiState,
    entry::EntryViewInput,
    gateway::Gateway,
    problem::Problem,
    queue_cache::QueueSnapshot,
    request::{Body, EntryPath, Fields},
    visitor::{Ownership, RawCredentials, token_mismatch_problem},
};

/// The largest `seconds`: a week, which is also the largest `session_max_seconds`.
const SECONDS_MAX: u32 = 7 * 86_400;

/// The body of an extend request.
pub(super) struct ExtendRequest {
    seconds: Option<u32>,
    visit: Option<Visit>,
}

impl TryFrom<Fields> for ExtendRequest {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let wish = Self {
            seconds: fields.take_number("seconds", 1..=SECONDS_MAX)?,
            visit: fields.take_visit()?,
        };
        fields.refuse_unknown()?;
        Ok(wish)
    }
}

pub(super) async fn handle(
    State(edge): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    presented: RawCredentials,
    gateway: Gateway,
    Body(wish): Body<ExtendRequest>,
) -> Result<Response, Problem> {
    let snapshot = edge.snapshot(&queue).await?;
    let credentials = presented.resolve(&snapshot)?;
    let proven = match credentials.ownership(&snapshot.ids, id) {
        Ownership::Proven => true,
        Ownership::Mismatch => return Err(token_mismatch_problem()),
        Ownership::Unproven if gateway.is_proven_service(&edge.config) => false,
        Ownership::Unproven => {
            return credentials
                .require_ownership(&snapshot.ids, id)
                .map(IntoResponse::into_response);
        }
    };
    let Some(latest_end_ms) = edge.latest_end_ms(&snapshot, id, wish.visit).await? else {
        // This is a late retry for an earlier visit and must not extend the current one.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let extension = SessionExtension {
        visit: wish.visit,
        seconds: wish.seconds.unwrap_or(snapshot.settings().session_seconds),
        latest_end_ms,
    };
    let extended = edge.query_line_or_fail(&snapshot, id, || edge.line.extend(&queue, id, extension));
    let (standing, change) = match extended.await? {
        ExtendOutcome::Active {
            status: standing,
            change,
        } => (standing, change),
        ExtendOutcome::NotActive(standing) => return Err(Problem::not_your_turn(&standing)),
        ExtendOutcome::OtherVisit => return Ok(StatusCode::NO_CONTENT.into_response()),
        ExtendOutcome::NotFound(missing) => {
            return Err(edge.missing_entry_problem(&snapshot, id, missing).await);
        }
    };
    let through = edge.write_change(&snapshot, &change).await?;
    let body = edge.entry_body(EntryViewInput {
        snapshot: &snapshot,
        id,
        status: standing,
        record: through.record,
        durable: Some(through.durable),
        is_owner_proven: proven,
    })?;
    Ok(body.into_response())
}

impl ApiState {
    /// Returns the latest end that the session may get, in Unix milliseconds, counted from the claim in the
    /// record. Returns `None` if the request names another visit.
    async fn latest_end_ms(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        named: Option<Visit>,
    ) -> Result<Option<u64>, Problem> {
        let standing = match self.look_up_status(snapshot, id).await? {
            EntryLookup::Found(standing) if named.is_some_and(|named| named != standing.visit()) => {
                return Ok(None);
            }
            EntryLookup::Found(standing @ EntryStatus::Active { .. }) => standing,
            EntryLookup::Found(standing) => return Err(Problem::not_your_turn(&standing)),
            EntryLookup::NotFound(missing) => {
                return Err(self.missing_entry_problem(snapshot, id, missing).await);
            }
        };
        let record = self.backup.read_entry(&snapshot.partition(), id).await;
        let record = record.map_err(|error| Problem::backup_unavailable(&error))?;
        let (standing, record) = self.recheck(snapshot, id, standing, record).await?;
        let claimed_at_ms = record
            .filter(|record| record.visit == standing.visit())
            .and_then(|record| record.claimed_at_ms)
            .ok_or_else(|| {
                // The backup was unavailable when the entry was claimed, so the claim is still in the
                // journal.
                let behind = BackupError::Unavailable("the backup does not have the claim yet".to_owned());
                Problem::backup_unavailable(&behind)
            })?;
        let most_ms = u64::from(snapshot.settings().session_max_seconds) * 1_000;
        Ok(Some(claimed_at_ms + most_ms))
    }
}
