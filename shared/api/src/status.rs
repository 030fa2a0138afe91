//! `GET /queues/{queue}/entries/{token}`: returns the status of an entry. The poll is held for a while if
//! the client asks for that and the turn is near.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, HeaderValue, request::Parts},
    response::{IntoResponse, Response},
};
use vestibule_backup::Written;
use vestibule_domain::{
    id::{EntryId, QueueId},
    record::Record,
    score::DeadlineScore,
    standing::{Spot, Standing},
    state,
};
use vestibule_engine::write_through::write_in_time;
use vestibule_line::{LineError, Look, Mended, Mending};

use super::{
    Edge,
    away::{Away, Sight},
    crowd::Waiter,
    entry::Shown,
    gateway::Gateway,
    gone::Unanswered,
    problem::Problem,
    request::{AtEntry, Queries},
    views::Seen,
    visitor::{Ownership, Presented, mismatch},
};

/// The longest `wait` that is accepted, in seconds.
const WAIT_MAX: u64 = 60;

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtEntry { queue, id }: AtEntry,
    presented: Presented,
    wait: Wait,
    gateway: Gateway,
) -> Result<Response, Problem> {
    edge.driving(&queue, answer(&edge, &queue, id, presented, wait, gateway))
        .await
}

async fn answer(
    edge: &Arc<Edge>,
    queue: &QueueId,
    id: EntryId,
    presented: Presented,
    wait: Wait,
    gateway: Gateway,
) -> Result<Response, Problem> {
    let sight = edge.sight(queue).await?;
    let credentials = presented.credentials_by(sight.settings())?;
    let ownership = credentials.ownership(sight.ids(), id);
    if ownership == Ownership::Mismatch {
        return Err(mismatch());
    }
    let stored = async |away| Ok(edge.show_stored(&away, id, ownership).await?.into_response());
    let mut seen = match sight {
        Sight::Line(seen) => seen,
        Sight::Backup(away) => return stored(away).await,
    };
    let asked = edge.ask_line(&seen, id, || edge.line.status(queue, id));
    let mut look = match asked.await {
        Ok(look) => look,
        Err(Unanswered::LineAway(cause)) => return stored(Away::after(&seen, cause)).await,
        Err(Unanswered::Refused(problem)) => return Err(problem),
    };
    let (mut held, mut told) = (false, None);
    if let (Look::Here(Standing::Waiting { score, position }), false) = (look, wait.offered.is_zero()) {
        let waiter = Waiter {
            seen: seen.clone(),
            id,
            score,
            position,
        };
        match edge.hold(&waiter, wait.offered, &gateway).await {
            Ok(Some(news)) => {
                (look, told, held) = (news.look, news.record, true);
                seen = edge.seen(queue).await?;
                if matches!(look, Look::Gone(_)) {
                    // The line may have lost the entry while the poll was held.
                    look = edge.look(&seen, id).await?;
                }
            }
            Ok(None) => {}
            Err(LineError::Unavailable(cause)) => return stored(Away::after(&seen, cause)).await,
            Err(error) => return Err(edge.line_failed(queue, error).await),
        }
    }
    let standing = match look {
        Look::Here(standing) => standing,
        Look::Gone(missing) => return Err(edge.gone(&seen, id, missing).await),
    };
    let mut durable = None;
    let (standing, record) = match (standing, told) {
        // The place of a waiting entry contains everything that its record would add.
        (Standing::Waiting { .. }, _) => (standing, None),
        (_, Some(record)) => (standing, Some(record)),
        (_, None) => {
            let record;
            (record, durable) = edge.written_record(&seen, id, standing).await?;
            edge.stands_still(&seen, id, standing, record).await?
        }
    };
    let body = edge.show(Shown {
        seen: &seen,
        id,
        standing,
        record,
        durable,
        proven: ownership == Ownership::Proven,
    })?;
    let mut response = body.into_response();
    if held && wait.preferred {
        response
            .headers_mut()
            .insert("preference-applied", wait.as_preference());
    }
    Ok(response)
}

impl Edge {
    pub(super) async fn look(&self, seen: &Seen, id: EntryId) -> Result<Look, Problem> {
        self.ask(seen, id, || self.line.status(&seen.queue, id)).await
    }

    /// Reads the record of an entry that was promoted. If a visitor was admitted but the claim request died
    /// before it wrote to the backup, this writes the record now, because the visitor relies on it from
    /// here on.
    ///
    /// The second value says whether that write succeeded; it is `None` if there was nothing to write. If
    /// the line does not answer any more, the request fails, so no visitor is told to be active without a
    /// record.
    async fn written_record(
        &self,
        seen: &Seen,
        id: EntryId,
        standing: Standing,
    ) -> Result<(Option<Record>, Option<bool>), Problem> {
        let Some(record) = self.record(seen, id).await else {
            return Ok((None, None));
        };
        let Standing::Active {
            visit,
            session_end_ms,
            ..
        } = standing
        else {
            return Ok((Some(record), None));
        };
        if record.visit != visit || !matches!(record.state, state::State::Waiting | state::State::Ready) {
            return Ok((Some(record), None));
        }
        let mending = Mending {
            id,
            seen: Spot::Active(DeadlineScore::new(session_end_ms, visit)),
            generation: seen.view.configuration.generation,
            record: Some(record.clone()),
        };
        let change = match self.line.mend(&seen.queue, &mending).await {
            Ok(Mended::Here { change, .. }) => change,
            // The entry moved on meanwhile.
            Ok(_) => return Ok((Some(record), None)),
            Err(error) => return Err(self.line_failed(&seen.queue, error).await),
        };
        Ok(match write_in_time(&*self.backup, &seen.shelf(), &change).await {
            Ok(Written::Stored(record)) => (Some(record), Some(true)),
            Ok(Written::Older | Written::Overruled) => (Some(record), None),
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
        })
    }

    /// Reads the record of an entry, for a request that can do without it. If the backup is unavailable,
    /// this returns `None`.
    pub(super) async fn record(&self, seen: &Seen, id: EntryId) -> Option<Record> {
        match self.backup.entry(&seen.shelf(), id).await {
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
pub(super) struct Wait {
    offered: Duration,
    preferred: bool,
}

impl FromRequestParts<Arc<Edge>> for Wait {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, edge: &Arc<Edge>) -> Result<Self, Problem> {
        let queries = Queries::from_request_parts(parts, edge).await?;
        let (text, preferred) = match queries.one("wait")? {
            Some(text) => (Some(text), false),
            None => (preference(&parts.headers), true),
        };
        let seconds = text.map_or(Ok(0), |text| {
            // Only digits are accepted. The parser would accept a plus sign too, which a query decodes to a
            // space anyway.
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            text.parse()
                .ok()
                .filter(|seconds| digits && *seconds <= WAIT_MAX)
                .ok_or_else(|| {
                    Problem::field(
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

impl Wait {
    fn as_preference(&self) -> HeaderValue {
        HeaderValue::from_str(&format!("wait={}", self.offered.as_secs()))
            .expect("a word with digits is a valid header value")
    }
}

/// Returns the first `wait` among the preferences. Its value may be quoted.
fn preference(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all("prefer")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next()?.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))
        .map(|(_, value)| value.trim().trim_matches('"'))
}
