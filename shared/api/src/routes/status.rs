//! `GET /queues/{queue}/entries/{token}`: returns the status of an entry. A visitor who proves that the
//! entry is the own one checks in by asking. The poll is held for a while if the client asks for that
//! and the turn is near. A caller who has nothing but tokens, which are no secret, changes nothing and
//! occupies no held poll: see [`crate::entries::token_lookup`].

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
use vestibule_engine::{missing_entry::MissingEntryError, reconcile_entry::ReconciledEntry};
use vestibule_line::{CheckIn, EntryLookup, LineError};

use super::request::{EntryPath, QueryParams};
use crate::{
    ApiState,
    degraded::{DegradedContext, QueueSource},
    entries::{
        missing::{QueryError, outcome_problem},
        view::EntryViewInput,
    },
    long_poll::held_polls::HeldPoll,
    problem::Problem,
    queue::QueueSnapshot,
    who::{
        credentials::{Ownership, token_mismatch_problem},
        gateway::Gateway,
        visitor::RawCredentials,
    },
};

/// The longest `wait` that is accepted, in seconds.
const WAIT_MAX: u64 = 60;

pub(crate) async fn handle(
    State(state): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    raw_credentials: RawCredentials,
    wait: WaitOffer,
    gateway: Gateway,
) -> Result<Response, Problem> {
    // On the heap, because it holds the state of every step that an answer may need.
    let answer = Box::pin(answer(&state, &queue, id, raw_credentials, wait, gateway));
    state.with_fallback_tick(&queue, answer).await
}

async fn answer(
    state: &Arc<ApiState>,
    queue: &QueueId,
    id: EntryId,
    raw_credentials: RawCredentials,
    wait: WaitOffer,
    gateway: Gateway,
) -> Result<Response, Problem> {
    let source = state.queue_source(queue).await?;
    let credentials = raw_credentials.resolve_with_settings(source.settings(), source.ids())?;
    let ownership = credentials.ownership(source.ids(), id);
    if ownership == Ownership::Mismatch {
        return Err(token_mismatch_problem());
    }
    if ownership == Ownership::Proven {
        state.visitor_limits.count(queue, id)?;
    }
    let snapshot = match source {
        QueueSource::Line(snapshot) => snapshot,
        QueueSource::Backup(context) => {
            let body = state.stored_entry_body(&context, id, ownership).await?;
            return Ok(body.into_response());
        }
    };
    let answered = if ownership == Ownership::Unproven {
        let body = state.read_by_token(&snapshot, id).await;
        body.map(IntoResponse::into_response)
    } else {
        answer_visitor(state, snapshot.clone(), id, wait, gateway).await
    };
    match answered {
        Ok(response) => Ok(response),
        Err(QueryError::LineUnavailable(cause)) => {
            let context = DegradedContext::from_snapshot(&snapshot, cause);
            let body = state.stored_entry_body(&context, id, ownership).await?;
            Ok(body.into_response())
        }
        Err(QueryError::Problem(problem)) => Err(problem),
    }
}

