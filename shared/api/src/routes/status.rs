//! `GET /queues/{queue}/entries/{token}`: returns the status of an entry. A visitor who proves that the
//! entry is the own one checks in by asking. The poll is held for a while if the client asks for that
//! and the turn is near. A caller who has nothing but tokens, which are no secret, changes nothing and
//! occupies no held poll.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, HeaderValue, request::Parts},
    response::{IntoResponse, Response},
};
use vestibule_domain::id::{EntryId, QueueId};

use super::request::{EntryPath, QueryParams};
use crate::{
    Services,
    degraded::QueueSource,
    entries::{
        QueryError,
        view::{EntryBody, EntryReader},
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

pub(super) async fn handle(
    State(services): State<Services>,
    EntryPath { queue, id }: EntryPath,
    raw_credentials: RawCredentials,
    wait: WaitOffer,
    gateway: Gateway,
) -> Result<Response, Problem> {
    // On the heap, because it holds the state of every step that an answer may need.
    let answer = Box::pin(answer(&services, &queue, id, raw_credentials, wait, gateway));
    services.entries.with_fallback_tick(&queue, answer).await
}

async fn answer(
    services: &Services,
    queue: &QueueId,
    id: EntryId,
    raw_credentials: RawCredentials,
    wait: WaitOffer,
    gateway: Gateway,
) -> Result<Response, Problem> {
    let Services {
        identity, entries, ..
    } = services;
    let source = QueueSource::read(&services.queues, queue).await?;
    let credentials = raw_credentials.resolve_with_settings(source.settings(), source.ids())?;
    let ownership = credentials.ownership(source.ids(), id);
    if ownership == Ownership::Mismatch {
        return Err(token_mismatch_problem());
    }
    if ownership == Ownership::Proven {
        identity.count_request(queue, id)?;
    }
    let answer = source.answer(
        async |snapshot| {
            if ownership == Ownership::Proven {
                return answer_visitor(services, snapshot, id, wait, gateway).await;
            }
            let live = entries.entry(&snapshot, id).read_by_token().await?;
            let body = EntryBody::build(identity, &snapshot, id, live, EntryReader::TokenHolder)?;
            Ok(body.into_response())
        },
        async |context| {
            let body = context.entry_body(entries, &identity.passes, id, ownership);
            Ok(body.await?.into_response())
        },
    );
    answer.await
}

/// Answers the visitor, who checks in by asking.
async fn answer_visitor(
    services: &Services,
    mut snapshot: Arc<QueueSnapshot>,
    id: EntryId,
    wait: WaitOffer,
    gateway: Gateway,
) -> Result<Response, QueryError> {
    let Services {
        identity, entries, ..
    } = services;
    let mut update = entries.entry(&snapshot, id).begin_poll().await?;
    let poll = HeldPoll::new(&snapshot, id, &update).filter(|_| !wait.offered.is_zero());
    let mut was_held = false;
    if let Some(poll) = poll {
        let held = services.long_polls.hold(&poll, wait.offered, gateway.deadline);
        if let Some(at_end) = entries.entry(&snapshot, id).or_query_error(held.await).await? {
            (update, was_held) = (at_end, true);
            snapshot = services
                .queues
                .get(&snapshot.queue)
                .await
                .map_err(Problem::from)?;
        }
    }
    let live = entries.entry(&snapshot, id).finish_poll(update).await?;
    let mut body = EntryBody::build(identity, &snapshot, id, live, EntryReader::Visitor)?;
    if was_held {
        body.shorten_pause_after_hold(&snapshot);
    }
    let mut response = body.into_response();
    if was_held && wait.preferred {
        let headers = response.headers_mut();
        headers.insert("preference-applied", wait.as_preference());
    }
    Ok(response)
}

/// How long the client offers to be held: `?wait=20`, otherwise `Prefer: wait=20` (RFC 7240,
/// section 4.3).
pub(super) struct WaitOffer {
    offered: Duration,
    preferred: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for WaitOffer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
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
