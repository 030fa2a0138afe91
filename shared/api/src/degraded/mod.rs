//! Answers from the backup while the line is unavailable, and marks these answers as degraded.
//!
//! The backup has every acknowledged change, but not the order of the line. So a request can read
//! an entry, but it can change none: entering, claiming, extending, leaving and completing fail.

mod from_record;

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};
use vestibule_backup::BackupError;
use vestibule_domain::{
    id::{EntryId, IdKey, QueueId},
    record::EntryRecord,
    score::Visit,
    settings::{OnOutage, Settings},
    state::EntryState,
};

use vestibule_wire::Pass;

use super::{ApiState, problem::Problem};
use crate::who::pass::{PassClaims, PassError, PassGrant};
use crate::{
    entries::view::EntryBody,
    queue::{DegradedQueue, QueueLookupError, QueueSnapshot, READ_TIMEOUT},
    who::{
        credentials::Ownership,
        named_visitor::{ValidateRequest, earlier_epoch_problem},
    },
};

/// The longest time until an answer without the line, including the wait for the line.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(1_800);
/// How far the clock of this process may be behind the line's clock, which dates the passes.
const SKEW_SECONDS: u64 = 5;

/// Where the data of a queue comes from.
pub(crate) enum QueueSource {
    /// From its line.
    Line(Arc<QueueSnapshot>),
    /// From the backup, because the line is unavailable.
    Backup(DegradedContext),
}

/// What a request needs in order to answer without the line.
pub(crate) struct DegradedContext {
    pub(crate) queue: Arc<DegradedQueue>,
    /// Why the line gave no answer.
    cause: String,
    /// When the read of the entry from the backup times out.
    read_deadline: Instant,
}

impl DegradedContext {
    /// Builds the context for a line that became unavailable after it had returned a snapshot.
    pub(crate) fn from_snapshot(snapshot: &QueueSnapshot, cause: String) -> Self {
        Self {
            queue: Arc::new(DegradedQueue::from_snapshot(snapshot)),
            cause,
            read_deadline: Instant::now() + READ_TIMEOUT,
        }
    }

    fn problem(&self) -> Problem {
        Problem::line_unavailable(&self.cause)
    }
}

impl QueueSource {
    pub(crate) fn settings(&self) -> &Settings {
        match self {
            Self::Line(snapshot) => snapshot.settings(),
            Self::Backup(context) => &context.queue.settings,
        }
    }

    pub(crate) fn ids(&self) -> &IdKey {
        match self {
            Self::Line(snapshot) => &snapshot.ids,
            Self::Backup(context) => &context.queue.ids,
        }
    }
}

/// A pass that was accepted although the line could not be asked.
pub(crate) struct AcceptedPass {
    pub(crate) visit: Visit,
    /// Until when the pass is accepted without the line, in Unix milliseconds.
    pub(crate) accepted_until_ms: u64,
}

impl ApiState {
    /// Returns the queue from its line, or from the backup if the line is unavailable.
    pub(crate) async fn queue_source(&self, queue: &QueueId) -> Result<QueueSource, Problem> {
        let until = Instant::now() + ANSWER_TIMEOUT;
        let cause = match self.queue_cache.get(queue).await {
            Ok(snapshot) => return Ok(QueueSource::Line(snapshot)),
            Err(QueueLookupError::LineUnavailable(cause)) => cause,
            Err(error) => return Err(Problem::from(&error)),
        };
        match self.queue_cache.degraded_queue(queue).await {
            Ok(queue) => Ok(QueueSource::Backup(DegradedContext {
                queue,
                cause,
                read_deadline: until,
            })),
            Err(QueueLookupError::BackupUnavailable(other)) => {
                Err(Problem::line_unavailable(format!("{cause}; {other}")))
            }
            Err(error) => Err(Problem::from(&error)),
        }
    }