/// Answers the visitor, who checks in by asking.
async fn answer_visitor(
    state: &Arc<ApiState>,
    mut snapshot: Arc<QueueSnapshot>,
    id: EntryId,
    wait: WaitOffer,
    gateway: Gateway,
) -> Result<Response, QueryError> {
    let checked_in = state.check_in_by_request(&snapshot, id).await;
    let checked_in = state.convert_line_error(&snapshot, checked_in).await?;
    let CheckIn { mut lookup, mut lane } = checked_in;
    if matches!(lookup, EntryLookup::NotFound(_)) {
        lookup = EntryLookup::Found(state.restore_lost_entry(&snapshot, id, lookup).await?);
    }
    let (mut held, mut record_of_update) = (false, None);
    let may_be_held = !wait.offered.is_zero();
    if let (EntryLookup::Found(EntryStatus::Waiting { score, position }), true) = (lookup, may_be_held) {
        let poll = HeldPoll {
            snapshot: snapshot.clone(),
            id,
            score,
            position,
        };
        let update = state.hold_poll(&poll, wait.offered, &gateway).await;
        if let Some(update) = state.convert_line_error(&snapshot, update).await? {
            (lookup, record_of_update, held) = (update.lookup, update.record, true);
            lane = update.lane;
            snapshot = state.snapshot(&snapshot.queue).await?;
        }
    }
    if lane.is_none() && is_waiting(lookup) {
        // The visitor of a restored entry checks in, too, and a lookup for many held polls counts
        // absent entries.
        let again = state.line.check_in(&snapshot.queue, id).await;
        if let Ok(again) = again
            && is_waiting(again.lookup)
        {
            CheckIn { lookup, lane } = again;
        }
    }
    let mut durable = None;
    let (status, record) = match (lookup, record_of_update) {
        (EntryLookup::Found(status), Some(record)) => (status, Some(record)),
        (lookup, _) => match state.reconcile_lookup(&snapshot, id, lookup).await {
            Ok(ReconciledEntry::Live {
                status,
                record,
                durable: written,
            }) => {
                durable = written;
                (status, record)
            }
            Ok(ReconciledEntry::Missing(outcome)) => return Err(outcome_problem(outcome, &snapshot).into()),
            Err(error) => return Err(state.missing_entry_error_problem(&snapshot, error).await.into()),
        },
    };
    let (status, record) = state.reject_finished_wait(&snapshot, id, status, record).await?;
    let mut body = state.entry_body(EntryViewInput {
        snapshot: &snapshot,
        id,
        status,
        lane: lane.filter(|_| is_waiting(EntryLookup::Found(status))),
        has_entered: false,
        record,
        durable,
        is_owner_proven: true,
    })?;
    if held {
        body.shorten_pause_after_hold(&snapshot);
    }
    let mut response = body.into_response();
    if held && wait.preferred {
        response
            .headers_mut()
            .insert("preference-applied", wait.as_preference());
    }
    Ok(response)
}

fn is_waiting(lookup: EntryLookup) -> bool {
    matches!(lookup, EntryLookup::Found(EntryStatus::Waiting { .. }))
}

impl ApiState {
    pub(crate) async fn look_up_status(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
    ) -> Result<EntryLookup, Problem> {
        self.query_line_or_fail(snapshot, id, || self.line.status(&snapshot.queue, id))
            .await
    }

    /// Reads the record of an entry, for a request that can do without it. If the backup is unavailable,
    /// this returns `None`.
    pub(crate) async fn read_record(&self, snapshot: &QueueSnapshot, id: EntryId) -> Option<EntryRecord> {
        let partition = snapshot.partition();
        self.entry_context(&partition).read_record(id).await
    }

    /// Restores an entry that the line lost, and returns its status. Fails with the problem that
    /// says what became of an entry that has no place any more.
    pub(crate) async fn restore_lost_entry(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        lookup: EntryLookup,
    ) -> Result<EntryStatus, QueryError> {
        match self.reconcile_lookup(snapshot, id, lookup).await {
            Ok(ReconciledEntry::Live { status, .. }) => {
                self.record_entry(&snapshot.queue, id);
                Ok(status)
            }
            Ok(ReconciledEntry::Missing(outcome)) => {
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

    /// Makes the line and the backup agree about the entry, and returns it as it is then. Nothing
    /// else in a status request writes to the backup.
    async fn reconcile_lookup(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        lookup: EntryLookup,
    ) -> Result<ReconciledEntry, MissingEntryError> {
        let partition = snapshot.partition();
        let reconciled = self.entry_context(&partition).reconcile_lookup(id, lookup).await;
        if matches!(lookup, EntryLookup::NotFound(_)) {
            // An end that was written may concern other polls that this process holds for the entry.
            self.entry_notifier.wake(id);
        }
        reconciled
    }
}

/// How long the client offers to be held: `?wait=20`, otherwise `Prefer: wait=20` (RFC 7240,
/// section 4.3).
pub(crate) struct WaitOffer {
    offered: Duration,
    preferred: bool,
}

impl FromRequestParts<Arc<ApiState>> for WaitOffer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<ApiState>) -> Result<Self, Problem> {
        let queries = QueryParams::from_request_parts(parts, state).await?;
        let (text, preferred) = match queries.get_once("wait")? {
            Some(text) => (Some(text), false),
            None => (parse_wait_preference(&parts.headers), true),
        };
        let seconds = text.map_or(Ok(0), |text| {
            // Only digits are accepted. The parser would accept a plus sign too, which a query
            // decodes to a space anyway.
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
