//! `GET /queues/{queue}/entries/{token}`: returns the status of an entry. The poll is held for a while if
//! the client asks for that and the turn is near.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, HeaderValue, request::Parts},
    response::{IntoResponse, Response},
};
use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    record::EntryRecord,
};
use vestibule_engine::missing_entry::{MissingEntryError, PersistedLookup};
use vestibule_line::{EntryLookup, LineError};

use super::{
    ApiState,
    degraded::{DegradedContext, QueueSource},
    entry::EntryViewInput,
    gateway::Gateway,
    held_polls::HeldPoll,
    missing_entry::{QueryError, outcome_problem},
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
    let mut snapshot = match sight {
        QueueSource::Line(snapshot) => snapshot,
        QueueSource::Backup(away) => return stored(away).await,
    };
    let degraded =
        async |snapshot: &QueueSnapshot, cause| stored(DegradedContext::from_snapshot(snapshot, cause)).await;
    let mut lookup = match edge.line.status(queue, id).await {
        Ok(lookup) => lookup,
        Err(LineError::Unavailable(cause)) => return degraded(&snapshot, cause).await,
        Err(error) => return Err(edge.line_problem(queue, error).await),
    };
    if matches!(lookup, EntryLookup::NotFound(_)) {
        lookup = match edge.restore_lost_entry(&snapshot, id, lookup).await {
            Ok(status) => EntryLookup::Found(status),
            Err(QueryError::LineUnavailable(cause)) => return degraded(&snapshot, cause).await,
            Err(QueryError::Problem(problem)) => return Err(problem),
        };
    }
    let (mut held, mut record_of_update) = (false, None);
    if let (EntryLookup::Found(EntryStatus::Waiting { score, position }), false) =
        (lookup, wait.offered.is_zero())
    {
        let poll = HeldPoll {
            snapshot: snapshot.clone(),
            id,
            score,
            position,
        };
        match edge.hold_poll(&poll, wait.offered, &gateway).await {
            Ok(Some(update)) => {
                (lookup, record_of_update, held) = (update.look, update.record, true);
                snapshot = edge.snapshot(queue).await?;
            }
            Ok(None) => {}
            Err(LineError::Unavailable(cause)) => return degraded(&snapshot, cause).await,
            Err(error) => return Err(edge.line_problem(queue, error).await),
        }
    }
    let mut durable = None;
    let (status, record) = match (lookup, record_of_update) {
        (EntryLookup::Found(status), Some(record)) => (status, Some(record)),
        (lookup, _) => match edge.persist_interrupted_change(&snapshot, id, lookup).await {
            // The place of a waiting entry contains everything that its record would add.
            Ok(PersistedLookup::Live {
                status: status @ EntryStatus::Waiting { .. },
                ..
            }) => (status, None),
            Ok(PersistedLookup::Live {
                status,
                record,
                durable: written,
            }) => {
                durable = written;
                edge.recheck(&snapshot, id, status, record).await?
            }
            Ok(PersistedLookup::Missing(outcome)) => return Err(outcome_problem(outcome, &snapshot)),
            Err(error) => return Err(edge.missing_entry_error_problem(&snapshot, error).await),
        },
    };
    let body = edge.entry_body(EntryViewInput {
        snapshot: &snapshot,
        id,
        status,
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
        snapshot: &QueueSnapshot,
        id: EntryId,
    ) -> Result<EntryLookup, Problem> {
        self.query_line_or_fail(snapshot, id, || self.line.status(&snapshot.queue, id))
            .await
    }

    /// Reads the record of an entry, for a request that can do without it. If the backup is unavailable,
    /// this returns `None`.
    pub(super) async fn read_record(&self, snapshot: &QueueSnapshot, id: EntryId) -> Option<EntryRecord> {
        let partition = snapshot.partition();
        self.entry_context(snapshot, &partition).read_record(id).await
    }

    /// Restores an entry that the line lost, and returns its status. Fails with the problem that says what became of an
    /// entry that has no place any more.
    async fn restore_lost_entry(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        lookup: EntryLookup,
    ) -> Result<EntryStatus, QueryError> {
        match self.persist_interrupted_change(snapshot, id, lookup).await {
            Ok(PersistedLookup::Live { status, .. }) => Ok(status),
            Ok(PersistedLookup::Missing(outcome)) => {
                Err(QueryError::Problem(outcome_problem(outcome, snapshot)))
            }
            Err(MissingEntryError::Line(LineError::Unavailable(cause))) => {
                Err(QueryError::LineUnavailable(cause))
            }
            Err(error) => Err(QueryError::Problem(
                self.missing_entry_error_problem(snapshot, error).await,
            )),
        }
    }

    /// Writes what a killed request left unwritten about the entry, and returns the entry as it is then. Nothing else in
    /// a status request writes to the backup, except the removal of an entry that has ended
    /// ([`recheck`](Self::recheck)).
    async fn persist_interrupted_change(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        lookup: EntryLookup,
    ) -> Result<PersistedLookup, MissingEntryError> {
        let partition = snapshot.partition();
        let context = self.entry_context(snapshot, &partition);
        let persisted = context.persist_interrupted_change(id, lookup).await;
        if matches!(lookup, EntryLookup::NotFound(_)) {
            // An end that was written may concern other polls that this process holds for the entry.
            self.entry_notifier.wake(id);
        }
        persisted
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
