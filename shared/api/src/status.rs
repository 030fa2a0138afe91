//! `GET /queues/{queue}/entries/{token}`: returns the status of an entry. The poll is held for a while if
//! the client asks for that and the turn is near.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, HeaderValue, request::Parts},
    response::{IntoResponse, Response},
};
use vestibule_backup::PutOutcome;
use vestibule_domain::{
    entry_status::{EntryStatus, StoredPosition},
    id::{EntryId, QueueId},
    record::EntryRecord,
    score::DeadlineScore,
    state,
};
use vestibule_engine::write_through::write_before_deadline;
use vestibule_line::{EntryLookup, LineError, RepairOrder, RepairOutcome};

use super::{
    ApiState,
    degraded::{DegradedContext, QueueSource},
    entry::EntryViewInput,
    gateway::Gateway,
    held_polls::HeldPoll,
    missing_entry::QueryError,
    problem::Problem,
    queue_cache::QueueSnapshot,
    request::{EntryPath, QueryParams},
    visitor::{Ownership, RawCredentials, token_mismatch_problem},
};

/// The longest `wait` that is accepted, in seconds.
const WAIT_MAX: u64 = 60;

pub(super) async fn handle(
    State(edge): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    presented: RawCredentials,
    wait: WaitOffer,
    gateway: Gateway,
) -> Result<Response, Problem> {
    edge.with_fallback_tick(&queue, answer(&edge, &queue, id, presented, wait, gateway))
        .await
}

async fn answer(
    edge: &Arc<ApiState>,
    queue: &QueueId,
    id: EntryId,
    presented: RawCredentials,
    wait: WaitOffer,
    gateway: Gateway,
) -> Result<Response, Problem> {
    let sight = edge.queue_source(queue).await?;
    let credentials = presented.resolve_with_settings(sight.settings())?;
    let ownership = credentials.ownership(sight.ids(), id);
    if ownership == Ownership::Mismatch {
        return Err(token_mismatch_problem());
    }
    let stored = async |away| {
        Ok(edge
            .stored_entry_body(&away, id, ownership)
            .await?
            .into_response())
    };
    let mut seen = match sight {
        QueueSource::Line(seen) => seen,
        QueueSource::Backup(away) => return stored(away).await,
    };
    let asked = edge.query_line(&seen, id, || edge.line.status(queue, id));
    let mut look = match asked.await {
        Ok(look) => look,
        Err(QueryError::LineUnavailable(cause)) => {
            return stored(DegradedContext::from_snapshot(&seen, cause)).await;
        }
        Err(QueryError::Problem(problem)) => return Err(problem),
    };
    let (mut held, mut told) = (false, None);
    if let (EntryLookup::Found(EntryStatus::Waiting { score, position }), false) =
        (look, wait.offered.is_zero())
    {
        let waiter = HeldPoll {
            snapshot: seen.clone(),
            id,
            score,
            position,
        };
        match edge.hold_poll(&waiter, wait.offered, &gateway).await {
            Ok(Some(news)) => {
                (look, told, held) = (news.look, news.record, true);
                seen = edge.snapshot(queue).await?;
                if matches!(look, EntryLookup::NotFound(_)) {
                    // The line may have lost the entry while the poll was held.
                    look = edge.look_up_status(&seen, id).await?;
                }
            }
            Ok(None) => {}
            Err(LineError::Unavailable(cause)) => {
                return stored(DegradedContext::from_snapshot(&seen, cause)).await;
            }
            Err(error) => return Err(edge.line_problem(queue, error).await),
        }
    }
    let standing = match look {
        EntryLookup::Found(standing) => standing,
        EntryLookup::NotFound(missing) => return Err(edge.missing_entry_problem(&seen, id, missing).await),
    };
    let mut durable = None;
    let (standing, record) = match (standing, told) {
        // The place of a waiting entry contains everything that its record would add.
        (EntryStatus::Waiting { .. }, _) => (standing, None),
        (_, Some(record)) => (standing, Some(record)),
        (_, None) => {
            let record;
            (record, durable) = edge.read_or_write_record(&seen, id, standing).await?;
            edge.recheck(&seen, id, standing, record).await?
        }
    };
    let body = edge.entry_body(EntryViewInput {
        snapshot: &seen,
        id,
        status: standing,
        record,
        durable,
        is_owner_proven: ownership == Ownership::Proven,
    })?;
    let mut response = body.into_response();
    if held && wait.preferred {
        response
            .headers_mut()
            .insert("preference-applied", wait.as_preference());
    }
    Ok(response)
}

