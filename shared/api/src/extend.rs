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
use vestibule_domain::{id::EntryId, score::Visit, standing::Standing};
use vestibule_line::{Extended, Extension, Look};

use super::{
    Edge,
    entry::Shown,
    gateway::Gateway,
    problem::Problem,
    request::{AtEntry, Body, Fields},
    views::Seen,
    visitor::{Ownership, Presented, mismatch},
};

/// The largest `seconds`: a week, which is also the largest `session_max_seconds`.
const SECONDS_MAX: u32 = 7 * 86_400;

/// The body of an extend request.
pub(super) struct Wish {
    seconds: Option<u32>,
    visit: Option<Visit>,
}

impl TryFrom<Fields> for Wish {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let wish = Self {
            seconds: fields.number("seconds", 1..=SECONDS_MAX)?,
            visit: fields.visit()?,
        };
        fields.finish()?;
        Ok(wish)
    }
}

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtEntry { queue, id }: AtEntry,
    presented: Presented,
    gateway: Gateway,
    Body(wish): Body<Wish>,
) -> Result<Response, Problem> {
    let seen = edge.seen(&queue).await?;
    let credentials = presented.credentials(&seen)?;
    let proven = match credentials.ownership(&seen.ids, id) {
        Ownership::Proven => true,
        Ownership::Mismatch => return Err(mismatch()),
        Ownership::Unproven if gateway.vouches_for_service(&edge.config) => false,
        Ownership::Unproven => return credentials.prove(&seen.ids, id).map(IntoResponse::into_response),
    };
    let Some(latest_end_ms) = edge.latest_end_ms(&seen, id, wish.visit).await? else {
        // This is a late retry for an earlier visit and must not extend the current one.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let extension = Extension {
        visit: wish.visit,
        seconds: wish.seconds.unwrap_or(seen.settings().session_seconds),
        latest_end_ms,
    };
    let extended = edge.ask(&seen, id, || edge.line.extend(&queue, id, extension));
    let (standing, change) = match extended.await? {
        Extended::Active { standing, change } => (standing, change),
        Extended::NotYet(standing) => return Err(Problem::not_your_turn(&standing)),
        Extended::OtherVisit => return Ok(StatusCode::NO_CONTENT.into_response()),
        Extended::Gone(missing) => return Err(edge.gone(&seen, id, missing).await),
    };
    let through = edge.write(&seen, &change).await?;
    let body = edge.show(Shown {
        seen: &seen,
        id,
        standing,
        record: through.record,
        durable: Some(through.durable),
        proven,
    })?;
    Ok(body.into_response())
}

impl Edge {
    /// Returns the latest end that the session may get, in Unix milliseconds, counted from the claim in the
    /// record. Returns `None` if the request names another visit.
    async fn latest_end_ms(
        &self,
        seen: &Seen,
        id: EntryId,
        named: Option<Visit>,
    ) -> Result<Option<u64>, Problem> {
        let standing = match self.look(seen, id).await? {
            Look::Here(standing) if named.is_some_and(|named| named != standing.visit()) => return Ok(None),
            Look::Here(standing @ Standing::Active { .. }) => standing,
            Look::Here(standing) => return Err(Problem::not_your_turn(&standing)),
            Look::Gone(missing) => return Err(self.gone(seen, id, missing).await),
        };
        let record = self.backup.entry(&seen.shelf(), id).await;
        let record = record.map_err(|error| Problem::backup_away(&error))?;
        let (standing, record) = self.stands_still(seen, id, standing, record).await?;
        let claimed_at_ms = record
            .filter(|record| record.visit == standing.visit())
            .and_then(|record| record.claimed_at_ms)
            .ok_or_else(|| {
                // The backup was unavailable when the entry was claimed, so the claim is still in the
                // journal.
                let behind = BackupError::Unavailable("the backup does not have the claim yet".to_owned());
                Problem::backup_away(&behind)
            })?;
        let most_ms = u64::from(seen.settings().session_max_seconds) * 1_000;
        Ok(Some(claimed_at_ms + most_ms))
    }
}