    /// Builds the JSON of an entry as the backup has it.
    pub(crate) async fn stored_entry_body(
        &self,
        context: &DegradedContext,
        id: EntryId,
        ownership: Ownership,
    ) -> Result<EntryBody, Problem> {
        let stored = self.read_stored_entry(context, id).await;
        let record =
            stored.map_err(|error| Problem::line_unavailable(format!("{}; {error}", context.cause)))?;
        // A visitor who entered lately may be in the line only, and a client that is told of an end does
        // not ask again. So a missing or ended record is answered like any other outage.
        let Some(record) = record.filter(|record| record.state.is_live()) else {
            return Err(context.problem());
        };
        tracing::warn!(
            event = "entry.served_degraded",
            cause = %context.cause,
            "answered a status request from the backup because the line is unavailable"
        );
        // This is the clock of the process, because line time cannot be read.
        let now_ms = vestibule_telemetry::clock::now_ms();
        let pass = match ownership {
            Ownership::Proven => self.sign_stored_pass(&context.queue, &record, now_ms)?,
            Ownership::Mismatch | Ownership::Unproven => None,
        };
        let body = EntryBody::from_record(&context.queue, &record, pass, now_ms);
        Ok(match ownership {
            Ownership::Proven => body,
            Ownership::Mismatch | Ownership::Unproven => body.unproven(),
        })
    }

    /// Signs a pass for an entry whose record is active. The record has every acknowledged change,
    /// so the visitor is entitled to the pass until the session end that it shows.
    fn sign_stored_pass(
        &self,
        queue: &DegradedQueue,
        record: &EntryRecord,
        now_ms: u64,
    ) -> Result<Option<Pass>, Problem> {
        let Some(session_end_ms) = record.expires_at_ms.filter(|end| *end > now_ms) else {
            return Ok(None);
        };
        if record.state != EntryState::Active {
            return Ok(None);
        }
        let grant = PassGrant {
            queue: &queue.queue,
            entry: record.id,
            visit: record.visit(),
            epoch: queue.epoch,
            pass_end_ms: now_ms + queue.settings.pass_ms(session_end_ms - now_ms),
        };
        Ok(Some(self.keys.passes.sign(&grant, now_ms)?))
    }

    /// Accepts or refuses the presented pass without the line, as the queue's settings say.
    pub(crate) async fn accept_pass(
        &self,
        context: &DegradedContext,
        id: EntryId,
        request: &ValidateRequest,
    ) -> Result<AcceptedPass, Problem> {
        let queue = &*context.queue;
        let open = queue.settings.on_outage == OnOutage::Open;
        let Some(pass) = request.named.pass.as_ref().filter(|_| open && !request.consume) else {
            return Err(context.problem());
        };
        request.named.require_owner(&queue.ids, id)?;
        self.keys.passes.refresh_for(pass).await;
        let claims = self.keys.passes.verify_ignoring_time(pass, &queue.queue, id)?;
        let until = claims
            .exp
            .saturating_add(u64::from(queue.settings.outage_grace_seconds));
        let now = vestibule_telemetry::clock::now_ms() / 1_000;
        if now + SKEW_SECONDS < claims.nbf {
            return Err(PassError::TooEarly.into());
        }
        if now >= until {
            return Err(PassError::Expired.into());
        }
        let visit = request.named.require_visit(&claims)?;
        self.refuse_ended_visit(context, id, visit, &claims).await?;
        tracing::warn!(
            event = "entry.pass_honoured",
            cause = %context.cause,
            "accepted a pass without the line, as on_outage allows, because the line is unavailable"
        );
        Ok(AcceptedPass {
            visit,
            accepted_until_ms: until.saturating_mul(1_000),
        })
    }

    /// Refuses a pass whose visit has ended according to the backup, and a pass from before the
    /// last reset.
    async fn refuse_ended_visit(
        &self,
        context: &DegradedContext,
        id: EntryId,
        visit: Visit,
        claims: &PassClaims,
    ) -> Result<(), Problem> {
        if claims.epoch < context.queue.min_epoch {
            return Err(earlier_epoch_problem());
        }
        match self.read_stored_entry(context, id).await {
            Ok(Some(record)) if record.visit() != visit => Err(Problem::other_visit()),
            Ok(Some(record)) if !record.state.is_live() => Err(Problem::ended(&record, None)),
            // The pass may be from an epoch before a restore, because a restore keeps active entries
            // active.
            Ok(Some(_)) => Ok(()),
            Ok(None) | Err(_) if claims.epoch >= context.queue.epoch => Ok(()),
            Ok(None) => Err(earlier_epoch_problem()),
            Err(_) => Err(context.problem()),
        }
    }

    async fn read_stored_entry(
        &self,
        context: &DegradedContext,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError> {
        let partition = context.queue.partition();
        timeout_at(context.read_deadline, self.backup.read_entry(&partition, id))
            .await
            .unwrap_or_else(|_| {
                Err(BackupError::Unavailable(
                    "the backup did not answer in time".to_owned(),
                ))
            })
    }
}