impl ApiState {
    pub(super) async fn look_up_status(
        &self,
        seen: &QueueSnapshot,
        id: EntryId,
    ) -> Result<EntryLookup, Problem> {
        self.query_line_or_fail(seen, id, || self.line.status(&seen.queue, id))
            .await
    }

    /// Reads the record of an entry that was promoted. If a visitor was admitted but the claim request died
    /// before it wrote to the backup, this writes the record now, because the visitor relies on it from
    /// here on.
    ///
    /// The second value says whether that write succeeded; it is `None` if there was nothing to write. If
    /// the line does not answer any more, the request fails, so no visitor is told to be active without a
    /// record.
    async fn read_or_write_record(
        &self,
        seen: &QueueSnapshot,
        id: EntryId,
        standing: EntryStatus,
    ) -> Result<(Option<EntryRecord>, Option<bool>), Problem> {
        let Some(record) = self.read_record(seen, id).await else {
            return Ok((None, None));
        };
        let EntryStatus::Active {
            visit,
            session_end_ms,
            ..
        } = standing
        else {
            return Ok((Some(record), None));
        };
        if record.visit != visit
            || !matches!(
                record.state,
                state::EntryState::Waiting | state::EntryState::Ready
            )
        {
            return Ok((Some(record), None));
        }
        let mending = RepairOrder {
            id,
            observed: StoredPosition::Active(DeadlineScore::new(session_end_ms, visit)),
            generation: seen.view.configuration.generation,
            record: Some(record.clone()),
        };
        let change = match self.line.repair(&seen.queue, &mending).await {
            Ok(RepairOutcome::Live { change, .. }) => change,
            // The entry moved on meanwhile.
            Ok(_) => return Ok((Some(record), None)),
            Err(error) => return Err(self.line_problem(&seen.queue, error).await),
        };
        Ok(
            match write_before_deadline(&*self.backup, &seen.partition(), &change).await {
                Ok(PutOutcome::Stored(record)) => (Some(record), Some(true)),
                Ok(PutOutcome::Superseded | PutOutcome::Conflicting) => (Some(record), None),
                // The failed write is not added to the journal, which may have it already. Repeated status
                // requests would fill the journal.
                Err(error) => {
                    tracing::warn!(
                        event = "entry.claim_write_failed",
                        queue = %seen.queue,
                        entry = %id,
                        cause = %error,
                        "could not write a claim to the backup; the next status request tries again"
                    );
                    (Some(record), Some(false))
                }
            },
        )
    }

    /// Reads the record of an entry, for a request that can do without it. If the backup is unavailable,
    /// this returns `None`.
    pub(super) async fn read_record(&self, seen: &QueueSnapshot, id: EntryId) -> Option<EntryRecord> {
        match self.backup.read_entry(&seen.partition(), id).await {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(
                    event = "entry.record_unavailable",
                    cause = %error,
                    "continued a request without the record of the entry because the backup did not return \
                     it"
                );
                None
            }
        }
    }
}

/// How long the client offers to be held: `?wait=20`, otherwise `Prefer: wait=20` (RFC 7240, section 4.3).
pub(super) struct WaitOffer {
    offered: Duration,
    preferred: bool,
}

impl FromRequestParts<Arc<ApiState>> for WaitOffer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, edge: &Arc<ApiState>) -> Result<Self, Problem> {
        let queries = QueryParams::from_request_parts(parts, edge).await?;
        let (text, preferred) = match queries.get_once("wait")? {
            Some(text) => (Some(text), false),
            None => (parse_wait_preference(&parts.headers), true),
        };
        let seconds = text.map_or(Ok(0), |text| {
            // Only digits are accepted. The parser would accept a plus sign too, which a query decodes to a
            // space anyway.
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            text.parse()
                .ok()
                .filter(|seconds| digits && *seconds <= WAIT_MAX)
                .ok_or_else(|| {
                    Problem::invalid_field(
                        "wait",
                        format!("must be a whole number of seconds from 0 to {WAIT_MAX}"),
                    )
                })
        })?;
        Ok(Self {
            offered: Duration::from_secs(seconds),
            preferred,
        })
    }
}

impl WaitOffer {
    fn as_preference(&self) -> HeaderValue {
        HeaderValue::from_str(&format!("wait={}", self.offered.as_secs()))
            .expect("a word with digits is a valid header value")
    }
}

/// Returns the first `wait` among the preferences. Its value may be quoted.
fn parse_wait_preference(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all("prefer")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next()?.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))
        .map(|(_, value)| value.trim().trim_matches('"'))
}
